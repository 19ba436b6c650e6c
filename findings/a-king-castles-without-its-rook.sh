#!/usr/bin/env bash
# chess.js 1.4.0 castles from a Chess960 position by moving the king two squares and leaving the rook where it stands.
#
# Start: king f1, rooks a1 and h1, White may castle to both sides. This is a valid position of Chess960, in
# X-FEN. Castling to the queen's side puts the king on c1 and the rook on d1.
#
# Expected: a library for standard chess refuses the FEN, or drops rights that its rules cannot use, as python-chess
#   1.11.2 does without `chess960=True`. With it python-chess castles: king c1, rook d1.
# Seen: chess.js keeps the rights and lists O-O-O. The king goes from f1 to d1, the rook stays on a1. From king d1 and
#   rooks a1 and h1 it lists O-O, and the king goes to f1 while the rook stays on h1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check chess==1.11.2
npm init -y > /dev/null
npm install --silent --no-audit --no-fund chess.js@1.4.0

cat > castles.py <<'PY'
import sys
import chess
for chess960 in (False, True):
    board = chess.Board(sys.argv[1], chess960=chess960)
    castlings = [move for move in board.legal_moves if board.is_castling(move)]
    print(sorted(board.san(move) for move in castlings))
board.push_san("O-O-O")
print(board.board_fen())
PY
cat > castles.mjs <<'JS'
import { Chess } from 'chess.js';
for (const start of process.argv.slice(2)) {
  const castlings = new Chess(start).moves({ verbose: true }).filter((move) => move.san.startsWith('O'));
  console.log(castlings.map((move) => `${move.san} ${move.after.split(' ')[0]}`).join());
}
JS
python=$(python/bin/python castles.py '4k3/8/8/8/8/8/8/R4K1R w KQ - 0 1')
javascript=$(node castles.mjs '4k3/8/8/8/8/8/8/R4K1R w KQ - 0 1' '4k3/8/8/8/8/8/8/R2K3R w KQ - 0 1')
echo "python-chess 1.11.2, standard, Chess960, the board after O-O-O there:"
echo "$python"
echo "chess.js 1.4.0, king f1, then king d1:"
echo "$javascript"
[ "$python" = "[]
['O-O', 'O-O-O']
4k3/8/8/8/8/8/8/2KR3R" ]
[ "$javascript" = "O-O-O 4k3/8/8/8/8/8/8/R2K3R
O-O 4k3/8/8/8/8/8/8/R4K1R" ]
