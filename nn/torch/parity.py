"""Writes the answers that `nn/src/net/module/torch.rs` expects of burn and of the CPU's kernels: `python3 parity.py FOLDER RECORDS`.

`FOLDER` gets a small network with random values in which every part is present (`network.safetensors`), the first
records of `RECORDS` (`records.bin`), and all logits in single precision (`answers.bin`, little-endian: per record policy
and action values of its moves, value, result, terminal, legality, promotes, transition)."""

import os
import sys

import numpy as np
import torch

import model
import records

COUNT = 4
SIZES = {
    "width": 16, "layers": 3, "heads": 2, "ffn": 24, "policy_dim": 8, "action_dim": 8, "legality_dim": 8,
    "value_channels": 2, "value_hidden": 8, "dynamic_bias": {"channels": 2, "hidden": 4, "rank": 2},
    "piece_blocks": 2, "relations": True, "policy_in_actions": True, "transition_marks": True,
}


def main():
    folder, path = sys.argv[1:]
    kind = torch.float32
    net = model.begin(SIZES, 1, kind)
    draw = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name in net.names:
            # Rounded as the file stores them; no part starts without effect.
            p = net.p(name)
            p.add_(0.3 * torch.randn(p.shape, generator=draw)).copy_(p.half().float())
    model.save(os.path.join(folder, "network.safetensors"), SIZES, {name: net.p(name) for name in net.names})
    data = np.fromfile(path, np.uint8).reshape(-1, records.RECORD)[:COUNT]
    data.tofile(os.path.join(folder, "records.bin"))
    inputs, labels = records.decode(torch.from_numpy(data), kind, records.attack_tables("cpu", kind))
    with torch.no_grad():
        out = net(inputs)
    answers = []
    for i in range(COUNT):
        moves = int(labels["listed"][i].sum())
        answers += [out["policy"][i, :moves], out["actions"][i, :moves].flatten(), out["value"][i], out["result"][i],
                    out["terminal"][i], out["legality"][i].flatten(), out["promotes"][i], out["transition"][i].flatten()]
    torch.cat(answers).numpy().astype("<f4").tofile(os.path.join(folder, "answers.bin"))


if __name__ == "__main__":
    main()
