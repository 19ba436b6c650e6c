#!/usr/bin/env bash
# Chess self-play by generations: play, train, measure. Run it again after an interruption: every step resumes or is
# repeated, none is lost.
#
#   selfplay.sh FOLDER GENERATIONS SUPERVISED=SHARE...          from the bundled network on, the better network plays
#   INIT=random selfplay.sh FOLDER GENERATIONS                  AlphaZero's loop: from random values, by the rules alone
#
# FOLDER/best.safetensors plays; without it INIT is copied there. The SUPERVISED files (as `mavka-lab train --data` takes
# them, shares of 0.5 in all) keep what self-play does not teach: legality, next boards, Chess960.
# Settings by environment: LAB (the program), GAMES a generation, EXAMPLES of a training, RATE, MATCH games, NODES of a move
# in the match, OPENINGS of the match (EPD), CORES to use;
#   INIT    the first network: a file, or `random` for one of CONFIG's size that has seen nothing
#   GATE    `off`: the newest network plays, whatever matches say; so it is with INIT=random
#   CONFIG  of the training; WINDOW newest generations are trained on
#   RAMP    generation N has N/RAMP of the games and examples until it has all
#   DRAWN   plies of a game whose moves are drawn in proportion to their visits
#   PLAY    further options of `mavka-lab selfplay`; SEARCH the options of the search (NAME=VALUE,...)
#   SETTLED with two values of RATE, WINDOW or DRAWN, divided by a space: the generation from which the second one holds
# With GATE=off each generation plays the one before, a random mover and classical alpha-beta of one ply;
# FOLDER/curve.jsonl has the results.
set -euo pipefail
shopt -s nullglob
folder=${1:?the folder of the run}
generations=${2:?the number of generations}
shift 2
lab=${LAB:-mavka-lab}
root=$(cd "$(dirname "$0")/../.." && pwd)
recipes=$root/assets/recipes
if [ "${INIT:-}" = random ]; then
  : "${GATE:=off}" "${CONFIG:=$recipes/zero.json}" "${GAMES:=600}" "${EXAMPLES:=180000}" "${RAMP:=3}" "${MATCH:=40}"
  : "${SETTLED:=8}" "${WINDOW:=4 2}" "${RATE:=1.5e-3 5e-4}" "${DRAWN:=512 40}"
  : "${OPENINGS:=$root/assets/papers/tcec_openings.epd}"
  : "${PLAY:=--rules-only --full 100 --quick 40 --full-share 0.33 --max-plies 300 --random-plies 20}"
  : "${SEARCH:=PolicyShare=1,PolicyTemperature=1,RootPolicyTemperature=1,StateValueShare=1,CPuct=1.25}"
elif [ $# -eq 0 ]; then
  echo "selfplay.sh: name at least one file of supervised data, as FILE=SHARE" >&2
  exit 2
fi
gate=${GATE:-on}
read -ra play <<< "${PLAY:-}"
[ -z "${SEARCH:-}" ] || play+=(--setting "$SEARCH")
[ -z "${CORES:-}" ] || play+=(--concurrency "$CORES")
search=()
for option in ${SEARCH//,/ }; do search+=(--first-option "$option"); done
supervised=()
for data in "$@"; do supervised+=(--data "$data"); done
openings=()
[ -z "${OPENINGS:-}" ] || openings=(--openings "$OPENINGS")

mkdir -p "$folder"
best=$folder/best.safetensors

# of_generation VALUES: the first of two values before the generation SETTLED, the second from it on.
of_generation() {
  local values
  read -ra values <<< "$1"
  if [ "$generation" -lt "${SETTLED:-1}" ]; then echo "${values[0]}"; else echo "${values[-1]}"; fi
}

# Renamed into place, so that a kill leaves the old network or the new one.
adopt() {
  cp "$1" "$best.new"
  mv "$best.new" "$best"
}

# rate GENERATION NETWORK NAME OPTIONS...: a match whose result is one line of a file, and is not played again.
rate() {
  local row=$folder/$1.$3.csv generation=$1 network=$2 name=$3
  shift 3
  [ ! -e "$row" ] || return 0
  rm -f "$row.new"
  "$lab" match --first-option "WeightsFile=$network" "${search[@]}" --first-nodes "${NODES:-100}" --first-name "$generation" \
    --second-name "$name" "$@" --option Threads=1 --option BlunderCheck=false --option SyzygyProbeLimit=0 "${openings[@]}" \
    --games "${MATCH:-800}" --concurrency "${CORES:-1}" --max-plies 300 --seed "$generation" --event "$name" --csv "$row.new" >&2
  mv "$row.new" "$row"
}

# Rates a generation by opponents that never change, and by the one before.
rate_generation() {
  local before=$folder/$(($1 - 1)).safetensors same=()
  rate "$1" "$2" random --second-option Search=random --second-depth 1
  rate "$1" "$2" alpha-beta-1 --second-option Search=classical-alpha-beta --second-depth 1
  if [ "$1" -gt 0 ]; then
    for option in "${search[@]}"; do same+=("${option/first/second}"); done
    rate "$1" "$2" before --second-option "WeightsFile=$before" "${same[@]}" --second-nodes "${NODES:-100}"
  fi
  # The columns of a match's CSV: event, date, both names, both limits, games, wins, draws, losses, score.
  local line='{"generation": %d, "opponent": "%s", "games": %d, "wins": %d, "draws": %d, "losses": %d, "score": %s}\n'
  awk -F, -v line="$line" 'FNR == 2 { gsub(/"/, ""); printf line, $3, $1, $7, $8, $9, $10, $11 }' "$folder"/*.{random,alpha-beta-1,before}.csv |
    sort -t' ' -sk2n > "$folder/curve.new"
  mv "$folder/curve.new" "$folder/curve.jsonl"
}

if [ ! -e "$best" ]; then
  if [ "${INIT:-}" = random ]; then
    "$lab" train --folder "$folder/0" --config "$CONFIG" --examples 0
    adopt "$folder/0/network.safetensors"
  else
    adopt "${INIT:-$root/assets/mavka.safetensors}"
  fi
fi
if [ "$gate" = off ]; then
  [ -e "$folder/0.safetensors" ] || cp "$best" "$folder/0.safetensors"
  rate_generation 0 "$folder/0.safetensors"
fi
for ((generation = 1; generation <= generations; generation++)); do
  run=$folder/$generation
  [ -e "$run.verdict" ] && continue
  echo "generation $generation" >&2
  ramp=${RAMP:-1}
  part=$((generation < ramp ? generation : ramp))
  drawn=()
  [ -z "${DRAWN:-}" ] || drawn=(--drawn-plies "$(of_generation "$DRAWN")")
  "$lab" selfplay "$run.games.zst" --weights "$best" --games $((${GAMES:-1000} * part / ramp)) --seed "$generation" "${play[@]}" "${drawn[@]}"
  new=$run/network.safetensors
  if [ ! -e "$run/config.json" ]; then
    window=$(of_generation "${WINDOW:-1}")
    oldest=$((generation > window ? generation - window + 1 : 1))
    share=$(awk "BEGIN { print 0.5 / ($generation - $oldest + 1) }")
    start=(--config "${CONFIG:-$recipes/distil.json}" --init "$best" --rate "$(of_generation "${RATE:-5e-5}")" --seed "$generation" "${supervised[@]}")
    for ((old = oldest; old <= generation; old++)); do start+=(--data "$folder/$old.games.zst=$share"); done
  else
    start=()
  fi
  [ -z "${CORES:-}" ] || start+=(--threads "$CORES")
  "$lab" train --folder "$run" "${start[@]}" --examples $((${EXAMPLES:-400000} * part / ramp))
  if [ "$gate" = off ]; then
    cp "$new" "$run.safetensors"
    rate_generation "$generation" "$run.safetensors"
    adopt "$new"
    echo newest > "$run.verdict"
    continue
  fi
  "$lab" match --first-option "WeightsFile=$new" --second-option "WeightsFile=$best" "${openings[@]}" --nodes "${NODES:-100}" \
    --games "${MATCH:-800}" --seed "$generation" --sprt 0 10 --csv "$folder/matches.csv" | tee "$run.match"
  if grep -q '^ *SPRT 0 10  *better' "$run.match"; then
    adopt "$new"
    echo kept > "$run.verdict"
  else
    echo refused > "$run.verdict"
  fi
done
if [ "$gate" = off ]; then
  cat "$folder/curve.jsonl"
else
  column -s, -t "$folder/matches.csv" 2>/dev/null || cat "$folder/matches.csv"
fi
