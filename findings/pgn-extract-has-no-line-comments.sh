#!/usr/bin/env bash
# pgn-extract 19-04 does not know the comments of PGN that begin with `;` and end with the line.
#
# The PGN standard has two kinds of comments, `{…}` and `;…`, both in its import format.
#
# Expected: three games with a `;` comment each (before the moves, among them, between two games) are read as three games,
#   with or without the comments' text.
# Seen: the words of the comments are read as moves and results. The three games become more than three, moves are lost, and
#   the exit status is 0. python-chess 1.11.2 reads the same file as three games.
#
# Needs a Debian 12 or its packages, and `apt-get update` before.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download -qq pgn-extract=19.04-1
dpkg -x pgn-extract_*.deb package
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check chess==1.11.2

tags() {
  printf '[Event "%s"]\n[Site "?"]\n[Date "2024.01.01"]\n[Round "1"]\n[White "X"]\n[Black "Y"]\n[Result "%s"]\n\n' "$1" "$2"
}
{
  tags A 1-0
  printf '; a comment before the moves\n1. e4 e5 2. Nf3 Nc6 1-0\n\n'
  tags B 0-1
  printf '1. d4 ; a comment among the moves\nd5 0-1\n\n'
  printf '; a comment between two games\n'
  tags C 1/2-1/2
  printf '1. c4 c5 1/2-1/2\n\n'
} > games.pgn
sed '/^;/d; s/ ;.*//' games.pgn > plain.pgn

count() {
  package/usr/games/pgn-extract "$1" 2>&1 > /dev/null | sed -n 's/.* matched out of \([0-9]*\)\.*$/\1/p'
}
cat > count.py << 'PY'
import chess.pgn
with open("games.pgn") as file:
    games = list(iter(lambda: chess.pgn.read_game(file), None))
print(len(games), *(len(list(game.mainline())) for game in games), sum(len(game.errors) for game in games))
PY
plain=$(count plain.pgn)
commented=$(count games.pgn)
python=$(python/bin/python count.py)
echo "pgn-extract 19-04: $plain games without the comments, $commented with them"
echo "python-chess 1.11.2: games, half-moves of each, errors: $python"
[ "$plain" = 3 ] && [ "$commented" -gt 3 ] && [ "$python" = "3 4 2 2 0" ]
