#!/usr/bin/env python3
"""Holds the glyphs of `mavka analyse` against a deeper engine.

    pip install chess
    mavka analyse games.pgn --out annotated.pgn
    tests/glyphs/check.py annotated.pgn --engine stockfish --nodes 250000 --moves 500

For each move of the games' main lines the engine values the position before and after it; the difference in win
probability, by lichess's formula, is what the move lost. Prints how many of each glyph lost as much as lichess asks
for, and how many of the moves that lost it have a glyph.
"""

import argparse
import math

import chess
import chess.engine
import chess.pgn

NAMES = {chess.pgn.NAG_BLUNDER: "??", chess.pgn.NAG_MISTAKE: "?", chess.pgn.NAG_DUBIOUS_MOVE: "?!"}
BARS = (20, 15, 10, 5)


def win(score):
    """Win probability, in percent, of the side to move."""
    if score.is_mate():
        return 100.0 if score.mate() > 0 else 0.0
    return 100.0 / (1.0 + math.exp(-0.00368208 * score.score()))


def value(engine, board, nodes, known):
    """Of the side to move; a finished game is not searched."""
    outcome = board.outcome()
    if outcome is not None:
        return 50.0 if outcome.winner is None else 0.0
    # Not what could be claimed after a further move: the mover may have a better one.
    if board.is_repetition(3):
        return 50.0
    key = board.fen()
    if key not in known:
        known[key] = win(engine.analyse(board, chess.engine.Limit(nodes=nodes))["score"].relative)
    return known[key]


def moves(path, most):
    """Every move that was judged, with the position before it and its glyph."""
    found = 0
    with open(path, encoding="utf-8") as file:
        while (game := chess.pgn.read_game(file)) is not None:
            for node in game.mainline():
                if found == most:
                    return
                if node.eval() is not None or node.board().is_game_over():
                    found += 1
                    glyph = next((NAMES[nag] for nag in node.nags if nag in NAMES), "")
                    yield node.parent.board(), node.move, glyph


def measure(args, lost):
    """Appends glyph and loss of every move."""
    known = {}
    # No timeout: the machine may be busy with something else.
    with chess.engine.SimpleEngine.popen_uci(args.engine, timeout=None) as engine:
        engine.configure({"Threads": 1})
        print(f"{engine.id['name']}, {args.nodes} nodes for each position", flush=True)
        for board, move, glyph in moves(args.games, args.moves):
            if args.only and glyph not in args.only:
                continue
            before = value(engine, board, args.nodes, known)
            number, san = board.fullmove_number, board.san(move)
            board.push(move)
            loss = before - (100.0 - value(engine, board, args.nodes, known))
            lost.append((glyph, loss))
            if (glyph == "??" and loss < 20) or (not glyph and loss >= 15):
                print(f"  {len(lost)}: {number}. {san}{glyph} lost {loss:.0f}; {board.fen()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("games", help="what `mavka analyse` wrote")
    parser.add_argument("--engine", default="stockfish")
    parser.add_argument("--nodes", type=int, default=250_000, help="for each position")
    parser.add_argument("--moves", type=int, default=500, help="at most")
    parser.add_argument("--only", nargs="+", metavar="GLYPH", help="values only moves with these glyphs")
    args = parser.parse_args()
    lost = []
    try:
        measure(args, lost)
    except KeyboardInterrupt:
        print("stopped; so far:")
    print(f"{len(lost)} moves\n\nglyph  moves  mean loss  " + "  ".join(f"lost >= {bar:2}" for bar in BARS))
    for glyph in ("??", "?", "?!", ""):
        own = [loss for other, loss in lost if other == glyph]
        shares = [f"{sum(loss >= bar for loss in own):4} {100 * sum(loss >= bar for loss in own) / max(1, len(own)):3.0f} %" for bar in BARS]
        print(f"{glyph or 'none':5}  {len(own):5}  {sum(own) / max(1, len(own)):9.1f}  " + "  ".join(f"{share:>10}" for share in shares))
    for bar, glyphs in ((20, ("??",)), (10, ("??", "?"))):
        hard = [glyph for glyph, loss in lost if loss >= bar]
        print(f"of {len(hard)} moves that lost {bar} or more, {sum(glyph in glyphs for glyph in hard)} have {' or '.join(glyphs)}")


if __name__ == "__main__":
    main()
