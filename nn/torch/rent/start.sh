#!/usr/bin/env bash
# start.sh SECONDS: begins the packed training, in the background; it ends SECONDS from now, whatever it compiles.
set -eu
from=$(cd "$(dirname "$0")" && pwd)
work=${MAVKA_WORK:-$HOME/mavka-training}
mkdir -p "$work"
cp "$from"/* "$work"
cd "$work"
# Not every machine has xz.
python3 - <<'PY'
import glob, lzma, shutil
for path in glob.glob("*.xz"):
    with lzma.open(path) as packed, open(path[:-3], "wb") as file:
        shutil.copyfileobj(packed, file)
PY
chmod +x records
until=$(($(date +%s) + $1))
# shellcheck disable=SC2046
setsid nohup python3 train.py $(cat arguments) --out trained.safetensors --records ./records --seconds "$1" --until "$until" \
    > train.log 2>&1 < /dev/null &
echo "training in $work until $(date -d "@$until" +%T)"
