#!/usr/bin/env python3
"""Writes the licence texts of every crate that is compiled into mavka, or a list of these crates.

    .ci/licences.py [TARGET] > LICENCES.txt
    .ci/licences.py --sbom [TARGET] > mavka.cdx.json

asks `cargo tree` which crates the executable is made of (on TARGET, such as x86_64-pc-windows-msvc, or on this system),
and copies the licence files that each of them ships. Crates with the same text share it; those without one are named
with their authors. Ends with an error if a crate names no licence. The list (SBOM) is CycloneDX's, with the checksums of
Cargo.lock. MAVKA_FEATURES are the features of the build, `gpu` by default.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

LICENCE = re.compile(r"(licen[cs]e|copying|unlicense|notice|copyright)", re.IGNORECASE)


def ask(*words):
    return subprocess.run(["cargo", *words], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def compiled_in(target):
    """The packages that a release is linked from, without tools of its build."""
    features = os.environ.get("MAVKA_FEATURES", "gpu")
    words = ["tree", "--locked", "-p", "mavka", "--features", features, "-e", "normal,no-proc-macro", "--prefix", "none", "-f", "{p}"]
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


def terms(package):
    found = package["license"] or ("see its text" if package["license_file"] else None)
    return found or sys.exit(f"{package['name']} {package['version']} names no licence")


def list_of_crates(packages):
    """A CycloneDX document without a time or a serial number: the same list is the same text."""
    lock = tomllib.loads(Path("Cargo.lock").read_text(encoding="utf-8"))["package"]
    checksums = {(crate["name"], crate["version"]): crate.get("checksum") for crate in lock}
    version = next(crate["version"] for crate in lock if crate["name"] == "mavka")

    def component(package):
        name, version = package["name"], package["version"]
        found = {"type": "library", "name": name, "version": version, "purl": f"pkg:cargo/{name}@{version}"}
        found["bom-ref"] = found["purl"]
        # Cargo's older form of `OR`.
        expression = terms(package).replace("/", " OR ")
        found["licenses"] = [{"expression": expression}] if package["license"] else [{"license": {"name": expression}}]
        if checksum := checksums[name, version]:
            found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return found

    itself = {"type": "application", "name": "mavka", "version": version, "licenses": [{"expression": "GPL-3.0-or-later"}]}
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": itself}}
    return json.dumps(document | {"components": [component(package) for package in packages]}, indent=1)


def main():
    sys.stdout.reconfigure(encoding="utf-8")
    words = [word for word in sys.argv[1:] if word != "--sbom"]
    packages = compiled_in(words[0] if words else None)
    if "--sbom" in sys.argv:
        return print(list_of_crates(packages))
    by_text = {}
    print(f"Mavka is made of {len(packages)} crates of others. Their licences:\n")
    for package in packages:
        name = f"{package['name']} {package['version']}"
        found = texts(package)
        by = ", ".join(package["authors"]) or package["repository"] or "its authors"
        print(f"{name}: {terms(package)}" + ("" if found else f" (no text; by {by})"))
        for text in found:
            by_text.setdefault(text, []).append(name)
    for text, names in by_text.items():
        print(f"\n{'=' * 80}\n{', '.join(names)}\n\n{text}")


main()
