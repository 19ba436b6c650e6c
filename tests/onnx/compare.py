"""Mavka's CPU evaluator beside ONNX Runtime, the same networks on the same positions.

    pip install numpy onnx onnxruntime safetensors
    python tests/onnx/compare.py target/release/mavka [NETWORK ...]

A NETWORK is a file, or the sizes WIDTHxLAYERSxHEADSxFFN of one with random weights. Each becomes an
ONNX graph of all that play asks for, in fp32 and with int8 products (`quantize_dynamic`).

Answers: ONNX Runtime's are held against Mavka's `eval`, which prints tenths of a per cent and
computes in bytes where the CPU can. Only a trained network tests all: a random one's blocks start out closed.

Times: taken in turns, Mavka's by `evalbench`. They include encoding positions and the heads'
softmaxes, which ONNX Runtime's do not.
"""

import argparse
import itertools
import json
import logging
import math
import re
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors import safe_open

BUNDLED = Path(__file__).parents[2] / "assets" / "mavka.safetensors"
SQUARES, ROWS, BUCKETS = 64, 24, 64


class Graph:
    """An ONNX graph under construction. Operands are names, or arrays that become constants."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants, self.count = weights, [], [], 0

    def fresh(self):
        self.count += 1
        return f"t{self.count}"

    def constant(self, value):
        name = self.fresh()
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind, *inputs, outputs=1, name=None, **attributes):
        names = [name] if name else [self.fresh() for _ in range(outputs)]
        inputs = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        self.nodes.append(helper.make_node(kind, inputs, names, self.fresh(), **attributes))
        return names[0] if outputs == 1 else names

    def reshape(self, x, *shape):
        return self.op("Reshape", x, np.array(shape, np.int64))

    def linear(self, x, weight, bias, name=None):
        return self.op("Add", self.op("MatMul", x, weight), bias, name=name)

    def layer(self, x, part, name=None):
        return self.linear(x, self.weights[f"{part}.weight"], self.weights[f"{part}.bias"], name)

    def norm(self, x, part):
        gamma, beta = self.weights[f"{part}.gamma"], self.weights[f"{part}.beta"]
        return self.op("LayerNormalization", x, gamma, beta, epsilon=1e-5)


def load(path):
    """A network file's configuration and parameters."""
    with safe_open(path, "numpy") as file:
        weights = {key: file.get_tensor(key).astype(np.float32) for key in file.keys()}
        return json.loads(file.metadata()["config"]), weights


def attention(g, c, x, block, basis):
    """`[n * 64, width]` to the heads' outputs side by side."""
    heads, width = c["heads"], c["width"]
    dim = width // heads
    bias = g.weights[f"{block}.attention_bias"][None]
    if basis:
        sizes = c["dynamic_bias"]
        y = g.layer(x, f"{block}.dynamic_bias.compress")
        y = g.layer(g.reshape(y, -1, SQUARES * sizes["channels"]), f"{block}.dynamic_bias.hidden")
        y = g.layer(g.op("Relu", y), f"{block}.dynamic_bias.mix")
        y = g.op("MatMul", g.reshape(y, -1, sizes["rank"]), basis)
        bias = g.op("Add", g.reshape(y, -1, heads, SQUARES, SQUARES), bias)
    # The scores' scale goes into the queries' weights: one pass less.
    scale = np.where(np.arange(3 * width) < width, 1 / math.sqrt(dim), 1).astype(np.float32)
    weight, shift = (g.weights[f"{block}.qkv.{part}"] * scale for part in ("weight", "bias"))
    qkv = g.reshape(g.linear(x, weight, shift), -1, SQUARES, 3 * heads, dim)
    qkv = g.op("Transpose", qkv, perm=[0, 2, 1, 3])
    queries, keys, values = g.op("Split", qkv, outputs=3, axis=1, num_outputs=3)
    scores = g.op("MatMul", queries, g.op("Transpose", keys, perm=[0, 1, 3, 2]))
    mix = g.op("Softmax", g.op("Add", scores, bias), axis=-1)
    return g.reshape(g.op("Transpose", g.op("MatMul", mix, values), perm=[0, 2, 1, 3]), -1, width)


def model(c, weights):
    """The graph: n positions as `squares` and m moves as places in the n * 64 tokens, to logits."""
    g, width = Graph(weights), c["width"]
    x = g.linear("squares", weights["embed.rows"], weights["embed.position"])
    x = g.reshape(x, -1, width)
    basis = c.get("dynamic_bias") and g.constant(weights["bias_basis"].reshape(-1, SQUARES**2))
    for block in (f"block{i}" for i in range(c["layers"])):
        mixed = attention(g, c, g.norm(x, f"{block}.norm1"), block, basis)
        x = g.op("Add", x, g.layer(mixed, f"{block}.out"))
        up = g.op("Relu", g.layer(g.norm(x, f"{block}.norm2"), f"{block}.up"))
        x = g.op("Add", x, g.layer(g.op("Mul", up, up), f"{block}.down"))

    # Columns of the head projection in their order, no more than play needs. A zero one before the
    # promotions' four is what a move without promotion reads.
    policy, action, channels = c["policy_dim"], c["action_dim"], c["value_channels"]
    columns = [policy, policy, 5, channels, action, action]
    heads = weights["heads.weight"], weights["heads.bias"]
    heads = [np.insert(w, 2 * policy, 0, axis=-1)[..., : sum(columns)] for w in heads]
    tokens = g.linear(g.norm(x, "norm"), *heads)
    columns = g.op("Split", tokens, np.array(columns, np.int64), outputs=6, axis=1)
    policy_from, policy_to, promotions, values, action_from, action_to = columns

    flat = g.reshape(g.op("Relu", values), -1, SQUARES * channels)
    board = g.op("Relu", g.layer(flat, "value.hidden"))
    for name, part in ("value", "buckets"), ("result", "result"), ("terminal", "terminal"):
        g.layer(board, f"value.{part}", name)

    def pick(rows, places):
        return g.op("Gather", rows, places, axis=0)

    product = g.op("Mul", pick(policy_from, "from"), pick(policy_to, "to"))
    product = g.op("ReduceSum", product, np.array([1]), keepdims=0)
    place = g.op("Add", g.op("Mul", "to", np.array([5])), "promotion")
    scaled = g.op("Mul", product, np.float32(1 / math.sqrt(policy)))
    g.op("Add", scaled, pick(g.reshape(promotions, -1), place), name="policy")
    squares = g.op("Add", pick(action_from, "from"), pick(action_to, "to"))
    context = pick(g.layer(board, "action.context"), g.op("Div", "from", np.array([SQUARES])))
    kind = pick(g.constant(weights["action.promotion"]), "promotion")
    hidden = g.op("Relu", g.op("Add", squares, g.op("Add", context, kind)))
    g.layer(hidden, "action.buckets", "actions")

    def floats(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    moves = [helper.make_tensor_value_info(x, TensorProto.INT64, ["m"]) for x in MOVE_PARTS]
    answers = [floats("policy", "m"), floats("actions", "m", BUCKETS)]
    answers += [floats("value", "n", BUCKETS), floats("result", "n", 3), floats("terminal", "n", 3)]
    inputs = [floats("squares", "n", SQUARES, ROWS), *moves]
    graph = helper.make_graph(g.nodes, "mavka", inputs, answers, g.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


MOVE_PARTS = "from", "to", "promotion"


class Uci:
    """A running Mavka."""

    def __init__(self, mavka, weights):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([mavka], **pipes)
        options = "UCI_Chess960 value true", f"WeightsFile value {weights}"
        self.ask(*(f"setoption name {option}" for option in options), "isready")

    def ask(self, *commands, last="readyok"):
        """The lines that answer `commands`, up to the one that begins with `last`."""
        print(*commands, sep="\n", file=self.process.stdin, flush=True)
        lines = []
        for line in self.process.stdout:
            if line.startswith(last):
                break
            lines.append(line.rstrip())
        return lines

    def close(self):
        self.process.communicate("quit\n")


def square(name):
    return "abcdefgh".index(name[0]) + 8 * (int(name[1]) - 1)


def code(move, turn=0):
    """A move as from, to and promotion, seen from White (0) or Black (56)."""
    return square(move[:2]) ^ turn, square(move[2:]) ^ turn, " nbrq".index(move[4:] or " ")


def encode(fen, moves):
    """What the network sees: `[64, ROWS]`, and the moves' codes."""
    men, side, castling, en_passant, halfmoves, _ = fen.split()
    turn = 56 if side == "b" else 0
    rows = np.zeros((SQUARES, ROWS), np.float32)
    men = re.sub(r"\d", lambda digit: "." * int(digit[0]), men)
    for y, rank in enumerate(reversed(men.split("/"))):
        for x, man in enumerate(rank):
            own = man.isupper() == (side == "w")
            row = 0 if man == "." else 1 + "pnbrqk".index(man.lower()) + (0 if own else 6)
            rows[(8 * y + x) ^ turn, row] = 1
    for right in castling.strip("-"):
        rook = {"K": "h1", "Q": "a1", "k": "h8", "q": "a8"}[right]
        rows[square(rook) ^ turn, 13 + (right.isupper() != (side == "w"))] = 1
    codes = [code(move, turn) for move in moves]
    if en_passant != "-":
        target = square(en_passant) ^ turn
        if any(to == target and rows[at, 1] and (to - at) % 8 for at, to, _ in codes):
            rows[target, 15] = 1
    rows[:, 22] = min(int(halfmoves), 100) / 100
    return rows, codes


def positions(mavka, weights, count=64):
    """The positions that `evalbench` uses: encoded, with their moves and the lines of `eval`."""
    engine, found, game = Uci(mavka, weights), [], []
    for i in range(count):
        start = "position startpos moves " + " ".join(game) if game else "position startpos"
        board = engine.ask(start, "d", "isready")
        fen = next(line[5:] for line in board if line.startswith("Fen: "))
        perft = engine.ask("go perft 1", last="Nodes searched")
        moves = sorted((x.split(":")[0] for x in perft if re.match(r"[a-h]\d", x)), key=code)
        found.append((*encode(fen, moves), moves, engine.ask("eval", "isready")))
        game.append(moves[(i * 7 + 3) % len(moves)])
    engine.close()
    return found


def feed(some):
    """The inputs of a batch: positions as [`positions`] gives them."""
    codes = [(at + 64 * p, to + 64 * p, kind) for p, x in enumerate(some) for at, to, kind in x[1]]
    moves = zip(MOVE_PARTS, np.array(codes, np.int64).T)
    return {"squares": np.stack([x[0] for x in some]), **{k: v.copy() for k, v in moves}}


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def answers(session, found):
    """Per cent, by position: value, win, draw, loss; moves' policies; moves' action values."""
    policy, actions, value, result, _ = session.run(None, feed(found))
    centres = (np.arange(BUCKETS) + 0.5) / BUCKETS
    ends = np.cumsum([len(x[1]) for x in found])[:-1]
    boards = np.column_stack([softmax(value) @ centres, softmax(result)[:, ::-1]])
    moves = zip(np.split(policy, ends), np.split(softmax(actions) @ centres, ends))
    return [(100 * b, 100 * softmax(p), 100 * a) for b, (p, a) in zip(boards, moves)]


def printed(lines, moves):
    """The same from what `eval` printed; not a number for the moves it left out."""
    text = "\n".join(lines)
    board = r"value +([\d.]+) .*\nresult +win ([\d.]+) %, draw ([\d.]+) %, loss ([\d.]+)"
    board = re.search(board, text)
    shown = re.findall(r" ([a-h]\d[a-h]\d[nbrq]?) +([\d.]+) % +([\d.]+) %$", text, re.MULTILINE)
    table = np.full((2, len(moves)), np.nan)
    for move, *figures in shown:
        table[:, moves.index(move)] = figures
    return np.array(board.groups(), float), *table


def difference(a, b):
    """The largest one: of values and results, of policies, of action values."""
    return [max(np.nanmax(abs(x[i] - y[i])) for x, y in zip(a, b)) for i in range(3)]


def open_session(graph, threads):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    return ort.InferenceSession(graph, options, ["CPUExecutionProvider"])


def rate(session, inputs, callers, seconds):
    """Positions per second of some threads calling one session for a while."""
    n, rates, start = len(inputs["squares"]), [], threading.Barrier(callers)

    def call():
        # The workers of a session before this one spin for some 30 ms after its last run.
        time.sleep(0.05)
        session.run(None, inputs)
        start.wait()
        begun, done = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            session.run(None, inputs)
            done += n
        rates.append(done / (time.perf_counter() - begun))

    threads = [threading.Thread(target=call) for _ in range(callers)]
    for action in threading.Thread.start, threading.Thread.join:
        for thread in threads:
            action(thread)
    return sum(rates)


def evalbench(mavka, *flags):
    """Positions per second by batch, and the sgemm peak."""
    command = [mavka, "evalbench", *map(str, flags)]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    peak = re.search(r"^sgemm peak .* (\d+) GFLOP", text, re.MULTILINE)
    rows = re.findall(r"^\w+ +(\d+) +(\d+) +\d+ +[\d.]+%", text, re.MULTILINE)
    return {int(batch): float(rate) for batch, rate in rows}, float(peak[1])


MAVKA = {
    "Mavka single": ["--arithmetic", "single"],
    "Mavka int8": ["--arithmetic", "int8"],
    "burn flex": ["--flex"],
}


def measure(args, weights, graphs, found):
    """Positions per second by threads, batch and column; for ONNX Runtime also by its arrangement:
    one caller of a session with all threads, or as many callers as threads."""
    samples, peaks = {}, {}
    kinds = itertools.product(graphs, {1, *args.threads})
    sessions = {(name, t): open_session(graphs[name], t) for name, t in kinds}
    inputs = {batch: feed((found * batch)[:batch]) for batch in args.batch}
    batches = ",".join(map(str, args.batch))
    for _, threads in itertools.product(range(args.rounds), args.threads):
        for name, flags in MAVKA.items():
            flags = [*flags, "--weights", weights, "--threads", threads, "--batch", batches]
            rates, peak = evalbench(args.mavka, *flags, "--seconds", args.seconds)
            peaks.setdefault(threads, []).append(peak)
            for batch, speed in rates.items():
                samples.setdefault((threads, batch, name, ""), []).append(speed)
        for name, batch, callers in itertools.product(graphs, args.batch, {1, threads}):
            speed = rate(sessions[name, threads // callers], inputs[batch], callers, args.seconds)
            mark = "*" if callers > 1 else " "
            samples.setdefault((threads, batch, name, mark), []).append(speed)
    return [{key: median(x) for key, x in table.items()} for table in (samples, peaks)]


def show(args, graphs, speeds, peaks):
    columns = [*MAVKA, *graphs]
    print("threads  batch" + "".join(f"{name:>14}" for name in columns))
    for threads in args.threads:
        best = dict.fromkeys(columns, 0.0)
        for batch in args.batch:
            row = ""
            for name in columns:
                here = [(v, k[3]) for k, v in speeds.items() if k[:3] == (threads, batch, name)]
                speed, mark = max(here)
                best[name] = max(best[name], speed)
                row += f"{speed:>13.0f}{mark or ' '}"
            print(f"{threads:>7}{batch:>7}{row}")
        print(f"{threads:>7}   best" + "".join(f"{best[name]:>13.0f} " for name in columns))
        single, bytes8, flex = (best[name] for name in MAVKA)
        fp32, int8 = (best[name] for name in graphs)
        ratios = f"single / fp32 {single / fp32:.2f}, int8 / int8 {bytes8 / int8:.2f}, "
        ratios += f"single / flex {single / flex:.2f}"
        print(f"{threads:>7}         {ratios}; sgemm peak {peaks[threads]:.0f} GFLOP/s")


def compare(args, network, folder):
    weights = Path(network)
    if re.fullmatch(r"\d+(x\d+){3}", network):
        weights = Path(folder) / f"{network}.safetensors"
        sizes = zip(("--width", "--layers", "--heads", "--ffn"), network.split("x"))
        save = [*itertools.chain(*sizes), "--save", weights, "--batch", 1, "--seconds", 0.1]
        evalbench(args.mavka, *save)
    c, parameters = load(weights)
    print(f"\n{weights.name}: {c['width']}x{c['layers']}, {c['heads']} heads, ffn {c['ffn']}")
    fp32, int8 = (str(Path(folder) / f"{kind}.onnx") for kind in ("fp32", "int8"))
    onnx.save(model(c, parameters), fp32)
    constant = {"MatMulConstBOnly": True}
    quantize_dynamic(fp32, int8, weight_type=QuantType.QInt8, extra_options=constant)
    graphs = {"ORT fp32": fp32, "ORT int8": int8}

    found = positions(args.mavka, weights.resolve())
    ours = [printed(lines, moves) for _, _, moves, lines in found]
    exact, coarse = (answers(open_session(graph, 1), found) for graph in graphs.values())
    pairs = {"ORT fp32 to Mavka's `eval`": (exact, ours), "ORT int8 to ORT fp32": (coarse, exact)}
    for name, pair in pairs.items():
        words = zip(("values", "policies", "action values"), difference(*pair))
        words = ", ".join(f"{what} {most:.2f}" for what, most in words)
        same = 100 * np.mean([np.nanargmax(a[1]) == np.nanargmax(b[1]) for a, b in zip(*pair)])
        print(f"{name}, largest differences in percentage points: {words};")
        print(f"    the policy's first move is the same in {same:.0f} % of {len(found)} positions")
    show(args, graphs, *measure(args, weights, graphs, found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    numbers = {"type": lambda text: [int(x) for x in text.split(",")]}
    parser.add_argument("mavka", help="the executable")
    parser.add_argument("networks", nargs="*", default=[str(BUNDLED), "128x6x4x256", "256x8x8x512"])
    parser.add_argument("--threads", **numbers, default=[1, 2])
    parser.add_argument("--batch", **numbers, default=[1, 4, 8, 16, 64])
    parser.add_argument("--seconds", type=float, default=0.3, help="for each figure and round")
    parser.add_argument("--rounds", type=int, default=3, help="their median counts")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    print(f"Positions per second, median of {args.rounds} rounds, onnxruntime {ort.__version__}.")
    print("Batches are each caller's own; * = as many callers as threads was faster than one.")
    with tempfile.TemporaryDirectory() as folder:
        for network in args.networks:
            compare(args, network, folder)


if __name__ == "__main__":
    main()
