#!/usr/bin/env bash
# end.sh OUT: waits for the training, then copies its network, its figures and its log to OUT. Stopped before, the average
# of the last minute is there in place of the network.
set -eu
work=${MAVKA_WORK:-$HOME/mavka-training}
cd "$work"
collect() {
    for file in trained.safetensors trained.safetensors.part.safetensors trained.safetensors.csv train.log; do
        [ -e "$file" ] && cp "$file" "$1/"
    done
    grep held-out train.log || true
}
trap 'collect "$1"' EXIT
while pgrep -f "train.py --config config.json" > /dev/null; do
    sleep 1
done
