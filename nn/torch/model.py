"""The network of `nn/src/net` in PyTorch: the same parameters by the same names, read from and written to the
same files. Matrix products and the residual stream are in bf16 on a GPU, sums of losses in single precision."""

import hashlib
import json
import os
import struct

import torch
import torch.nn.functional as F
from torch import nn

BUCKETS = 64
EMBEDDING_ROWS = 24
MARKS = 24
TRANSITION = 16
PIECES = 13
ATTACKS = 14
# Room for the tokens of 32 pieces, an en passant square and a target square; a multiple of 8 for the card.
PIECE_TOKENS = 40


def shapes(config):
    """Names and shapes of all parameters, in the order of the flat vector (`nn/src/net/layout.rs`)."""
    w, ffn, heads = config["width"], config["ffn"], config["heads"]
    out = [("embed.rows", (EMBEDDING_ROWS, w)), ("embed.position", (64, w))]
    bias = config.get("dynamic_bias")
    if bias:
        out.append(("bias_basis", (bias["rank"], 64, 64)))

    def linear(name, i, o):
        out.extend([(f"{name}.weight", (i, o)), (f"{name}.bias", (o,))])

    def norm(name):
        out.extend([(f"{name}.gamma", (w,)), (f"{name}.beta", (w,))])

    for i in range(config["layers"]):
        b = f"block{i}"
        norm(f"{b}.norm1")
        linear(f"{b}.qkv", w, 3 * w)
        out.append((f"{b}.attention_bias", (heads, 64, 64)))
        if bias:
            linear(f"{b}.dynamic_bias.compress", w, bias["channels"])
            linear(f"{b}.dynamic_bias.hidden", 64 * bias["channels"], bias["hidden"])
            linear(f"{b}.dynamic_bias.mix", bias["hidden"], heads * bias["rank"])
        if config.get("relations"):
            out.append((f"{b}.relations", (heads, 2 * ATTACKS)))
        linear(f"{b}.out", w, w)
        norm(f"{b}.norm2")
        linear(f"{b}.up", w, ffn)
        linear(f"{b}.down", ffn, w)
    norm("norm")
    linear("heads", w, columns(config)["all"])
    if config.get("transition_marks"):
        out.append(("transition.marks", (64, MARKS, TRANSITION)))
    out.append(("legality.bias", (64, 64)))
    hidden = config["value_hidden"]
    linear("value.hidden", 64 * config["value_channels"], hidden)
    linear("value.buckets", hidden, BUCKETS)
    linear("value.result", hidden, 3)
    linear("value.terminal", hidden, 3)
    linear("action.context", hidden, config["action_dim"])
    out.append(("action.promotion", (5, config["action_dim"])))
    if config.get("policy_in_actions"):
        out.append(("action.policy", (config["action_dim"],)))
    linear("action.buckets", config["action_dim"], BUCKETS)
    return out


def columns(config):
    """Where each head's columns end in the heads' projection, and how many there are."""
    sizes = [
        ("policy_from", config["policy_dim"]), ("policy_to", config["policy_dim"]), ("promotion", 4),
        ("value", config["value_channels"]), ("action_from", config["action_dim"]),
        ("action_to", config["action_dim"]), ("legality_from", config["legality_dim"]),
        ("legality_to", config["legality_dim"]), ("promotes", 1), ("transition", TRANSITION),
    ]
    places, end = {}, 0
    for name, size in sizes:
        places[name] = (end, end + size)
        end += size
    places["all"] = end
    return places


class Net(nn.Module):
    """All heads. `kind` is what products are computed in."""

    def __init__(self, config, kind=torch.bfloat16):
        super().__init__()
        self.config, self.kind = config, kind
        self.columns = columns(config)
        self.names = [name for name, _ in shapes(config)]
        self.flat = nn.ParameterDict(
            {key(name): nn.Parameter(torch.zeros(shape)) for name, shape in shapes(config)})

    def p(self, name):
        return self.flat[key(name)]

    def linear(self, name, x):
        return F.linear(x, self.p(f"{name}.weight").to(self.kind).t(), self.p(f"{name}.bias").to(self.kind))

    def norm(self, name, x):
        y = F.layer_norm(x.float(), x.shape[-1:], self.p(f"{name}.gamma"), self.p(f"{name}.beta"), 1e-5)
        return y.to(self.kind)

    def tokens(self, squares, relations=None):
        """`[n, 64, 24]` to `[n, 64, width]`; `relations` is `[n, 64, 64, 28]`, one-hot or zero."""
        config = self.config
        x = squares @ self.p("embed.rows").to(self.kind) + self.p("embed.position").to(self.kind)
        board = Board(self, squares, relations)
        piece_blocks = config.get("piece_blocks", 0)
        if piece_blocks:
            pieces = PieceBoard(self, squares, relations)
            y = pieces.gather(x)
            for i in range(piece_blocks):
                y = self.block(i, y, pieces)
            # Empty squares join with the embedding they began with.
            x = x * pieces.empty + pieces.scatter(y)
        for i in range(piece_blocks, config["layers"]):
            x = self.block(i, x, board)
        return self.norm("norm", x)

    def block(self, i, x, board):
        x = x + self.attention(i, self.norm(f"block{i}.norm1", x), board)
        up = F.relu(self.linear(f"block{i}.up", self.norm(f"block{i}.norm2", x)))
        return x + self.linear(f"block{i}.down", up * up)

    def attention(self, i, x, board):
        n, tokens, w = x.shape
        heads = self.config["heads"]
        dim = w // heads
        bias = board.static(i)
        if self.config.get("dynamic_bias"):
            b = f"block{i}.dynamic_bias"
            flat = board.scatter(self.linear(f"{b}.compress", x)).flatten(1)
            hidden = F.relu(self.linear(f"{b}.hidden", flat))
            mix = self.linear(f"{b}.mix", hidden)
            bias = bias + board.dynamic(mix.view(n, heads, -1))
        if self.config.get("relations"):
            bias = bias + board.related(i)
        q, k, v = self.linear(f"block{i}.qkv", x).view(n, tokens, 3, heads, dim).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(2, 3)) * dim**-0.5 + bias
        mixed = torch.softmax(scores.float(), 3).to(self.kind) @ v
        return self.linear(f"block{i}.out", mixed.transpose(1, 2).reshape(n, tokens, w))

    def forward(self, inputs):
        """Logits of all heads as in the table of `nn/src/lib.rs`."""
        c = {name: place for name, place in self.columns.items() if name != "all"}
        out = self.linear("heads", self.tokens(inputs["squares"], inputs.get("relations")))
        column = lambda name: out[:, :, slice(*c[name])]
        source, target, promotion = inputs["from"], inputs["to"], inputs["promotion"]
        # [n, k, dim]
        query, keys = source @ column("policy_from"), target @ column("policy_to")
        pairs = query * keys
        offsets = (target @ column("promotion")) * promotion[:, :, 1:]
        policy = pairs.float().sum(2) * self.config["policy_dim"] ** -0.5 + offsets.float().sum(2)
        board = F.relu(self.linear("value.hidden", F.relu(column("value")).flatten(1)))
        hidden = source @ column("action_from") + target @ column("action_to")
        hidden = hidden + self.linear("action.context", board)[:, None]
        hidden = hidden + promotion @ self.p("action.promotion").to(self.kind)
        if self.config.get("policy_in_actions"):
            hidden = hidden + pairs * self.p("action.policy").to(self.kind)
        legality = column("legality_from") @ column("legality_to").transpose(1, 2)
        transition = column("transition")
        if self.config.get("transition_marks"):
            marks = self.p("transition.marks").to(self.kind)
            transition = transition + (inputs["marks"].transpose(0, 1) @ marks).transpose(0, 1)
        return {
            "policy": policy,
            "actions": self.linear("action.buckets", F.relu(hidden)).float(),
            "value": self.linear("value.buckets", board).float(),
            "result": self.linear("value.result", board).float(),
            "terminal": self.linear("value.terminal", board).float(),
            "legality": legality.float() * self.config["legality_dim"] ** -0.5 + self.p("legality.bias"),
            "promotes": column("promotes").float().squeeze(2),
            "transition": transition.float(),
        }


class Board:
    """Attention bias among the 64 squares."""

    def __init__(self, net, squares, relations):
        self.net, self.heads = net, net.config["heads"]
        self.relations = relations
        if net.config.get("dynamic_bias"):
            self.basis = net.p("bias_basis").to(net.kind).flatten(1)

    def scatter(self, x):
        """Rows of tokens by square."""
        return x

    def static(self, i):
        return self.net.p(f"block{i}.attention_bias")

    def dynamic(self, mix):
        """`[n, heads, rank]` to `[n, heads, 64, 64]`."""
        n = mix.shape[0]
        return (mix.flatten(0, 1) @ self.basis).view(n, self.heads, 64, 64)

    def related(self, i):
        table = self.net.p(f"block{i}.relations").to(self.net.kind)
        return (self.relations @ table.t()).permute(0, 3, 1, 2)


class PieceBoard:
    """The same among the occupied and flagged squares alone, in `PIECE_TOKENS` slots."""

    def __init__(self, net, squares, relations):
        self.net, self.heads, kind = net, net.config["heads"], net.kind
        # Column 0 is the class "empty", columns 13 to 21 are flags.
        active = (squares[:, :, 0] == 0) | (squares[:, :, 13:22] > 0).any(2)
        self.empty = (~active).unsqueeze(2).to(kind)
        order = active.int() * 64 + torch.arange(63, -1, -1, device=squares.device)
        keys, places = order.topk(PIECE_TOKENS, 1)
        present = keys >= 64
        # [n, slots, 64]; a free slot has a row of zeros.
        slots = (places.unsqueeze(2) == torch.arange(64, device=squares.device)) & present.unsqueeze(2)
        self.slots = slots.to(kind)
        self.back = self.slots.transpose(1, 2)
        self.absent = torch.where(present, 0.0, -1e4)[:, None, None, :]
        n, blocks = squares.shape[0], net.config["piece_blocks"]
        tables = torch.cat([net.p(f"block{i}.attention_bias") for i in range(blocks)])
        self.statics = self.pairs(tables).view(n, blocks, self.heads, PIECE_TOKENS, PIECE_TOKENS)
        if net.config.get("dynamic_bias"):
            self.basis = self.pairs(net.p("bias_basis")).flatten(2)
        if relations is not None and net.config.get("relations"):
            # [n, slots, slots, 28]
            by_row = (self.slots @ relations.flatten(2)).view(n, PIECE_TOKENS, 64, -1)
            by_row = by_row.transpose(1, 2).reshape(n, 64, -1)
            picked = (self.slots @ by_row).view(n, PIECE_TOKENS, PIECE_TOKENS, -1).transpose(1, 2)
            tables = torch.cat([net.p(f"block{i}.relations") for i in range(blocks)]).to(kind)
            biases = (picked @ tables.t()).permute(0, 3, 1, 2)
            self.relations = biases.reshape(n, blocks, self.heads, PIECE_TOKENS, PIECE_TOKENS)

    def pairs(self, tables):
        """Entries of `[m, 64, 64]` tables for the slots' squares, `[n, m, slots, slots]`."""
        n, m = self.slots.shape[0], tables.shape[0]
        rows = tables.to(self.net.kind).permute(1, 0, 2).reshape(64, m * 64)
        by_query = (self.slots @ rows).view(n, PIECE_TOKENS, m, 64).transpose(1, 2)
        return by_query @ self.back[:, None]

    def gather(self, x):
        return self.slots @ x

    def scatter(self, x):
        return self.back @ x

    def static(self, i):
        return self.statics[:, i] + self.absent

    def dynamic(self, mix):
        return (mix @ self.basis).view(-1, self.heads, PIECE_TOKENS, PIECE_TOKENS)

    def related(self, i):
        return self.relations[:, i]


def begin(config, seed, kind=torch.bfloat16):
    """A network with the initial values of `nn/src/net/layout.rs`, drawn by PyTorch."""
    net = Net(config, kind)
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, shape in shapes(config):
            p = net.p(name)
            if name.endswith(".gamma"):
                p.fill_(1.0)
            elif name == "legality.bias":
                p.fill_(-4.0)
            elif name.startswith("embed."):
                p.normal_(0.0, 0.5, generator=draw)
            elif name == "action.promotion":
                p.normal_(0.0, 0.1, generator=draw)
            elif name.endswith(".weight") and not name.endswith((".out.weight", ".down.weight")):
                p.normal_(0.0, shape[0] ** -0.5, generator=draw)
    return net


def key(name):
    """A parameter's name without dots."""
    return name.replace(".", "-")


def load(path, kind=torch.bfloat16):
    """The network in a file of ours; of several players the first one."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    facts = header.pop("__metadata__")
    config = json.loads(facts["config"])
    config.pop("players", None)
    net = Net(config, kind)
    with torch.no_grad():
        for name in net.names:
            begin, end = header[name]["data_offsets"]
            kind_of = {"F16": torch.float16, "F32": torch.float32}[header[name]["dtype"]]
            values = torch.frombuffer(bytearray(data[8 + length + begin:8 + length + end]), dtype=kind_of)
            net.p(name).copy_(values.float().view(net.p(name).shape))
    return net


def save(path, config, tensors):
    """Writes `tensors`, by name in the order of [`shapes`], as a network file of 16-bit numbers."""
    header, body, digest = {}, b"", hashlib.sha256()
    for name, shape in shapes(config):
        data = tensors[name].detach().float().cpu().to(torch.float16).contiguous().numpy().tobytes()
        header[name] = {"dtype": "F16", "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
        digest.update(data)
    header["__metadata__"] = {
        "format": "mavka-network", "version": "1", "config": json.dumps(config), "sha256": digest.hexdigest()}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    temporary = f"{path}.part"
    with open(temporary, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)
    os.replace(temporary, path)
