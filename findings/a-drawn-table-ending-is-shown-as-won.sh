#!/usr/bin/env bash
# Stockfish 15.1 with Syzygy tables shows a draw by the fifty-move rule as won, as the distance of bishop and knight against
# the king is one ply short in every position with the stronger side to move.
#
# Only mate by the stronger side ends this ending while it is won (taking a man draws), so with that side to move the true
# distance is odd. DTZ tables count moves where the rule is not near, so that a distance may be one ply short.
#
# Expected: the ply is missing here and there. Most distances are odd, as they all are with a queen or a rook alone. In the
#   position below, mate takes 59 plies: won with 41 on the counter, drawn with 42.
# Seen: python-chess 1.11.2 reads an even number in every such position but mates in one (queen and rook: odd in all), here 58.
#   Stockfish 15.1, which adds the number to the counter, shows a table win with 42 and a draw from 43 on.
#
# The tables are those in the source package of python-chess. Needs Debian 12 or its packages, and `apt-get update` before.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check chess==1.11.2
python/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: chess==1.11.2
tar xzf chess-1.11.2.tar.gz
apt-get -o APT::Sandbox::User=root download -qq stockfish=15.1-4
dpkg -x stockfish_*.deb package

cat > finding.py << 'PY'
import random

import chess
import chess.engine
import chess.syzygy

folder = "chess-1.11.2/data/syzygy/regular"
tables = chess.syzygy.open_tablebase(folder)
dice = random.Random(1)

def distances(men, count):
    """Distances above one of random won positions, White to move."""
    while count:
        board = chess.Board(None)
        for man, square in zip(men, dice.sample(chess.SQUARES, len(men))):
            board.set_piece_at(square, chess.Piece.from_symbol(man))
        if board.is_valid() and (distance := tables.probe_dtz(board)) > 1:
            count -= 1
            yield distance

for men in ["KQk", "KRk", "KBNk"]:
    print(men, "odd distances:", sum(distance % 2 for distance in distances(men, 500)), "of 500")

board = chess.Board("4N3/1k6/8/2B5/8/8/8/3K4 w - - 0 1")
print("read:", tables.probe_dtz(board))
with chess.engine.SimpleEngine.popen_uci("package/usr/games/stockfish") as engine:
    engine.configure({"SyzygyPath": folder})
    for clock in [41, 42, 43]:
        board.halfmove_clock = clock
        score = engine.analyse(board, chess.engine.Limit(depth=12), game=clock)["score"].white()
        print("counter", clock, "won" if score.score(mate_score=10000) > 5000 else "not won")
PY
python/bin/python finding.py | tee seen.txt
diff seen.txt - << 'SEEN'
KQk odd distances: 500 of 500
KRk odd distances: 500 of 500
KBNk odd distances: 0 of 500
read: 58
counter 41 won
counter 42 won
counter 43 not won
SEEN
