#!/usr/bin/env bash
# python-chess 1.11.2 and chess.js 1.4.0 disagree on whether a game is a draw by threefold repetition.
#
# White plays e2-e4 beside a black pawn on d4 that is pinned to its king: nothing can take en passant. King and rook
# then go back and forth twice, so that the position after e2-e4 is on the board for the third time.
#
# Expected: both libraries, which follow the rules of FIDE, call it a draw; positions are the same where the legal moves
#   are the same, and both write the same FEN for all three.
# Seen: python-chess does. chess.js does not: its hash of the position differs from that of the same FEN, although it
#   writes no en passant square and lists no en passant capture.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check chess==1.11.2
npm init -y > /dev/null
npm install --silent --no-audit --no-fund chess.js@1.4.0

start='3k4/8/8/8/3p4/8/4P3/3RK3 w - - 0 1'
moves='e2e4 d8d7 d1d2 d7d8 d2d1 d8d7 d1d2 d7d8 d2d1'

cat > game.py << 'PY'
import sys
import chess
board = chess.Board(sys.argv[1])
for move in sys.argv[2].split():
    board.push_uci(move)
print(board.is_repetition(3))
PY
cat > game.mjs << 'JS'
import { Chess } from 'chess.js';
const [start, moves] = process.argv.slice(2);
const game = new Chess(start);
const positions = [];
for (const move of moves.split(' ')) {
  game.move({ from: move.slice(0, 2), to: move.slice(2, 4) });
  positions.push(game.fen().split(' ').slice(0, 4).join(' '));
}
const after = positions[0];
const pushed = new Chess(start);
pushed.move('e4');
const loaded = new Chess(pushed.fen());
console.log(
  positions.filter((position) => position === after).length,
  game.isThreefoldRepetition(),
  pushed.moves().join() === loaded.moves().join(),
  pushed.hash() === loaded.hash(),
);
JS
python=$(python/bin/python game.py "$start" "$moves")
javascript=$(node game.mjs "$start" "$moves")
echo "python-chess 1.11.2: threefold repetition $python"
echo "chess.js 1.4.0: times the same FEN, threefold, same moves as its own FEN, same hash: $javascript"
[ "$python" = True ] && [ "$javascript" = "3 false true false" ]
