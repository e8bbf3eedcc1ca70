#!/usr/bin/env python3
"""Runs the decoders of crates/fuzz under libFuzzer, one after the other.

    make fuzz [TARGETS='message pack'] [SECONDS=60] [MERGE=1]
    bench/fuzz.py --fuzz PROGRAM [--seconds 60] [--rounds 1] [--merge] [--table] [TARGET ...]

Begins with the inputs in crates/fuzz/corpora and those of earlier runs, which are kept in
target/fuzz/inputs. Prints a line for each decoder: executions in this run and in all, the inputs
that are kept, and what failed. An input on which a decoder fails is kept in target/fuzz/failures.
Fails if a decoder did. With --merge, adds what reaches new code to the corpora, for each decoder at
most 12 inputs that take 4 KB. With --table, prints the counts of all runs as docs/fuzzing.md has
them.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPORA = ROOT / "crates/fuzz/corpora"
STATE = ROOT / "target/fuzz"
# Longest input, bytes; seconds and MB that one may take.
LONGEST, SECONDS, MEMORY = 4096, 10, 2048
# Inputs that a merge adds to a corpus at most: their number, the longest, and all, bytes.
MOST, LONGEST_KEPT, ALL_KEPT = 12, 512, 4096


def folder(*names):
    """A folder below that of the state, which is made."""
    path = STATE.joinpath(*names)
    path.mkdir(parents=True, exist_ok=True)
    return path


def engine(program, target, *arguments):
    """Runs libFuzzer. Returns whether it ended well, and its messages."""
    done = subprocess.run(
        [
            program,
            f"-timeout={SECONDS}",
            f"-rss_limit_mb={MEMORY}",
            f"-artifact_prefix={folder('failures', target)}/",
            *map(str, arguments),
        ],
        env=dict(os.environ, FUZZ_TARGET=target),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    return done.returncode == 0, done.stderr.decode(errors="replace")


def run(program, target, seconds):
    """Looks for inputs for so long. Returns executions and what failed."""
    well, messages = engine(
        program,
        target,
        f"-max_len={LONGEST}",
        f"-max_total_time={seconds}",
        "-print_final_stats=1",
        folder("inputs", target),
        CORPORA / target,
    )
    found = re.search(r"stat::number_of_executed_units:\s*(\d+)", messages)
    # libFuzzer prints no statistics when a decoder fails, but its last line of progress.
    progress = re.findall(r"^#(\d+)\s", messages, re.MULTILINE) or ["0"]
    executions = int(found.group(1) if found else progress[-1])
    if well:
        return executions, None
    reasons = re.findall(r"panicked at .*|ERROR: libFuzzer: .*", messages)
    return executions, reasons[0] if reasons else messages[-500:]


def merge(program, target):
    """Adds to the corpus what reaches new code."""
    corpus = CORPORA / target
    with tempfile.TemporaryDirectory() as fewest:
        well, messages = engine(
            program,
            target,
            "-set_cover_merge=1",
            f"-max_len={LONGEST_KEPT}",
            fewest,
            corpus,
            folder("inputs", target),
        )
        if not well:
            sys.exit(messages[-500:])
        there = {path.read_bytes() for path in corpus.iterdir()}
        size = count = 0
        # The longest reach most.
        contents = {path.read_bytes() for path in pathlib.Path(fewest).iterdir()} - there
        for content in sorted(contents, key=lambda content: (-len(content), content)):
            if count < MOST and size + len(content) <= ALL_KEPT:
                name = hashlib.sha1(content).hexdigest()[:16]
                (corpus / name).write_bytes(content)
                size, count = size + len(content), count + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fuzz", required=True, type=pathlib.Path, help="the program")
    parser.add_argument("--seconds", type=int, default=60, help="time for each decoder")
    parser.add_argument("--rounds", type=int, default=1, help="how often all have their time")
    parser.add_argument("--merge", action="store_true", help="add to the corpora")
    parser.add_argument("--table", action="store_true", help="print the counts of all runs")
    parser.add_argument("targets", nargs="*", help="decoders; all by default")
    args = parser.parse_args()
    program = args.fuzz.resolve()
    remembered = folder() / "executions.json"
    totals = json.loads(remembered.read_text()) if remembered.exists() else {}
    if args.table:
        for target, total in totals.items():
            print(f"| `{target}` | {total:,} |")
        print(f"| all | {sum(totals.values()):,} |")
        return
    targets = args.targets or sorted(path.name for path in CORPORA.iterdir())
    failed = False
    for target in targets * args.rounds:
        executions, why = run(program, target, args.seconds)
        totals[target] = totals.get(target, 0) + executions
        remembered.write_text(json.dumps(totals, indent=1))
        inputs = sum(1 for _ in folder("inputs", target).iterdir())
        print(
            f"{target:14} {executions:12,} executions, {totals[target]:14,} in all, "
            f"{inputs:5} inputs{': ' + why if why else ''}",
            flush=True,
        )
        failed = failed or why is not None
    if args.merge:
        for target in targets:
            merge(program, target)
    print(f"{sum(totals.values()):,} executions in all")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
