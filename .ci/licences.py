#!/usr/bin/env python3
"""Writes the licence texts of every crate that is compiled into mavka.

    .ci/licences.py [TARGET] > LICENCES.txt

asks `cargo tree` which crates the executable is made of (on TARGET, such as x86_64-pc-windows-msvc, or on this system),
and copies the licence files that each of them ships. Crates with the same text share it; those without one are named
with their authors. Ends with an error if a crate names no licence.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

LICENCE = re.compile(r"(licen[cs]e|copying|unlicense|notice|copyright)", re.IGNORECASE)


def ask(*words):
    return subprocess.run(["cargo", *words], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def compiled_in(target):
    """The packages that a release is linked from: with the feature `gpu`, and without tools of its build."""
    words = ["tree", "--locked", "-p", "mavka", "--features", "gpu", "-e", "normal,no-proc-macro", "--prefix", "none", "-f", "{p}"]
    lines = ask(*words, *(["--target", target] if target else [])).splitlines()
    linked = {tuple(line.split()[:2]) for line in lines}
    words = ["metadata", "--format-version", "1", "--locked"]
    words += ["--filter-platform", target] if target else []
    packages = json.loads(ask(*words))["packages"]
    of_others = [package for package in packages if package["source"]]
    found = [package for package in of_others if (package["name"], "v" + package["version"]) in linked]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def texts(package):
    folder = Path(package["manifest_path"]).parent
    files = {path for path in folder.iterdir() if path.is_file() and LICENCE.search(path.name)}
    if package["license_file"]:
        files.add((folder / package["license_file"]).resolve())
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in sorted(files)]


def main():
    sys.stdout.reconfigure(encoding="utf-8")
    packages = compiled_in(sys.argv[1] if len(sys.argv) > 1 else None)
    by_text = {}
    print(f"Mavka is made of {len(packages)} crates of others. Their licences:\n")
    for package in packages:
        name = f"{package['name']} {package['version']}"
        terms = package["license"] or ("see its text" if package["license_file"] else None)
        if terms is None:
            sys.exit(f"{name} names no licence")
        found = texts(package)
        by = ", ".join(package["authors"]) or package["repository"] or "its authors"
        print(f"{name}: {terms}" + ("" if found else f" (no text; by {by})"))
        for text in found:
            by_text.setdefault(text, []).append(name)
    for text, names in by_text.items():
        print(f"\n{'=' * 80}\n{', '.join(names)}\n\n{text}")


main()
