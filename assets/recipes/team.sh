#!/usr/bin/env bash
# A team of chess players in one network (paper 003), by rounds: games of the players' policies tell how they differ and what each is paid
# for; training tilts their policies towards it. Run it again after an interruption: a round that was cut short continues.
#
#   team.sh FOLDER ROUNDS DATA=SHARE...
#
# The network to begin with is also the teacher, and the first player: only what the others add to it is learned.
# Settings by environment: LAB (the program), NETWORK to begin with, PLAYERS, GAMES and EXAMPLES of a round, DISTANCE between players (ℓ₀),
# STRENGTH of the rewards, SLACK of a move, RATE.
set -euo pipefail
folder=${1:?the folder of the run}
rounds=${2:?the number of rounds}
shift 2
[ $# -gt 0 ] || { echo "team.sh: name at least one file of supervised data, as FILE=SHARE" >&2; exit 2; }
lab=${LAB:-mavka-lab}
root=$(cd "$(dirname "$0")/../.." && pwd)
network=${NETWORK:-$root/assets/mavka.safetensors}
players=${PLAYERS:-5}
examples=${EXAMPLES:-100000}
data=()
for file in "$@"; do data+=(--data "$file"); done

mkdir -p "$folder"
run=$folder/training
for ((round = 1; round <= rounds; round++)); do
  [ -e "$folder/$round.trained" ] && continue
  echo "round $round" >&2
  if [ ! -e "$folder/$round.json" ]; then
    if [ -e "$run/network.safetensors" ]; then team=$run/network.safetensors; else team=$network; fi
    "$lab" players "$team" --players "$players" --games "${GAMES:-4000}" --distance "${DISTANCE:-0.4}" --seed "$round" \
      --out "$folder/$round.new" --plot "$folder/$round.svg" | tee "$folder/$round.txt"
    mv "$folder/$round.new" "$folder/$round.json"
  fi
  start=()
  if [ ! -e "$run/config.json" ]; then
    start=(--config "$root/assets/recipes/team.json" --init "$network" --teacher "$network" --players "$players"
      --rate "${RATE:-1e-2}" "${data[@]}")
  fi
  "$lab" train --folder "$run" "${start[@]}" --rewards "$folder/$round.json" --strength "${STRENGTH:-1}" \
    --slack "${SLACK:-0.02}" --examples $((round * examples))
  touch "$folder/$round.trained"
done
