#!/usr/bin/env python3
"""The regressors of paper 002 (section "Zero lookahead engines") and its hybrids, by scikit-learn.

    pip install scikit-learn chess zstandard
    python3 assets/papers/002.py positions.mavg.zst --folder regressors     # trains, and prints the table of errors
    python3 assets/papers/002.py --play regressors/one-hot.joblib           # a UCI engine without lookahead
    python3 assets/papers/002.py --play regressors/average.joblib --depth 2          # all of them before minimax
    python3 assets/papers/002.py --play regressors/average.joblib --simulations 50   # and in a tree search

The data are games with a value for every position (MAVG1). Boards are unique, seen from the side to move, and balanced over 21 bins of
win probability; every 50th game is held out for the test. The paper's CNN is missing, which scikit-learn lacks, and Giraffe's groups of
features have no dense layers of their own. docs/src/papers.md has the figures. Widths are ours: the paper's figures A2 to A4 are not available.
"""

import argparse
import functools
import io
import math
import struct
import sys
import time
from pathlib import Path

import chess
import joblib
import numpy as np
import zstandard

BINS = 21
HELD_OUT = 50
NO_SCORE = 32767
# Share of UCT's exploration term: values of a model differ by less than results of games.
EXPLORATION = 0.1
# First slot and number of slots of each role among its side's sixteen; a promoted piece takes a pawn's.
SLOTS = [(0, 8), (8, 2), (10, 2), (12, 2), (14, 1), (15, 1)]
# Giraffe's cheapest attacker, pawn to king: the cheaper, the larger; 0 is none.
CHEAPNESS = [1.0, 0.8, 0.75, 0.5, 0.25, 0.1]
MOST_REACHED = 27.0
# Errors in the paper: mean squared and mean absolute.
OF_PAPER = {"one-hot": "0.0323 | 0.1183", "giraffe": "0.0496 | 0.1709", "positional": "0.0557 | 0.1829", "svr": "abandoned |"}


def canonical(board):
    """The legal moves in the order of the data files; castling is king takes rook."""

    def key(move):
        to = move.to_square
        if board.is_castling(move):
            to = board._to_chess960(move).to_square
        return move.from_square, to, move.promotion or 0

    return sorted(board.legal_moves, key=key)


def games(path):
    """(index, board, [(played, score)]) of each whole game."""
    with open(path, "rb") as file:
        stream = io.BufferedReader(zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file), 1 << 18)
        if stream.read(6) != b"MAVG1\n":
            sys.exit(f"{path}: expected games with values of all moves (MAVG1)")
        index = 0
        while len(head := stream.read(2)) == 2:
            board = chess.Board(stream.read(head[1]).decode(), chess960=True)
            rest = stream.read(3)
            if len(rest) < 3:
                return
            plies = []
            for _ in range(struct.unpack("<BH", rest)[1]):
                record = stream.read(5)
                if len(record) < 5 or len(stream.read(record[0])) < record[0]:
                    return
                plies.append(struct.unpack("<xxBh", record))
            yield index, board, plies
            index += 1


def pieces(board):
    """(kind, square) of each piece: the mover's six kinds first, squares from the mover's side."""
    flip = 0 if board.turn else 56
    found = ((piece.piece_type - 1 + (0 if piece.color == board.turn else 6), square ^ flip) for square, piece in board.piece_map().items())
    return sorted(found, key=lambda piece: (piece[0] // 6, piece[0] % 6 != 0, *piece))


def placed(board):
    """(slot, kind, square) of each piece that has a slot of the first position."""
    taken = set()
    for kind, square in pieces(board):
        side, (first, count) = 16 * (kind // 6), SLOTS[kind % 6]
        free = [slot for slot in [*range(side + first, side + first + count), *range(side, side + 8)] if slot not in taken]
        if free:
            taken.add(free[0])
            yield free[0], kind, square


def one_hot(board):
    row = np.zeros(768, np.float32)
    for kind, square in pieces(board):
        row[64 * kind + square] = 1
    return row


def positional(board):
    row = np.zeros((32, 3), np.float32)
    for slot, _, square in placed(board):
        row[slot] = square % 8 / 7, square // 8 / 7, 1
    return row.ravel()


def giraffe(board):
    """Lai's features (2015, sections 3.1 and 3.2) as far as paper 002 repeats them: board, pieces, cheapest attackers."""
    mover, flip = board.turn, 0 if board.turn else 56
    rights = [right for side in (mover, not mover) for right in (board.has_kingside_castling_rights(side), board.has_queenside_castling_rights(side))]
    counts, attackers = np.zeros((2, 5), np.float32), np.zeros((2, 64), np.float32)
    for kind, square in pieces(board):
        side, role = divmod(kind, 6)
        if role < 5:
            counts[side, role] += 1 / 8 if role == 0 else 1 / 2
        for attacked in board.attacks(square ^ flip):
            attackers[side, attacked ^ flip] = max(attackers[side, attacked ^ flip], CHEAPNESS[role])
    rows = np.zeros((32, 6), np.float32)
    for slot, kind, square in placed(board):
        side, at = kind // 6, square ^ flip
        moves = len(board.attacks(at) & ~board.occupied_co[mover if side == 0 else not mover])
        rows[slot] = square % 8 / 7, square // 8 / 7, 1, attackers[1 - side, square], attackers[side, square], moves / MOST_REACHED
    return np.concatenate([np.float32(rights), counts.ravel(), rows.ravel(), attackers.ravel()])


# Features, and the regressor of each; the support vectors see the one-hot features and Giraffe's.
MODELS = {
    "one-hot": (one_hot, (512, 256, 64)),
    "giraffe": (giraffe, (320, 128)),
    "positional": (positional, (256, 256, 128)),
    "svr": (lambda board: np.concatenate([one_hot(board), giraffe(board)]), None),
}


def bin_of(win):
    return np.minimum((np.asarray(win) * BINS).astype(int), BINS - 1)


def samples(files, train, test):
    """Two lists of (FEN, win probability of the side to move): to train on, and of the held-out games."""
    parts = [([], np.zeros(BINS, int), train), ([], np.zeros(BINS, int), test)]
    seen = set()
    for path in files:
        for index, board, plies in games(path):
            found, filled, most = parts[index % HELD_OUT == 0]
            for played, score in plies:
                mate = abs(score) >= 31000
                win = float(score > 0) if mate else 1 / (1 + math.exp(-0.00368208 * score))
                fen, at = board.fen(), int(bin_of(win))
                key = fen.rsplit(" ", 2)[0]
                if score != NO_SCORE and key not in seen and filled[at] < -(-most // BINS):
                    seen.add(key)
                    filled[at] += 1
                    found.append((fen, win))
                board.push(canonical(board)[played])
            if all((filled >= -(-most // BINS)).all() for _, filled, most in parts):
                return [found for found, _, _ in parts]
    return [found for found, _, _ in parts]


def row(name, found, wins, paper, seconds):
    from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

    near = 100 * np.mean(np.abs(bin_of(found) - bin_of(wins)) < 2)
    errors = f"{mean_squared_error(wins, found):.4f} | {mean_absolute_error(wins, found):.4f} | {r2_score(wins, found):.3f}"
    print(f"| {name} | {errors} | {near:.1f} | {paper} | {seconds} |", flush=True)


def study(args):
    from sklearn.neural_network import MLPRegressor
    from sklearn.svm import SVR

    parts = samples(args.files, args.positions, args.test)
    boards, wins = zip(*[([chess.Board(fen, chess960=True) for fen, _ in part], np.array([win for _, win in part])) for part in parts])
    print(f"{len(wins[0])} boards to train on, {len(wins[1])} to test\n")
    print("| model | MSE | MAE | R² | near, % | theirs: MSE | MAE | seconds |\n|---|---|---|---|---|---|---|---|")
    row("the mean", np.full_like(wins[1], wins[0].mean()), wins[1], "0.0833 | 0.25", "")
    args.folder.mkdir(exist_ok=True)
    all_found = {}
    for name in args.model or MODELS:
        features, layers = MODELS[name]
        most = args.vectors if layers is None else len(wins[0])
        chosen = np.random.default_rng(args.seed).permutation(len(wins[0]))[:most]
        begun = time.monotonic()
        model = SVR(gamma=0.005, C=1.0, epsilon=0.05)
        if layers:
            model = MLPRegressor(hidden_layer_sizes=layers, batch_size=min(512, most), max_iter=args.epochs, early_stopping=True, n_iter_no_change=3, random_state=args.seed)
        model.fit(np.array([features(boards[0][at]) for at in chosen]), wins[0][chosen])
        joblib.dump(Average([(name, model)]), args.folder / f"{name}.joblib")
        found = Average([(name, model)])(boards[1])
        row(name, found, wins[1], OF_PAPER[name], f"{time.monotonic() - begun:.0f}")
        if layers:
            all_found[name] = (model, found)
    if len(all_found) > 1:
        found = np.array([found for _, found in all_found.values()])
        row("their average", found.mean(axis=0), wins[1], "|", "")
        # Weights from one half of the games, errors on the other, and the other way round.
        half, groups = len(wins[1]) // 2, np.array([group(board) for board in boards[1]])
        fitted = np.empty_like(wins[1])
        for fit, test in [(slice(half), slice(half, None)), (slice(half, None), slice(half))]:
            fitted[test] = blend(found[:, test], weights(found[:, fit], wins[1][fit], groups[fit])[groups[test]])
        row("their average by phase and colour", fitted, wins[1], "|", "")
        parts = [(name, model) for name, (model, _) in all_found.items()]
        joblib.dump(Average(parts, weights(found, wins[1], groups)), args.folder / "average.joblib")
    print("\nnear: the guess is in the label's bin of 21 or in the next one")


def group(board):
    """Phase of the game by pieces (24 and more, 12 and more, fewer), and the colour to move: 0 to 5."""
    count = chess.popcount(board.occupied)
    return 2 * (0 if count >= 24 else 1 if count >= 12 else 2) + int(board.turn)


def weights(found, wins, groups):
    """Shares of each model in each group, by least squares."""
    from scipy.optimize import nnls

    shares = np.full((6, len(found)), 1 / len(found))
    for at in range(6):
        here = groups == at
        if here.sum() >= 50:
            shares[at] = nnls(found[:, here].T, wins[here])[0]
            shares[at] /= shares[at].sum()
    return shares


def blend(found, shares):
    """Sums of the models' answers, [models, boards], by the shares of each board, [boards, models]."""
    return np.einsum("mb,bm->b", found, shares)


class Average:
    """Win probability of the side to move, by one model or several with weights of each group."""

    def __init__(self, models, shares=None):
        self.models = models
        self.shares = np.full((6, len(models)), 1 / len(models)) if shares is None else shares

    def __call__(self, boards):
        found = [model.predict(np.array([MODELS[name][0](board) for board in boards])) for name, model in self.models]
        return np.clip(blend(np.array(found), self.shares[[group(board) for board in boards]]), 0, 1)


def replies(win_of, board):
    """The legal moves of a game that is not over, the boards behind them, the mover's win probabilities there, and whether the rules say so."""
    moves, boards = list(board.legal_moves), []
    for move in moves:
        after = board.copy(stack=False)
        after.push(move)
        boards.append(after)
    wins, over = 1 - win_of(boards), np.zeros(len(boards), bool)
    for at, after in enumerate(boards):
        if not any(after.generate_legal_moves()):
            wins[at], over[at] = 1.0 if after.is_check() else 0.5, True
        elif after.is_insufficient_material() or after.halfmove_clock >= 100:
            wins[at], over[at] = 0.5, True
    return moves, boards, wins, over


def deepen(win_of, board, depth, alpha=-1.0, beta=2.0):
    """Alpha-beta with the model at its leaves: the mover's win probability and move."""
    moves, boards, wins, over = replies(win_of, board)
    order, best = np.argsort(-wins), None
    if depth == 1:
        return wins[order[0]], moves[order[0]]
    for at in order:
        value = wins[at] if over[at] else 1 - deepen(win_of, boards[at], depth - 1, 1 - beta, 1 - alpha)[0]
        if value > alpha:
            alpha, best = value, moves[at]
        if alpha >= beta:
            break
    return alpha, best


class Node:
    """A node of the hybrid's tree. All its children are evaluated at once, and the best of them is backed up (section 4.3)."""

    def __init__(self, win_of, board):
        self.moves, self.boards, self.wins, self.over = replies(win_of, board)
        self.visits = np.ones(len(self.moves))
        self.children = [None] * len(self.moves)
        self.value = max(self.wins)

    def visit(self, win_of):
        """One simulation from here: the mover's win probability that it found."""
        at = int(np.argmax(self.wins + EXPLORATION * np.sqrt(2 * np.log(self.visits.sum()) / (self.visits + 1))))
        value = self.wins[at]
        if not self.over[at] and self.children[at] is None:
            self.children[at] = Node(win_of, self.boards[at])
            value = 1 - self.children[at].value
        elif not self.over[at]:
            value = 1 - self.children[at].visit(win_of)
        self.wins[at] += (value - self.wins[at]) / (1 + self.visits[at])
        self.visits[at] += 1
        return value


def simulate(win_of, board, simulations):
    """The tree search: the value and the move with the most visits."""
    root = Node(win_of, board)
    for _ in range(simulations):
        root.visit(win_of)
    best = max(range(len(root.moves)), key=lambda at: (root.visits[at], root.wins[at]))
    return root.wins[best], root.moves[best]


def play(path, depth, simulations):
    """UCI. Without lookahead: the move after which the other side's win probability is smallest."""
    # Not before `uciok`: it imports scikit-learn, which takes seconds on a busy machine.
    model, board = functools.cache(lambda: joblib.load(path)), chess.Board()
    for line in sys.stdin:
        match line.split():
            case ["uci"]:
                print(f"id name {path.stem} regressor\noption name Threads type spin default 1 min 1 max 1\nuciok", flush=True)
            case ["isready"]:
                model()
                print("readyok", flush=True)
            case ["position", *words]:
                moves = words[words.index("moves") + 1 :] if "moves" in words else []
                fen = chess.STARTING_FEN if words[0] == "startpos" else " ".join(words[1:7])
                board = chess.Board(fen)
                for move in moves:
                    board.push_uci(move)
            case ["go", *_]:
                if not any(board.legal_moves):
                    win, best = 0.0 if board.is_check() else 0.5, chess.Move.null()
                elif simulations:
                    win, best = simulate(model(), board, simulations)
                else:
                    win, best = deepen(model(), board, depth)
                score = min(max(win, 1e-4), 1 - 1e-4)
                print(f"info depth {depth} nodes {simulations or 1} score cp {round(math.log(score / (1 - score)) / 0.00368208)} pv {best.uci()}")
                print(f"bestmove {best.uci()}", flush=True)
            case ["quit"]:
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("regressors"), help="folder of the trained models")
    parser.add_argument("--model", action="append", choices=MODELS, help="only this one; may be repeated")
    parser.add_argument("--positions", type=int, default=200_000, help="boards to train on, at most")
    parser.add_argument("--vectors", type=int, default=10_000, help="of those, for support vectors; time grows with their square")
    parser.add_argument("--test", type=int, default=20_000, help="boards to test on")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--play", type=Path, metavar="MODEL", help="speak UCI with a trained model")
    parser.add_argument("--depth", type=int, default=1, help="of --play: plies of alpha-beta before the model; 1 looks at the moves alone")
    parser.add_argument("--simulations", type=int, default=0, help="of --play: simulations of a tree search in place of alpha-beta")
    args = parser.parse_args()
    if args.play:
        play(args.play, max(args.depth, 1), args.simulations)
    elif args.files:
        study(args)
    else:
        parser.error("name data files, or --play MODEL")


if __name__ == "__main__":
    main()
