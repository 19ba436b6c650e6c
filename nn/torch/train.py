"""Trains a network on a GPU for a given time, with the losses, targets and optimiser of `nn/train/src/network`.

    python3 train.py --config run.json --init begin.safetensors --out end.safetensors --seconds 300 \
        --records ./records --source self.json=0.4 --source human.json=0.3 --source tcec.json=0.3

A source is a configuration for the example `records`, which must lie there, and its share; one whose file is not
there yet joins when it appears. With `--teacher FILE` the network learns from that one's answers too: the script
compiles, waits for the file and begins then. The rate falls in a straight line over the last `--decay` of the time."""

import argparse
import csv
import json
import os
import queue
import threading
import time

import numpy as np
import torch

import model
import records


def arguments():
    parser = argparse.ArgumentParser()
    add = parser.add_argument
    add("--config", required=True)
    add("--init", help="the network to begin with; without it, random values for the configuration's sizes")
    add("--out", required=True)
    add("--records", required=True)
    add("--source", action="append", required=True)
    add("--all-sources", action="store_true", help="wait until every source is there")
    add("--workers", type=int, default=4)
    add("--seconds", type=float, required=True)
    add("--until", type=float, default=0.0, help="Unix time by which all is written, whatever --seconds says")
    add("--batch", type=int, default=2048)
    add("--rate", type=float, required=True)
    add("--warmup", type=int, default=300, help="steps")
    add("--decay", type=float, default=0.6)
    add("--average", type=float, default=0.998)
    add("--teacher")
    add("--teacher-like", help="a network of the teacher's sizes, to compile with")
    add("--checkpoint", type=float, default=60.0)
    add("--seed", type=int, default=1)
    add("--steps", type=int, default=0, help="end after so many steps; the rate then falls by steps")
    add("--teacher-from", type=float, default=0.0, help="share of the run after which the teacher is asked")
    add("--held-out", action="append", default=[], help="NAME=FILE of records to measure at every checkpoint")
    add("--eager", action="store_true")
    return parser.parse_args()


class Optimizer:
    """Muon for the trunk's matrices, AdamW for the rest (`train/optimizer.rs`)."""

    def __init__(self, net, options):
        self.o = options
        self.muon, self.adam = [], []
        for name in net.names:
            p = net.p(name)
            matrix = name.endswith(".weight")
            if matrix and name.startswith("block"):
                self.muon.append((name, p))
            else:
                late = name == "action.policy" or name.endswith(".relations")
                self.adam.append((name, p, matrix, 10.0 if late else 1.0))
        self.first = [torch.zeros_like(p) for _, p, _, _ in self.adam]
        self.second = [torch.zeros_like(p) for _, p, _, _ in self.adam]
        self.momentum = [torch.zeros_like(p) for _, p in self.muon]
        # Matrices of one shape are orthogonalised together.
        self.groups = {}
        for i, (name, p) in enumerate(self.muon):
            parts = 3 if name.endswith("qkv.weight") else 1
            shape = (p.shape[0], p.shape[1] // parts)
            self.groups.setdefault(shape, []).extend((i, part) for part in range(parts))
        self.step_number = 0

    @torch.no_grad()
    def step(self, rate):
        o = self.o
        self.step_number += 1
        t = self.step_number
        parameters = [p for _, p in self.muon] + [p for _, p, _, _ in self.adam]
        grads = [p.grad for p in parameters]
        length = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
        clip = (o["clip"] / length.clamp(min=1e-12)).clamp(max=1.0)
        torch._foreach_mul_(grads, clip)
        split = len(self.muon)
        matrices, others = grads[:split], grads[split:]
        # AdamW.
        torch._foreach_lerp_(self.first, others, 1.0 - o["beta1"])
        torch._foreach_mul_(self.second, o["beta2"])
        torch._foreach_addcmul_(self.second, others, others, 1.0 - o["beta2"])
        roots = torch._foreach_sqrt(self.second)
        torch._foreach_div_(roots, (1.0 - o["beta2"] ** t) ** 0.5)
        torch._foreach_add_(roots, 1e-8)
        steps = torch._foreach_div(self.first, roots)
        torch._foreach_mul_(steps, [-rate * haste / (1.0 - o["beta1"] ** t) for _, _, _, haste in self.adam])
        params = [p for _, p, _, _ in self.adam]
        torch._foreach_mul_(params, [1.0 - rate * haste * o["weight_decay"] * decays
                                     for _, _, decays, haste in self.adam])
        torch._foreach_add_(params, steps)
        # Muon.
        torch._foreach_mul_(self.momentum, o["muon_momentum"])
        torch._foreach_add_(self.momentum, matrices)
        ahead = torch._foreach_mul(self.momentum, o["muon_momentum"])
        torch._foreach_add_(ahead, matrices)
        torch._foreach_mul_([p for _, p in self.muon], 1.0 - rate * o["weight_decay"])
        for (rows, cols), places in self.groups.items():
            x = torch.stack([ahead[i][:, part * cols:(part + 1) * cols] for i, part in places])
            x = orthogonal(x)
            scale = 0.2 * rate * max(rows, cols) ** 0.5
            views = [self.muon[i][1][:, part * cols:(part + 1) * cols] for i, part in places]
            torch._foreach_add_(views, list(x.unbind(0)), alpha=-scale)
        return length


def orthogonal(x):
    """Five Newton-Schulz steps for `[m, rows, cols]` (`train/muon.rs`)."""
    kind = torch.bfloat16 if x.is_cuda else torch.float32
    x = (x / (x.flatten(1).norm(dim=1)[:, None, None] + 1e-12)).to(kind)
    wide = x.shape[1] <= x.shape[2]
    x = x if wide else x.transpose(1, 2).contiguous()
    for _ in range(5):
        gram = x @ x.transpose(1, 2)
        x = 3.4445 * x + torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315) @ x
    return (x if wide else x.transpose(1, 2)).float()


def batches(args, device):
    """Batches on the device, drawn from the sources by their shares."""
    shares = [spec.rsplit("=", 1) for spec in args.source]
    open_sources = {}
    ready = queue.Queue(maxsize=6)

    def draw():
        while True:
            for number, (path, _) in enumerate(shares):
                if path not in open_sources and os.path.exists(path):
                    seeds = [args.seed * 1000 + 100 * number + w for w in range(args.workers)]
                    open_sources[path] = records.Source([args.records, path], seeds)
            present = [(open_sources[path], float(share)) for path, share in shares if path in open_sources]
            # Numbers first come from what there is, and a source that has nothing yet is left out.
            present = [(s, w) for s, w in present if s.block is not None or not s.blocks.empty()]
            if not present:
                time.sleep(0.05)
                continue
            total = sum(w for _, w in present)
            out = np.empty((args.batch, records.RECORD), np.uint8)
            at = 0
            for i, (source, share) in enumerate(present):
                end = args.batch if i + 1 == len(present) else at + round(args.batch * share / total)
                source.take(end - at, out[at:end])
                at = end
            batch = torch.from_numpy(out)
            if device.type == "cuda":
                batch = batch.pin_memory().to(device, non_blocking=True)
            ready.put(batch)

    threading.Thread(target=draw, daemon=True).start()
    return ready


def main():
    args = arguments()
    with open(args.config) as file:
        run = json.load(file)
    loss, options = run["loss"], run["optimizer"]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = True
    net = model.load(args.init, kind) if args.init else model.begin(run["network"], args.seed, kind)
    net = net.to(device)
    tables = records.attack_tables(device, kind) if net.config.get("relations") else None
    targets = records.table(loss["bucket_deviation"], device)
    weights = torch.tensor([float(loss.get(name, 0.0)) for name in records.LOSSES], device=device)
    teacher = None
    if args.teacher:
        teacher = model.load(args.teacher_like or args.teacher, kind).to(device).requires_grad_(False)

    def objective(batch, taught):
        inputs, labels = records.decode(batch, kind, tables)
        answers = None
        if taught:
            with torch.no_grad():
                answers = {name: x.detach() for name, x in teacher(inputs).items()}
        sums, counts = records.losses(net(inputs), labels, loss, targets, answers)
        return (sums * weights).sum() / batch.shape[0], sums.detach(), counts

    step_of = objective if args.eager else torch.compile(objective, fullgraph=True)
    optimizer = Optimizer(net, options)
    began = time.time()
    # Compiled before the clock starts, on a batch of zeros.
    if not args.eager:
        try:
            # With a teacher from the middle on, that step is compiled when it comes.
            empty = torch.zeros(args.batch, records.RECORD, dtype=torch.uint8, device=device)
            step_of(empty, teacher is not None and args.teacher_from == 0.0)[0].backward()
        except Exception as error:  # Slower is better than nothing on a borrowed machine.
            print(f"not compiled: {error}", flush=True)
            step_of = objective
        if device.type == "cuda":
            torch.cuda.synchronize()
        net.zero_grad(set_to_none=True)
    print(f"compiled in {time.time() - began:.1f} s", flush=True)
    if args.teacher:
        while not os.path.exists(args.teacher):
            time.sleep(0.2)
        teacher.load_state_dict(model.load(args.teacher, kind).to(device).state_dict())
    while args.all_sources and not all(os.path.exists(spec.rsplit("=", 1)[0]) for spec in args.source):
        time.sleep(0.2)
    ready = batches(args, device)
    first = ready.get()
    average = [p.detach().clone() for p in net.flat.values()]
    places = list(net.flat.keys())

    def save(path, values):
        named = dict(zip(places, values))
        model.save(path, net.config, {name: named[model.key(name)] for name in net.names})

    def measure(seconds, seen):
        """Figures of the average on held-out records; the weights are put back."""
        kept = [p.detach().clone() for p in net.flat.values()]
        with torch.no_grad():
            torch._foreach_copy_(list(net.flat.values()), average)
        for spec in args.held_out:
            name, path = spec.split("=", 1)
            if os.path.exists(path):
                found = records.figures(net, path, device, kind, tables)
                line = " ".join(f"{key} {value:.3f}" for key, value in found.items())
                print(f"held-out {args.out} {seconds:.0f} s {seen} {name}: {line}", flush=True)
        with torch.no_grad():
            torch._foreach_copy_(list(net.flat.values()), kept)

    log = open(f"{args.out}.csv", "w", newline="")
    writer = csv.writer(log)
    writer.writerow(["seconds", "examples", "rate", "length", *records.LOSSES])
    started = saved = time.time()
    seconds = args.seconds
    if args.until:
        seconds = min(seconds, args.until - started)
    seen, number, plateau_saved = 0, 0, False
    total, counted = torch.zeros(len(weights), device=device), torch.zeros(len(weights), device=device)
    # Steps are queued ahead of the device; the clock must not run ahead with them.
    pace = []
    while True:
        if device.type == "cuda":
            event = torch.cuda.Event()
            event.record()
            pace.append(event)
            if len(pace) > 3:
                pace.pop(0).synchronize()
        gone = max((time.time() - started) / seconds, number / args.steps if args.steps else 0.0)
        if gone >= 1.0:
            break
        if not plateau_saved and gone >= 1.0 - args.decay:
            save(f"{args.out}.plateau", list(net.flat.values()))
            plateau_saved = True
        fall = min(1.0, max(0.02, (1.0 - gone) / args.decay))
        rate = args.rate * min(1.0, (number + 1) / args.warmup) * fall
        value, sums, counts = step_of(first, teacher is not None and gone >= args.teacher_from)
        value.backward()
        length = optimizer.step(rate)
        net.zero_grad(set_to_none=True)
        with torch.no_grad():
            decay = min(args.average, (1 + number) / (10 + number))
            torch._foreach_lerp_(average, [p.detach() for p in net.flat.values()], 1.0 - decay)
            total += sums
            counted += counts
        number += 1
        seen += first.shape[0]
        if number % 100 == 0 or number == args.steps:
            means = (total / counted.clamp(min=1)).tolist()
            if not np.isfinite(means).all():
                print(f"no numbers after {number} steps: back to the average at half the rate", flush=True)
                with torch.no_grad():
                    torch._foreach_copy_(list(net.flat.values()), average)
                optimizer = Optimizer(net, options)
                args.rate /= 2
            row = [f"{time.time() - started:.1f}", seen, f"{rate:.2e}", f"{length.item():.3f}",
                   *[f"{m:.4f}" for m in means]]
            writer.writerow(row)
            log.flush()
            if number % 500 == 0 or number < 500:
                print(*row, flush=True)
            total.zero_()
            counted.zero_()
        if time.time() - saved > args.checkpoint:
            save(f"{args.out}.part.safetensors", average)
            measure(time.time() - started, seen)
            saved = time.time()
        first = ready.get()
    save(args.out, average)
    measure(time.time() - started, seen)
    print(f"{args.out}: {seen} examples, {seen / (time.time() - started):.0f} a second", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
