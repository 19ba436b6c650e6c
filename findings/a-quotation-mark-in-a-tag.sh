#!/usr/bin/env bash
# No two of python-chess 1.11.2, chess.js 1.4.0 and chessops 0.15.1 agree on a quotation mark in a PGN tag.
#
# PGN escapes a quotation mark in a tag's value by a backslash (PGN standard, section 7). A game with the event
# `The "Big" One` is written by each library, and each text is read by all three.
#
# Expected: each writes `[Event "The \"Big\" One"]`, and each reads `The "Big" One` from it.
# Seen: chessops alone writes and reads the escape. python-chess and chess.js write the quotation marks bare. python-chess
#   reads its own text, and the backslashes of the escaped one as part of the name. chess.js refuses both texts, its own
#   among them. chessops loses the bare tag without a word.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check chess==1.11.2
npm init -y > /dev/null
npm install --silent --no-audit --no-fund chess.js@1.4.0 chessops@0.15.1

cat > python.py <<'PY'
import io
import sys
import chess.pgn
if len(sys.argv) > 1:
    text = open(sys.argv[1], encoding="utf-8").read()
    print(chess.pgn.read_game(io.StringIO(text)).headers["Event"])
else:
    print(chess.pgn.Game({"Event": 'The "Big" One'}))
PY
cat > javascript.mjs <<'JS'
import { readFileSync, writeFileSync } from 'node:fs';
import { Chess } from 'chess.js';
import { makePgn, parsePgn } from 'chessops/pgn';
const reads = (text) => {
  try {
    const game = new Chess();
    game.loadPgn(text);
    return game.getHeaders().Event;
  } catch {
    return 'refused';
  }
};
if (process.argv.length > 2) {
  const text = readFileSync(process.argv[2], 'utf8');
  console.log(reads(text));
  console.log(parsePgn(text)[0].headers.get('Event'));
} else {
  const game = new Chess();
  game.setHeader('Event', 'The "Big" One');
  writeFileSync('chess.js.pgn', game.pgn());
  const other = parsePgn('1. e4 *')[0];
  other.headers.set('Event', 'The "Big" One');
  writeFileSync('chessops.pgn', makePgn(other));
}
JS
python/bin/python python.py > python-chess.pgn
node javascript.mjs
seen=$(
  for writer in python-chess chess.js chessops; do
    echo "$writer writes $(head -n 1 $writer.pgn)"
    echo "python-chess, chess.js, chessops read: $(python/bin/python python.py $writer.pgn), $(node javascript.mjs $writer.pgn | paste -sd,)"
  done
)
echo "$seen"
[ "$seen" = 'python-chess writes [Event "The "Big" One"]
python-chess, chess.js, chessops read: The "Big" One, refused,?
chess.js writes [Event "The "Big" One"]
python-chess, chess.js, chessops read: The "Big" One, refused,?
chessops writes [Event "The \"Big\" One"]
python-chess, chess.js, chessops read: The \"Big\" One, refused,The "Big" One' ]
