#!/usr/bin/env python3
"""Asks whether loom's models of mcts notice mistakes: applies each mutant of mcts.py to a copy of the crate and runs them.
Mistakes that one thread shows are made by cargo-mutants: cargo mutants -p mavka-mcts.

    tests/mutants/run.py [NAME...]

A mutant is killed by a model that fails, by the compiler, or by the time limit. Ends with an error if a mutant survives,
or if its text is no longer in the source. Needs Python 3.9 and what `.ci/loom` needs. The copy is compiled with few
optimisations, in a folder of its own under target/.
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
FAST = {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "1", "CARGO_PROFILE_RELEASE_INCREMENTAL": "true"}
FAILED = re.compile(r"(?m)^test (\S+) \.\.\. FAILED")


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


def verdict():
    """What became of the mutant in the copy, and which test or what else killed it."""
    env = {"RUSTFLAGS": "--cfg loom", "CARGO_TARGET_DIR": str(COPY / "target" / "loom")}
    words = ["cargo", "test", "--release", "-p", "mavka-mcts", "--lib", "loom_"]
    status, output = run([*words, "--no-run"], env, 3600)
    if status != 0:
        reasons = re.findall(r"(?m)^error.*$", output)
        return "killed", "the compiler: " + (reasons[0] if reasons else "no message")
    status, output = run(words, env, LIMIT)
    if status == 0:
        return "survived", ""
    failed = FAILED.search(output)
    return "killed", failed[1].split("::")[-1] if failed else "the time limit" if status is None else "a crash"


def main():
    names = sys.argv[1:]
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    copy_crate()
    end, by = verdict()
    if end != "survived":
        sys.exit(f"without any mutant, loom ended by {by}")
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
        end, by = verdict()
        path.write_text(source)
        killed += end == "killed"
        if end == "survived":
            wrong.append(mutant.name)
        took = time.monotonic() - start
        print(f"{end:8} {mutant.name} ({mutant.file}, {took:.0f} s): {by}", flush=True)
    print(f"{killed} of {len(chosen)} killed" + (f"; look at {', '.join(wrong)}" if wrong else ""))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
