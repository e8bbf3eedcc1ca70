#!/usr/bin/env python3
"""Compares the preset `ns-2.35` with ns-2.35 itself at 0 to 20 % of loss.

ns2.tcl is the experiment in ns-2, ns2.toml in Whimbrel. Exits with 1 if a point differs by more
than the tolerance and two standard errors. Needs Python 3's standard library, and ns-2.35
(`apt-get install ns2` on Debian).

    referee/ns2.py            the table: NewReno, Reno and SACK, ten flows and one
    referee/ns2.py --linux    beside it ns-2's Agent/TCP/Linux: CUBIC, YeAH, Westwood+, Veno, Reno
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOSSES = [0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2]

# Whimbrel's controller and recovery, ns-2's agent, sink and algorithm.
OWN = [
    ("newreno", "newreno", "Newreno", "plain", "-"),
    ("reno", "newreno", "Reno", "plain", "-"),
    ("newreno", "sack", "Sack1", "Sack1", "-"),
]
# ns-2's window of these agents is not limited by `window_`, and its SACK repairs lost
# retransmissions, as RACK does.
LINUX = [
    ("newreno", "rack", "Linux", "Sack1", "reno"),
    ("cubic?beta=0.8&hystart=false", "rack", "Linux", "Sack1", "cubic"),
    ("yeah", "rack", "Linux", "Sack1", "yeah"),
    ("westwood-plus?linux=true", "rack", "Linux", "Sack1", "westwood"),
    ("veno", "rack", "Linux", "Sack1", "veno"),
]


def ns2_run(case, flows, loss, seed):
    """Mean goodput of the flows in Mbit/s, and their mean number of timeouts."""
    _, _, agent, sink, algorithm = case
    command = ["ns", HERE / "ns2.tcl", agent, sink, algorithm, str(flows), str(loss), str(seed)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    lines = [line.split() for line in run.stdout.splitlines() if line.startswith("flow ")]
    if len(lines) != flows:
        sys.exit(f"ns-2 failed: {' '.join(map(str, command))}\n{run.stdout}{run.stderr}")
    goodput = statistics.fmean(float(line[1]) for line in lines) / 1e6
    return goodput, statistics.fmean(int(line[2]) for line in lines)


def whimbrel_runs(binary, case, flows, seeds):
    """{loss: [(goodput in Mbit/s, timeouts), one per seed]}"""
    controller, recovery, *_ = case
    text = (HERE / "ns2.toml").read_text()
    changes = [("seeds = 8", f"seeds = {seeds}"), ("[run]", f'[run]\nrecovery = "{recovery}"')]
    if flows == 1:
        changes += [
            ("count = 10", "count = 1"),
            ('rate = "1 Mbit/s"', 'rate = "15 Mbit/s"'),
            ('delay = "10 ms"', 'delay = "20 ms"'),
        ]
    for old, new in changes:
        if text.count(old) != 1:
            sys.exit(f"ns2.toml must contain '{old}' exactly once")
        text = text.replace(old, new)
    losses = ", ".join(f'"{loss * 100:g} %"' for loss in LOSSES)
    text += f'\n[sweep]\n"flow.controller" = ["{controller}"]\n"link.L.loss" = [{losses}]\n'
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        command = [binary, "sim", file.name, "--json"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"whimbrel failed: {answer.stderr}")
    points = {loss: [] for loss in LOSSES}
    for run in json.loads(answer.stdout)["runs"]:
        loss = float(run["parameters"]["link.L.loss"].split()[0]) / 100
        goodput = statistics.fmean(flow["goodput_bps"] for flow in run["flows"]) / 1e6
        timeouts = statistics.fmean(flow["timeouts"] for flow in run["flows"])
        points[loss].append((goodput, timeouts))
    return points


def column(runs, which):
    """Mean and standard error of one of the two measures."""
    values = [run[which] for run in runs]
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return statistics.fmean(values), error


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whimbrel", default="target/release/whimbrel", help="the command")
    parser.add_argument("--linux", action="store_true", help="ns-2's Agent/TCP/Linux beside it")
    parser.add_argument("--flows", type=int, choices=[1, 10], help="only one or ten flows")
    parser.add_argument("--seeds", type=int, default=8, help="runs of each point (default: 8)")
    parser.add_argument("--tolerance", type=float, default=0.1, help="default: 0.1")
    parser.add_argument("--jobs", type=int, default=2, help="runs of ns-2 at once")
    arguments = parser.parse_args()
    if shutil.which("ns") is None:
        sys.exit("ns-2.35 is missing: `apt-get install ns2` (Debian 12)")
    failed = False
    head = "flows | controller | ns-2 | loss % | ns-2, Mbit/s | Whimbrel, Mbit/s | ratio | timeouts"
    print(f"| {head} |")
    print("| --- " * 8 + "|")
    for flows in [arguments.flows] if arguments.flows else [10, 1]:
        for case in OWN + (LINUX if arguments.linux else []):
            ours = whimbrel_runs(arguments.whimbrel, case, flows, arguments.seeds)
            for loss in LOSSES:
                seeds = range(1, arguments.seeds + 1)
                with ThreadPoolExecutor(arguments.jobs) as pool:
                    theirs = list(pool.map(lambda seed: ns2_run(case, flows, loss, seed), seeds))
                (a, a_error), (b, b_error) = column(theirs, 0), column(ours[loss], 0)
                ratio = b / a
                error = ratio * ((a_error / a) ** 2 + (b_error / b) ** 2) ** 0.5
                name = case[2] if case[4] == "-" else f"{case[2]}, {case[4]}"
                off = abs(ratio - 1) > arguments.tolerance + 2 * error
                failed |= off and case in OWN
                mark = "*" if off else ""
                timeouts = f"{column(theirs, 1)[0]:.1f}, {column(ours[loss], 1)[0]:.1f}"
                print(
                    f"| {flows} | `{case[0]}` | {name} | {loss * 100:g} | {a:.3f} | {b:.3f} "
                    f"| {ratio:.2f} ± {error:.2f}{mark} | {timeouts} |",
                    flush=True,
                )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
