"""Packs a training for a rented machine without network: `python3 pack.py --out FOLDER --config CONFIG.json ... DATA ...`,
in the repository, after `cargo build --release -p mavka-train --example records`.

`FOLDER/1`, `FOLDER/2`, ... are the parts to carry there, none above `--limit` MiB: first what a run needs to begin (the
program `records`, the scripts, held-out records, configurations, networks), with as much data as fits, then the rest.
Run `bash 1/start.sh SECONDS` there, `bash K/more.sh` for each further part while it compiles, `bash 1/end.sh OUT` to wait
and collect. A source joins when its part is there."""

import argparse
import json
import lzma
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDS = "target/release/examples/records"
MIB = 1 << 20


def held_out(command, path):
    with lzma.open(path, "wb", preset=6) as file:
        file.write(subprocess.run([RECORDS, *command], check=True, stdout=subprocess.PIPE).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--config", required=True, help="of the network, its loss and the kinds of examples")
    parser.add_argument("--init", help="the network to begin with")
    parser.add_argument("--teacher", help="the network to learn from")
    parser.add_argument("--puzzles", help="CSV")
    parser.add_argument("--positions", type=int, default=10000, help="held-out positions of each file")
    parser.add_argument("--limit", type=float, default=60.0, help="MiB of a part")
    parser.add_argument("--train", default="", help="further arguments of train.py")
    parser.add_argument("data", nargs="+", help="FILE=SHARE")
    args = parser.parse_args()
    first = os.path.join(args.out, "1")
    shutil.rmtree(args.out, ignore_errors=True)
    os.makedirs(first)
    for name in ("model.py", "records.py", "train.py", "measure.py", "rent/start.sh", "rent/end.sh"):
        shutil.copy(os.path.join(HERE, "..", name), first)
    shutil.copy(RECORDS, first)
    subprocess.run(["strip", os.path.join(first, "records")], check=True)
    with open(args.config) as file:
        config = json.load(file)
    for option, name in (("init", "init.safetensors"), ("teacher", "teacher.safetensors")):
        if getattr(args, option):
            shutil.copy(getattr(args, option), os.path.join(first, name))
    sources, measured, data = [], [], []
    for spec in args.data:
        path, share = spec.rsplit("=", 1)
        name = os.path.basename(path).split(".")[0]
        held_out(["held-out", path, str(args.positions)], os.path.join(first, f"held_{name}.bin.xz"))
        measured.append(name)
        sources.append(f"--source {name}.json={share}")
        data.append((os.path.getsize(path), path, name))
    if args.puzzles:
        held_out(["puzzles", args.puzzles], os.path.join(first, "held_puzzles.bin.xz"))
        measured.append("puzzles")
    with open(os.path.join(first, "config.json"), "w") as file:
        json.dump({**config, "data": []}, file, indent=1)
    words = ["--config config.json", *sources, *(f"--held-out {name}=held_{name}.bin" for name in measured)]
    words += ["--init init.safetensors"] if args.init else []
    words += ["--teacher teacher.safetensors"] if args.teacher else []
    with open(os.path.join(first, "arguments"), "w") as file:
        file.write(" ".join([*words, args.train]) + "\n")
    sizes = [sum(os.path.getsize(os.path.join(first, name)) for name in os.listdir(first))]
    for size, path, name in sorted(data, reverse=True):
        part = next((i for i, used in enumerate(sizes) if used + size < args.limit * MIB), len(sizes))
        if part == len(sizes):
            sizes.append(0)
        sizes[part] += size
        folder = os.path.join(args.out, str(part + 1))
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.join(HERE, "more.sh"), folder)
        shutil.copy(path, folder)
        with open(os.path.join(folder, f"{name}.json"), "w") as file:
            json.dump({**config, "data": [[os.path.basename(path), 1.0]]}, file, indent=1)
    for part, size in enumerate(sizes):
        warning = ", above the limit" if size > args.limit * MIB else ""
        print(f"{args.out}/{part + 1}: {size / MIB:.1f} MiB{warning}")


if __name__ == "__main__":
    main()
