#!/usr/bin/env bash
# cutechess.sh PICTURE: Mavka plays itself in Cute Chess, looked at after three minutes. Needs cutechess 1.5 (CUTECHESS), Xvfb,
# xdotool and ImageMagick.
set -euo pipefail
picture=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
home=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$home"' EXIT
mkdir -p "$home/.config/cutechess"
printf '[{"name":"Mavka","command":"%s","workingDirectory":"%s","protocol":"uci","options":[{"name":"Threads","value":1}]}]' \
  "$root/target/release/mavka" "$home" > "$home/.config/cutechess/engines.json"
export HOME=$home XDG_CONFIG_HOME=$home/.config DISPLAY=:97
Xvfb "$DISPLAY" -screen 0 1000x640x24 >/dev/null 2>&1 &
sleep 2
"${CUTECHESS:-cutechess}" >/dev/null 2>&1 &
sleep 5
window=$(xdotool search --onlyvisible --name . | tail -1)
xdotool windowsize "$window" 1000 640 windowmove "$window" 0 0 windowfocus "$window"
sleep 1
# The dialogue of a new game: both players are programs.
xdotool key ctrl+n
sleep 2
xdotool mousemove 318 76 click 1 mousemove 512 76 click 1 key Return
sleep 180
import -window root -colors 64 "$picture"
