#!/usr/bin/env bash
# shakmaty-syzygy 0.28.1 calls a distance `Precise` that is one ply short.
#
# `probe_dtz` returns `MaybeRounded::Rounded`, which may be one ply short, or `MaybeRounded::Precise`, by its documentation not
# affected by rounding. Black: king b6; White: king d8, bishop a6, pawn b7. Black to move loses.
#
# Expected: `Precise(-2)` means that White captures, moves a pawn or mates with its first move.
# Seen: after 1... Ka7 it cannot: 2. b8=Q+ Kxb8 is a draw. White has to move its king, and Black's capture on a6, the third
#   ply, is the next capture or pawn move. A search of all moves that asks only the WDL tables gives 3. The longest of
#   Black's replies is chosen by the rounded distances behind them, so the precise and shorter reply wins the comparison.
#
# The tables are those in the source package of python-chess 1.11.2. Needs cargo.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check chess==1.11.2
python/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: chess==1.11.2
tar xzf chess-1.11.2.tar.gz
mkdir src
cat > Cargo.toml << 'TOML'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
shakmaty = "=0.30.1"
shakmaty-syzygy = "=0.28.1"

[workspace]
TOML
cat > src/main.rs << 'RUST'
use shakmaty::{fen::Fen, CastlingMode, Chess};
use shakmaty_syzygy::Tablebase;

fn main() {
    let mut tables = Tablebase::<Chess>::new();
    tables.add_directory("chess-1.11.2/data/syzygy/regular").unwrap();
    let fen: Fen = std::env::args().nth(1).unwrap().parse().unwrap();
    let position: Chess = fen.into_position(CastlingMode::Standard).unwrap();
    println!("{:?}", tables.probe_dtz(&position).unwrap());
}
RUST
cat > search.py << 'PY'
import sys
import chess
import chess.syzygy

tables = chess.syzygy.open_tablebase("chess-1.11.2/data/syzygy/regular")

def within(board, plies):
    """Whether the side that wins can force a capture, a pawn move or mate within that many plies."""
    if board.is_checkmate():
        return True
    if plies == 0:
        return False
    wins = tables.probe_wdl(board) > 0
    for move in board.legal_moves:
        zeroes = board.is_zeroing(move)
        board.push(move)
        kept = not wins or tables.probe_wdl(board) < 0
        reached = kept and (zeroes or within(board, plies - 1))
        board.pop()
        if reached == wins:
            return wins
    return not wins

board = chess.Board(sys.argv[1])
print(next(plies for plies in range(10) if within(board, plies)))
PY
fen='3K4/1P6/Bk6/8/8/8/8/8 b - - 0 1'
read=$(cargo run --quiet -- "$fen")
searched=$(python/bin/python search.py "$fen")
echo "shakmaty-syzygy 0.28.1: $read"
echo "search of all moves: $searched plies"
[ "$read" = "Precise(Dtz(-2))" ] && [ "$searched" = 3 ]
