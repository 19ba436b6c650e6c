"""Measures network files on held-out records: `python3 measure.py --held-out NAME=FILE ... NETWORK ...`.

`nn/train/examples/records.rs` writes the records (`held-out`, `puzzles`). The figures are those of `mavka-lab accuracy`
without its intervals; `groups` of a file of puzzles is the share solved whole by the policy."""

import argparse

import torch

import model
import records


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--held-out", action="append", required=True)
    parser.add_argument("networks", nargs="+")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    for path in args.networks:
        net = model.load(path, kind).to(device)
        tables = records.attack_tables(device, kind) if net.config.get("relations") else None
        for spec in args.held_out:
            name, file = spec.split("=", 1)
            found = records.figures(net, file, device, kind, tables)
            print(path, name, " ".join(f"{key} {value:.3f}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
