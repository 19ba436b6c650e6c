#!/usr/bin/env bash
# Toga II 3.0, GNU Chess 6.2.7 and Ethereal 12.00 answer a mated position with the move a1a1.
#
# UCI says nothing of positions without a legal move. Stockfish and Fairy-Stockfish answer `bestmove (none)`.
#
# Expected: `(none)`, `0000` or no answer.
# Seen: `bestmove a1a1`, the all-zero move of two unrelated families of engines written like any other. It has the form of a move, so
#   that a client that tests the form alone plays it, in the position below with nothing on a1.
#
# Needs Debian 12 or its packages, and `apt-get update` before.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download -qq toga2=3.0.0.1SE1-2+b1 gnuchess=6.2.7-1+deb12u1 ethereal-chess=12.00+ds1-1 stockfish=15.1-4
for package in *.deb; do
  dpkg -x "$package" package
done
answer() {
  { printf 'uci\nisready\nposition fen R6k/8/6K1/8/8/8/8/8 b - - 0 1\ngo depth 3\n'; sleep 2; printf 'quit\n'; } |
    "package/usr/games/$@" 2> /dev/null | sed -n 's/^bestmove \([^ ]*\).*/\1/p'
}
{
  echo "Toga II 3.0: $(answer toga2)"
  echo "GNU Chess 6.2.7: $(answer gnuchess --uci)"
  echo "Ethereal 12.00: $(answer ethereal-chess)"
  echo "Stockfish 15.1: $(answer stockfish)"
} | tee seen.txt
diff seen.txt - << 'SEEN'
Toga II 3.0: a1a1
GNU Chess 6.2.7: a1a1
Ethereal 12.00: a1a1
Stockfish 15.1: (none)
SEEN
