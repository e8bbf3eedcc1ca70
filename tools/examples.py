#!/usr/bin/env python3
"""Runs the examples in the documentation and writes what the command prints.

An example is a block ```console with `$ whimbrel ...` in its first lines, and what that prints. Those
that simulate have the same output on every machine; those that use the network have not, and are
left alone. A block that has a line `...` shows parts of the output: each part must be in it. A time
in parentheses at the end of a line is left as it is, also if the result was stored.

tools/examples.py [--check] [--whimbrel target/release/whimbrel]

With --check nothing is written, and the status is 1 if an example differs.
"""

import argparse
import difflib
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "docs/start.md", "docs/choose-a-protocol.md", "docs/simulate.md"]
# What prints the same on every machine.
COMMANDS = {"advise", "compare", "controllers", "judge", "model", "rank", "reproduce", "sim"}
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
SECONDS = re.compile(r"\(\d[\d. ]*m?s(, stored result of .*)?\)$")
# A scenario that one example prints and later ones of the page run.
SCENARIO = "path.toml"


def output(whimbrel, words, folder):
    """What a command prints, or None if it depends on the machine."""
    if words[:1] != ["whimbrel"] or words[1] not in COMMANDS:
        return None
    done = subprocess.run([whimbrel, *words[1:]], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{shlex.join(words)}: {done.stderr}")
    if "--print-scenario" in words:
        (folder / SCENARIO).write_text(done.stdout)
    return done.stdout.rstrip("\n")


def as_shown(shown, printed):
    """What the page should have, given what it has."""
    if "..." in shown.split("\n"):
        parts = [part.strip("\n") for part in re.split(r"^\.\.\.$", shown, flags=re.M)]
        return shown if all(part in printed for part in parts) else printed
    times = {SECONDS.sub("", line): line for line in shown.split("\n")}
    lines = (times.get(SECONDS.sub("", line), line) for line in printed.split("\n"))
    return "\n".join(line.rstrip() for line in lines)


def renewed(page, whimbrel):
    """The text of a page with what its examples print now."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def block(found):
            first, _, shown = found[1].rstrip("\n").partition("\n")
            while first.endswith("\\"):
                more, _, shown = shown.partition("\n")
                first += "\n" + more
            if not first.startswith("$ "):
                return found[0]
            printed = output(whimbrel, shlex.split(first[2:].replace("\\\n", " ")), folder)
            if printed is None:
                return found[0]
            return f"```console\n{first}\n{as_shown(shown, printed)}\n```"

        return BLOCK.sub(block, page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="only say what differs")
    parser.add_argument("--whimbrel", default=ROOT / "target/release/whimbrel", type=pathlib.Path)
    args = parser.parse_args()
    differs = False
    for name in PAGES:
        path = ROOT / name
        before = path.read_text()
        after = renewed(before, args.whimbrel.resolve())
        if after == before:
            continue
        differs = True
        sys.stdout.writelines(
            difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, name, n=1)
        )
        if not args.check:
            path.write_text(after)
    sys.exit(args.check and differs)


if __name__ == "__main__":
    main()
