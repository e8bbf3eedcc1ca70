#!/usr/bin/env python3
"""Whether two programs simulate the same, bit for bit: for changes of the engine's speed.

    bench/same_bits.py OLD NEW [--settings TEXT] [SCENARIO ...]

OLD and NEW are two builds of `whimbrel`. Both simulate the scenarios, by default bench/s1.toml to
s4.toml. All of `sim --json` must be equal but the wall time. Prints what differs, and the seconds
that each program took in all; exits with 1 if anything differs.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def outcome(whimbrel, scenario, settings):
    """What a run gave, without its time; the message if it cannot run."""
    command = [whimbrel, "sim", str(scenario), "--json", "--threads", "1", *settings]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return result.stderr
    outcome = json.loads(result.stdout)
    for run in outcome["runs"]:
        run.pop("wall_s", None)
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--settings", default="", help="more arguments of `whimbrel sim`")
    parser.add_argument("scenarios", nargs="*", type=Path)
    options = parser.parse_args()
    scenarios = options.scenarios or sorted(ROOT.glob("bench/s*.toml"))
    differ, took = 0, [0.0, 0.0]
    for scenario in scenarios:
        outcomes = []
        for which, whimbrel in enumerate((options.old, options.new)):
            started = time.monotonic()
            outcomes.append(outcome(whimbrel, scenario, options.settings.split()))
            took[which] += time.monotonic() - started
        if outcomes[0] != outcomes[1]:
            differ += 1
            print(f"{scenario}: different")
        elif isinstance(outcomes[0], str):
            print(f"{scenario}: does not run: {outcomes[0].strip()}")
    print(f"{len(scenarios)} scenarios, {differ} different; {took[0]:.1f} s and {took[1]:.1f} s")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
