#!/usr/bin/env python3
"""Asks whether mcts's tests notice mistakes: applies each mutant of mcts.py to a copy of the crate and runs the tests.

    tests/mutants/run.py [NAME...]

A mutant is killed by a test that fails, by the compiler, or by the time limit. Those that only another order of two
threads can show are run by loom's models instead. Ends with an error if a mutant survives that mcts.py does not
accept, or if its text is no longer in the source. Needs Python 3.9 and what `cargo test -p mavka-mcts` and `.ci/loom`
need. The copy is compiled with few optimisations, in a folder of its own under target/: half an hour for all.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from mcts import MUTANTS

ROOT = Path(__file__).resolve().parent.parent.parent
COPY = ROOT / "target" / "mutants"
# Seconds for the tests of one mutant; those of the crate itself take about ten.
LIMIT = float(os.environ.get("MUTANT_LIMIT", "120"))
# The test of the optimiser's work needs a build without these settings.
FAST = {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "1", "CARGO_PROFILE_RELEASE_INCREMENTAL": "true"}
FAILED = re.compile(r"(?m)^test (\S+) \.\.\. FAILED")
SKIP = ["--skip", "memory_is_touched_only_where_the_tree_grows"]


def copy_crate():
    """The crate as a workspace of its own, so that nothing else is compiled."""
    COPY.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(COPY / "mcts", ignore_errors=True)
    # With new times: cargo would take the last mutant's build for that of older files.
    shutil.copytree(ROOT / "mcts", COPY / "mcts", copy_function=shutil.copy)
    shutil.copy(ROOT / "Cargo.lock", COPY)
    manifest = (ROOT / "Cargo.toml").read_text()
    manifest = re.sub(r"(?m)^members = .*$", 'members = ["mcts"]', manifest)
    manifest = re.sub(r"(?m)^default-members = .*$", "", manifest)
    (COPY / "Cargo.toml").write_text(manifest)


def run(command, env, limit):
    """Exit status and output; None in place of the status if the limit or a failed test ended it."""
    process = subprocess.Popen(
        command,
        cwd=COPY,
        env={**os.environ, **FAST, "CARGO_TERM_COLOR": "never", "RUST_BACKTRACE": "0", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    timer = threading.Timer(limit, os.killpg, [process.pid, signal.SIGKILL])
    timer.start()
    lines = []
    for line in process.stdout:
        lines.append(line)
        if FAILED.match(line):
            os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    timer.cancel()
    return status if status >= 0 else None, "".join(lines)


def verdict(loom):
    """What became of the mutant in the copy, and which test or what else killed it."""
    env, words = {}, ["cargo", "test", "--release", "-p", "mavka-mcts", "--lib"]
    if loom:
        env = {"RUSTFLAGS": "--cfg loom", "CARGO_TARGET_DIR": str(COPY / "target" / "loom")}
        words.append("loom_")
    status, output = run([*words, "--no-run"], env, 3600)
    if status != 0:
        reasons = re.findall(r"(?m)^error.*$", output)
        return "killed", "the compiler: " + (reasons[0] if reasons else "no message")
    status, output = run([*words, "--", *SKIP], env, LIMIT)
    if status == 0:
        return "survived", ""
    failed = FAILED.search(output)
    return "killed", failed[1].split("::")[-1] if failed else "the time limit" if status is None else "a crash"


def main():
    names = sys.argv[1:]
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    copy_crate()
    for loom in sorted({mutant.loom for mutant in chosen}):
        end, by = verdict(loom)
        if end != "survived":
            sys.exit(f"without any mutant, {'loom' if loom else 'the tests'} ended by {by}")
    killed, wrong = 0, []
    for mutant in chosen:
        path = COPY / "mcts" / "src" / mutant.file
        source = path.read_text()
        if source.count(mutant.old) != 1:
            print(f"stale    {mutant.name}: its text is not in {mutant.file}, or not once", flush=True)
            wrong.append(mutant.name)
            continue
        start = time.monotonic()
        path.write_text(source.replace(mutant.old, mutant.new))
        end, by = verdict(mutant.loom)
        path.write_text(source)
        killed += end == "killed"
        if end == "survived" and not mutant.accepted:
            wrong.append(mutant.name)
        why = by or (f"accepted: {mutant.accepted}" if mutant.accepted else "NOT ACCEPTED")
        took = time.monotonic() - start
        print(f"{end:8} {mutant.name} ({mutant.file}, {took:.0f} s): {why}", flush=True)
    print(f"{killed} of {len(chosen)} killed" + (f"; look at {', '.join(wrong)}" if wrong else ""))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
