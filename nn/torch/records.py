"""What `nn/train/examples/records.rs` writes, as tensors: inputs of the network and what its heads should say."""

import queue
import subprocess
import threading

import numpy as np
import torch
import torch.nn.functional as F

MOVES = 80
RECORD = 64 + 128 + 16 + 4 * MOVES + 128
STEPS = 1024
UNKNOWN = 255


def one_hot(indices, classes, kind):
    """Rows of zeros where an index is no class."""
    return (indices.unsqueeze(-1) == torch.arange(classes, device=indices.device)).to(kind)


def table(deviation, device):
    """HL-Gauss targets of win probabilities in steps of 1/1024, `[1025, 64]` (`train/loss/buckets.rs`)."""
    value = torch.arange(STEPS + 1, dtype=torch.float64) / STEPS * 64
    edges = torch.arange(65, dtype=torch.float64)
    cdf = 0.5 * torch.erfc(-(edges[None] - value[:, None]) / deviation / 2**0.5)
    mass = cdf[:, 1:] - cdf[:, :-1]
    return (mass / (cdf[:, -1:] - cdf[:, :1])).float().to(device)


def attack_tables(device, kind):
    """What each piece class would attack from each square of an empty board, `[64, 13, 64]`; and which squares lie
    between two on a line, `[64, 4096]`."""
    reach, between = np.zeros((64, 13, 64), np.float32), np.zeros((64, 4096), np.float32)
    straight = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    diagonal = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    jumps = [(a * s, b * t) for a, b in ((1, 2), (2, 1)) for s in (1, -1) for t in (1, -1)]
    for square in range(64):
        file, rank = square % 8, square // 8
        inside = lambda f, r: 0 <= f < 8 and 0 <= r < 8
        for side in (0, 6):
            up = 1 if side == 0 else -1
            steps = {1: [(1, up), (-1, up)], 2: jumps, 6: straight + diagonal}
            for role, offsets in steps.items():
                for f, r in offsets:
                    if inside(file + f, rank + r):
                        reach[square, side + role, (rank + r) * 8 + file + f] = 1.0
            for role, lines in ((3, diagonal), (4, straight), (5, straight + diagonal)):
                for f, r in lines:
                    passed = []
                    for distance in range(1, 8):
                        x, y = file + f * distance, rank + r * distance
                        if not inside(x, y):
                            break
                        reach[square, side + role, y * 8 + x] = 1.0
                        between[passed, square * 64 + y * 8 + x] = 1.0
                        passed.append(y * 8 + x)
    return torch.from_numpy(reach).to(device, kind), torch.from_numpy(between).to(device, kind)


def relations(pieces, tables):
    """`[n, 64]` piece classes to `[n, 64, 64, 28]`, one-hot or zero: how one square's piece attacks the other's square
    (`nn/src/encode/relations.rs`), and how it is attacked."""
    reach, between = tables
    n = pieces.shape[0]
    classes = one_hot(pieces, 13, reach.dtype)
    reached = (classes.transpose(0, 1) @ reach).transpose(0, 1) > 0
    blockers = ((pieces > 0).to(reach.dtype) @ between).view(n, 64, 64)
    slides = ((pieces - 1) % 6 >= 2) & ((pieces - 1) % 6 <= 4) & (pieces > 0)
    direct = torch.where(reached & (blockers == 0), (pieces - 1)[:, :, None], -1)
    behind = torch.where(pieces <= 6, 12, 13)[:, :, None]
    attacks = torch.where(reached & (blockers == 1) & slides[:, :, None], behind, direct)
    return torch.cat([one_hot(attacks, 14, reach.dtype), one_hot(attacks.transpose(1, 2), 14, reach.dtype)], 3)


def decode(records, kind, tables=None):
    """`[n, RECORD]` bytes to (inputs, labels). With `attack_tables` the inputs have the attack relations too."""
    n = records.shape[0]
    cuts, at = {}, 0
    for name, size in [("pieces", 64), ("flags", 128), ("head", 16), ("from", MOVES), ("to", MOVES),
                       ("promotion", MOVES), ("q", MOVES), ("next", 64), ("next_flags", 64)]:
        cuts[name] = records[:, at:at + size]
        at += size
    r = {name: cut.int() for name, cut in cuts.items()}
    flags = r["flags"].view(n, 64, 2)
    flags = flags[:, :, 0] + 256 * flags[:, :, 1]
    head = r["head"]
    halfmoves, has_action, action_kind = head[:, 2], head[:, 3], head[:, 4]
    bits = (flags.unsqueeze(-1) >> torch.arange(9, device=records.device)) & 1
    rows = torch.stack([halfmoves / 100.0, has_action.float()], 1)[:, None].expand(n, 64, 2)
    squares = torch.cat([one_hot(r["pieces"], 13, kind), bits.to(kind), rows.to(kind)], 2)
    place = torch.where(bits[:, :, 3] > 0, 1, torch.where(bits[:, :, 4] > 0, 2, 0))
    marks = torch.where(action_kind[:, None] == UNKNOWN, -1, 3 * action_kind[:, None] + place)
    inputs = {
        "squares": squares,
        "from": one_hot(r["from"], 64, kind),
        "to": one_hot(r["to"], 64, kind),
        "promotion": one_hot(r["promotion"], 5, kind),
        "marks": one_hot(marks, 24, kind),
    }
    if tables is not None:
        inputs["relations"] = relations(r["pieces"], tables)
    value = head[:, 0] + 256 * head[:, 1]
    best = head[:, 7]
    listed = torch.arange(MOVES, device=records.device)[None] < head[:, 8:9]
    known = (r["q"] != UNKNOWN) & listed
    every = (known == listed).all(1) & listed.any(1)
    steps = (r["q"].clamp(max=127) * STEPS + 63) // 127
    # One value alone is the state's, which is stored finer.
    steps = torch.where(every[:, None], steps, value.clamp(max=STEPS)[:, None])
    labels = {
        "listed": listed, "known": known, "every": every, "q": r["q"] / 127.0, "steps": steps,
        "value": value, "best": best, "terminal": head[:, 5], "result": head[:, 6],
        "has_action": has_action, "next": r["next"], "next_flags": r["next_flags"],
        "pairs": r["from"] * 64 + r["to"], "from": r["from"], "promotes": (r["promotion"] > 0) & listed,
        "group": head[:, 12] + 256 * head[:, 13] + 65536 * head[:, 14],
    }
    return inputs, labels


def losses(out, y, loss, targets, teacher=None):
    """Sums over the examples of each loss, in the order of `train/loss`, and how many have its label.

    With a `teacher`'s logits, its distributions have the share `loss["trust"]` of the targets of policy, moves
    and value, and all of them where the files say nothing."""
    trust = loss.get("trust", 0.7)
    listed = y["listed"]
    n = listed.shape[0]
    never = torch.where(listed, 0.0, -1e9)
    logits = out["policy"] + never
    log_policy = F.log_softmax(logits, 1)
    top = torch.where(listed, y["q"], 0.0).amax(1, keepdim=True)
    regrets = torch.where(listed & y["every"][:, None], top - y["q"], 0.0)
    soft = F.softmax(-regrets / loss["policy_temperature"] + never, 1)
    best = one_hot(y["best"], MOVES, torch.float32)
    share = torch.where(y["every"], loss["best_share"], 1.0)[:, None]
    policy = share * best + (1.0 - share) * soft
    has_best = (y["best"] != UNKNOWN).float()
    policy = policy * has_best[:, None]
    count = y["known"].sum(1)
    action_weights = y["known"] / count.clamp(min=1)[:, None]
    action_targets = targets[y["steps"]]
    value_known = (y["value"] <= STEPS).float()
    value = targets[y["value"].clamp(max=STEPS)] * value_known[:, None]
    if teacher is not None:
        # Ended games have no moves; they are left to the rules.
        alive = listed.any(1).float()
        told = F.softmax(teacher["policy"] + never, 1) * alive[:, None]
        mixed = (1.0 - trust) * policy + trust * told
        policy = torch.where(has_best[:, None] > 0, mixed, told)
        told = F.softmax(teacher["actions"], 2)
        labelled = y["known"][:, :, None]
        action_targets = torch.where(labelled, (1.0 - trust) * action_targets + trust * told, told)
        action_weights = listed / listed.sum(1).clamp(min=1)[:, None]
        told = F.softmax(teacher["value"], 1)
        value = torch.where(value_known[:, None] > 0, (1.0 - trust) * value + trust * told, told * alive[:, None])
    actions = -(F.log_softmax(out["actions"], 2) * action_targets).sum(2)
    means = F.softmax(out["actions"], 2) @ ((torch.arange(64, device=listed.device) + 0.5) / 64)
    chosen = F.log_softmax(means / loss.get("choice_temperature", 0.02) + never, 1)
    terminal = one_hot(y["terminal"], 3, torch.float32)
    result = one_hot(y["result"], 3, torch.float32)
    truth = torch.zeros(n, 64 * 64 + 1, device=listed.device)
    truth = truth.scatter(1, torch.where(listed, y["pairs"], 4096).long(), 1.0)[:, :4096].view(n, 64, 64)
    movers = truth.amax(2)
    promoting = torch.zeros(n, 65, device=listed.device)
    promoting = promoting.scatter(1, torch.where(y["promotes"], y["from"], 64).long(), 1.0)[:, :64]
    moved = y["has_action"].float()
    pieces = F.log_softmax(out["transition"][:, :, :13], 2)
    next_pieces = one_hot(torch.where(y["has_action"][:, None] > 0, y["next"], -1), 13, torch.float32)
    next_flags = ((y["next_flags"].unsqueeze(-1) >> torch.arange(3, device=listed.device)) & 1).float()
    binary = lambda x, t: F.softplus(x) - t * x
    sums = [
        -(log_policy * policy).sum(),
        (log_policy.exp() * regrets).sum(),
        (actions * action_weights).sum(),
        -(F.log_softmax(out["value"], 1) * value).sum(),
        -(F.log_softmax(out["result"], 1) * result).sum(),
        -(F.log_softmax(out["terminal"], 1) * terminal).sum(),
        (binary(out["legality"], truth).sum() + (binary(out["promotes"], promoting) * movers).sum()) / 64,
        (-(pieces * next_pieces).sum()
         + (binary(out["transition"][:, :, 13:], next_flags) * moved[:, None, None]).sum()) / 8,
        -(chosen * policy).sum(),
    ]
    counts = [
        has_best.sum(), y["every"].sum(), (count > 0).sum(), value_known.sum(), result.sum(),
        terminal.sum(), torch.tensor(float(n), device=listed.device), moved.sum(),
        (policy.sum(1) > 0).sum(),
    ]
    return torch.stack(sums), torch.stack([c.float() for c in counts])


def figures(net, path, device, kind, tables=None, rows=1024):
    """What the network says of a file of records: share of best moves by policy and by action value, cross-entropy
    of the best move, error of the value and of the moves' values, in percent; share of groups without a fault."""
    data = np.fromfile(path, np.uint8).reshape(-1, RECORD)
    totals, groups = {}, {}

    def count(name, right, of):
        there = totals.setdefault(name, [0.0, 0.0])
        there[0] += float((right * of).sum())
        there[1] += float(of.sum())

    centres = (torch.arange(64, device=device) + 0.5) / 64
    for at in range(0, len(data), rows):
        inputs, y = decode(torch.from_numpy(data[at:at + rows]).to(device), kind, tables)
        with torch.no_grad():
            out = net(inputs)
        never = torch.where(y["listed"], 0.0, -1e9)
        has_best = (y["best"] != UNKNOWN).float()
        logits = out["policy"].float() + never
        means = F.softmax(out["actions"].float(), 2) @ centres
        right = (logits.argmax(1) == y["best"]).float()
        count("policy", right, has_best)
        count("actions", ((means + never).argmax(1) == y["best"]).float(), has_best)
        best = y["best"].long().clamp(max=MOVES - 1)[:, None]
        count("entropy", -F.log_softmax(logits, 1).gather(1, best).squeeze(1), has_best)
        value = F.softmax(out["value"].float(), 1) @ centres
        known = (y["value"] <= STEPS).float()
        count("value error", (value - y["value"] / STEPS).abs(), known)
        count("action error", (means - y["q"]).abs(), y["known"].float())
        for group, good in zip(y["group"].tolist(), right.tolist()):
            groups[group] = min(groups.get(group, 1.0), good)
    result = {name: a / max(b, 1.0) * (1.0 if name == "entropy" else 100.0) for name, (a, b) in totals.items()}
    result["groups"] = 100.0 * sum(groups.values()) / len(groups)
    return result


LOSSES = ["policy", "regret", "actions", "value", "result", "terminal", "legality", "transition", "choice"]


class Source:
    """Processes that write records, each with a seed of its own, and the blocks read from them."""

    def __init__(self, command, seeds, block=4096):
        self.blocks = queue.Queue(maxsize=4 * len(seeds))
        self.block, self.at = None, 0
        for seed in seeds:
            process = subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, bufsize=0)
            threading.Thread(target=self.read, args=(process.stdout, block), daemon=True).start()

    def read(self, pipe, block):
        while True:
            data = bytearray(block * RECORD)
            view = memoryview(data)
            while view:
                got = pipe.readinto(view)
                if not got:
                    return
                view = view[got:]
            self.blocks.put(np.frombuffer(data, np.uint8).reshape(block, RECORD))

    def take(self, n, out):
        """Fills `out`, `[n, RECORD]`."""
        done = 0
        while done < n:
            if self.block is None or self.at == len(self.block):
                self.block, self.at = self.blocks.get(), 0
            step = min(n - done, len(self.block) - self.at)
            out[done:done + step] = self.block[self.at:self.at + step]
            self.at += step
            done += step
