#!/usr/bin/env bash
# Chess self-play by generations: play, train, measure, keep the better network. Run it again after an interruption: every
# step resumes or is repeated, none is lost.
#
#   selfplay.sh FOLDER GENERATIONS SUPERVISED=SHARE...
#
# FOLDER/best.safetensors plays; without it the bundled network is copied there. The SUPERVISED files (as `mavka-lab train
# --data` takes them, shares of 0.5 in all) keep what self-play does not teach: legality, next boards, Chess960.
# Settings by environment: LAB (the program), GAMES a generation, EXAMPLES of a training, RATE, MATCH games, NODES of a move
# in the match, OPENINGS of the match (EPD).
set -euo pipefail
folder=${1:?the folder of the run}
generations=${2:?the number of generations}
shift 2
[ $# -gt 0 ] || { echo "selfplay.sh: name at least one file of supervised data, as FILE=SHARE" >&2; exit 2; }
lab=${LAB:-mavka-lab}
root=$(cd "$(dirname "$0")/../.." && pwd)
supervised=()
for data in "$@"; do supervised+=(--data "$data"); done
openings=()
[ -z "${OPENINGS:-}" ] || openings=(--openings "$OPENINGS")

mkdir -p "$folder"
best=$folder/best.safetensors
[ -e "$best" ] || cp "$root/assets/mavka.safetensors" "$best"
for ((generation = 1; generation <= generations; generation++)); do
  run=$folder/$generation
  [ -e "$run.verdict" ] && continue
  echo "generation $generation" >&2
  "$lab" selfplay "$run.games.zst" --weights "$best" --games "${GAMES:-1000}" --seed "$generation"
  new=$run/network.safetensors
  if [ ! -e "$run/config.json" ]; then
    start=(--config "$root/assets/recipes/distil.json" --init "$best" --rate "${RATE:-5e-5}" --seed "$generation"
      --data "$run.games.zst=0.5" "${supervised[@]}")
  else
    start=()
  fi
  "$lab" train --folder "$run" "${start[@]}" --examples "${EXAMPLES:-400000}"
  "$lab" match --first-option "WeightsFile=$new" --second-option "WeightsFile=$best" "${openings[@]}" --nodes "${NODES:-100}" \
    --games "${MATCH:-800}" --seed "$generation" --sprt 0 10 --csv "$folder/matches.csv" | tee "$run.match"
  # Renamed into place, so that a kill leaves the old network or the new one.
  if grep -q '^ *SPRT 0 10  *better' "$run.match"; then
    cp "$new" "$best.new"
    mv "$best.new" "$best"
    echo kept > "$run.verdict"
  else
    echo refused > "$run.verdict"
  fi
done
column -s, -t "$folder/matches.csv" 2>/dev/null || cat "$folder/matches.csv"
