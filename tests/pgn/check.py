"""Reads PGN files by `mavka analyse --nodes 1` and by python-chess, and compares games and moves.

    pip install chess
    python3 tests/pgn/check.py target/release/mavka FILE.pgn...

For each file: the games of the annotated copy are those of the file as python-chess reads it, in the same order, and each
game's moves agree. Where either of the two cut a game at what it cannot read, the shorter one is a prefix of the other, and
the file is listed with what `mavka` said. Files may be compressed; .zst needs the program zstd. `tests/pgn/exports` has files
as other programs write them.
"""

import gzip
import io
import pathlib
import subprocess
import sys
import tempfile

import chess.pgn


def games(path):
    data = pathlib.Path(path).read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    elif str(path).endswith(".zst"):
        data = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    stream = io.StringIO(text)
    found = []
    while (game := chess.pgn.read_game(stream)) is not None:
        moves = [move.uci() for move in game.mainline_moves()]
        bare = len(game.headers) == 7 and set(game.headers.values()) <= {"?", "*", "????.??.??", game.headers["Result"]}
        if bare and found and not found[-1][2]:
            # python-chess ends a game at an empty line behind a comment.
            found[-1] = (*found[-1][:2], moves, bool(game.errors))
            continue
        found.append((game.headers.get("White", "?"), game.headers.get("Black", "?"), moves, bool(game.errors)))
    return found


def compare(engine, path, folder):
    out = pathlib.Path(folder) / "out.pgn"
    out.unlink(missing_ok=True)
    run = subprocess.run([engine, "analyse", path, "--nodes", "1", "--threads", "1", "--out", out], capture_output=True, text=True)
    said = [line for line in run.stderr.splitlines() if "line " in line or "copied" in line or "error" in line.lower()]
    if not out.exists():
        return "no output", said or run.stderr.splitlines()[-1:]
    try:
        before, after = games(path), games(out)
    except (IndexError, ValueError) as why:
        return "python-chess fails", [str(why)]
    if len(before) != len(after):
        return f"{len(before)} games became {len(after)}", said
    equal = True
    for number, (old, new) in enumerate(zip(before, after), 1):
        short = min(len(old[2]), len(new[2]))
        if old[:2] != new[:2] or old[2][:short] != new[2][:short]:
            return f"game {number} differs", said
        equal &= len(old[2]) == len(new[2])
    return "equal" if equal else "a prefix", said


def main():
    engine, files = sys.argv[1], sys.argv[2:]
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            verdict, said = compare(engine, path, folder)
            kind = verdict if verdict in ("equal", "a prefix", "no output", "python-chess fails") else "different"
            counts[kind] = counts.get(kind, 0) + 1
            if verdict != "equal":
                print(f"{path}: {verdict}", *said[:3], sep="\n    ", flush=True)
    print(counts)


main()
