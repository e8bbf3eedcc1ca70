#!/usr/bin/env python3
"""Negative acknowledgments on the kernel's TCP: Table 6 of the TCP-NACK paper (docs/tcp-nack.md)
through `whimbrel link`, which corrupts real packets, with and without `whimbrel tcp --nack`.

It needs root and a kernel that `whimbrel tcp` accepts, and takes 5 minutes with 3 seeds.

    sudo referee/nack.py --whimbrel target/release/whimbrel --seeds 3
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ENDS = Path(__file__).resolve().parent / "linux_ends.py"
RTT_S = 0.070
# The paper's results and the simulator's (experiments/tcp-nack/table-6.toml, the hole excused),
# Mbit/s, without and with NACKs.
PAPER = {"0.5%": (1.53, 1.79), "1%": (1.27, 1.46), "5%": (0.52, 0.74)}
SIMULATOR = {"0.5%": (2.58, 4.68), "1%": (1.68, 4.65), "5%": (0.62, 3.84)}
# Beyond the transfer itself.
MARGIN_S = 60


@dataclass
class Run:
    """One transfer."""

    corrupt: str
    nack: bool
    seed: int
    goodput: float = 0.0
    # Of the sender's connection.
    accepted: int = 0
    refused: int = 0
    retransmits: int = 0
    timeouts: int = 0
    # Packets that the path corrupted.
    corrupted: int = 0


def measure(run, options):
    """Runs one transfer: goodput is counted by the receiver."""
    with tempfile.TemporaryDirectory() as directory:
        received = os.path.join(directory, "received")
        report = os.path.join(directory, "report.json")
        path = os.path.join(directory, "path.json")
        nack = ["--nack"] if run.nack else []
        ends = [sys.executable, str(ENDS)]
        tcp = [options.whimbrel, "tcp", "--controller", options.controller, "--quiet", *nack]
        far = [*tcp, "--", *ends, "receive", received, str(options.seconds), str(RTT_S)]
        command = [
            options.whimbrel, "link", "--rate", "5Mbit/s", "--delay", "70ms", "--reverse-delay",
            "0ms", "--queue", "1000 packets", "--corrupt", run.corrupt, "--seed", str(run.seed),
            "--json", path, "--far", shlex.join(far), "--",
            *tcp, "--output", report, "--",
            *ends, "send", "-", str(options.seconds),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.seconds + MARGIN_S
        )
        if done.returncode or not os.path.exists(received):
            sys.exit(f"{shlex.join(command)}\n{done.stderr.strip()}")
        with open(received) as file:
            run.goodput = int(file.read()) * 8 / options.seconds / 1e6
        with open(report) as file:
            ended = json.load(file)
        if ended["fallbacks"] or ended["dropped_events"]:
            sys.exit(f"the run is spoiled: {ended['fallbacks']} fallbacks, "
                     f"{ended['dropped_events']} dropped events; run less beside it (--jobs)")
        connection = ended["connections"][0]
        run.accepted, run.refused = connection["nacks"], connection["nacks_refused"]
        run.retransmits, run.timeouts = connection["retransmits"], connection["timeouts"]
        with open(path) as file:
            run.corrupted = json.load(file)["forward"]["corrupted"]
    print(run, file=sys.stderr)
    return run


def mean(values):
    """Mean and standard deviation."""
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):5.2f} ± {spread:4.2f}"


def show(runs):
    """The table of docs/tcp-nack.md."""
    print("corrupted | paper           | simulator       | this kernel: without, with NACKs | gain "
          "| accepted, refused")
    for corrupt in PAPER:
        off, on = ([r for r in runs if r.corrupt == corrupt and r.nack == n] for n in (False, True))
        if not off or not on:
            continue
        gain = statistics.mean(r.goodput for r in on) / statistics.mean(r.goodput for r in off) - 1
        paper, simulator = PAPER[corrupt], SIMULATOR[corrupt]
        print(f"{corrupt:>9} | {paper[0]:.2f} -> {paper[1]:.2f}    "
              f"| {simulator[0]:.2f} -> {simulator[1]:.2f}    "
              f"| {mean([r.goodput for r in off])} -> {mean([r.goodput for r in on])}   "
              f"| {gain:+.0%} | {sum(r.accepted for r in on)}, {sum(r.refused for r in on)}")
        print(f"{'':>9} | timeouts per run: {statistics.mean(r.timeouts for r in off):.1f} -> "
              f"{statistics.mean(r.timeouts for r in on):.1f}")


def main():
    """Runs everything and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whimbrel", default="target/release/whimbrel", help="the program")
    parser.add_argument("--controller", default="tcp-nack", help="the algorithm at the sender")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each kind")
    parser.add_argument("--seconds", type=float, default=60, help="duration of a run")
    parser.add_argument("--jobs", type=int, default=6, help="runs at a time; each is mostly idle")
    parser.add_argument("--json", metavar="FILE", help="write all runs to a file")
    options = parser.parse_args()
    options.whimbrel = os.path.abspath(options.whimbrel)
    if os.geteuid() != 0:
        sys.exit("this needs root: the kernel's TCP is controlled through eBPF")
    runs = [
        Run(corrupt, nack, seed)
        for seed in range(1, options.seeds + 1)
        for corrupt in PAPER
        for nack in (False, True)
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = list(pool.map(lambda run: measure(run, options), runs))
    if options.json:
        with open(options.json, "w") as file:
            json.dump([vars(run) for run in runs], file, indent=1)
    show(runs)


if __name__ == "__main__":
    main()
