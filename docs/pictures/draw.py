#!/usr/bin/env python3
"""Draws pictures of README and the book again, as pictures.toml says: draw.py PICTURE..., or --older for all that are older
than their data. Python 3.11 or newer."""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs/pictures/pictures.toml"


def main():
    pictures = tomllib.loads(TABLE.read_text())
    wanted = sys.argv[1:]
    if wanted == ["--older"]:
        wanted = [name for name, picture in pictures.items() if any(sum_of(path) != known for path, known in picture["data"])]
    elif not wanted:
        sys.exit(f"{__doc__}\nPictures: {', '.join(pictures)}")
    for name in wanted:
        if name not in pictures:
            sys.exit(f"{name} is none of {', '.join(pictures)}")
        draw(name, pictures[name])


def draw(name, picture):
    # The data are summed first: what changes meanwhile makes the picture older.
    sums = [(path, known, sum_of(path)) for path, known in picture["data"]]
    with tempfile.TemporaryDirectory() as run:
        new = pathlib.Path(run) / ("new" + pathlib.Path(name).suffix)
        environment = os.environ | {"PATH": f"{ROOT}/target/release:{os.environ['PATH']}", "RUN": run}
        command = picture["draw"].replace("{}", str(new))
        done = subprocess.run(["bash", "-euxc", command], cwd=ROOT, env=environment)
        if done.returncode or not new.exists():
            sys.exit(f"{name} was not drawn")
        (ROOT / name).write_bytes(new.read_bytes())
    head, section = TABLE.read_text().split(f'["{name}"]\n')
    for path, known, current in sums:
        section = section.replace(f'["{path}", "{known}"]', f'["{path}", "{current}"]', 1)
    TABLE.write_text(f'{head}["{name}"]\n{section}')


def sum_of(path):
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]


main()
