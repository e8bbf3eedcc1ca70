#!/usr/bin/env python3
"""Points of the matrix with real packets, over QUIC and on Linux TCP, beside the simulator.

    referee/points.py --whimbrel target/release/whimbrel [--transport tcp] [--only b01,f10]

A point of the matrix is a scenario with one link; `link --scenario` emulates it. The simulator runs
it with the packets and timers of the transport, and the flow under test then sends as much as the
simulator's median run delivers: with `whimbrel send` over QUIC, or on the kernel's TCP under
`whimbrel tcp`. The other flows of a point go on until it ends. On TCP they are the kernel's if the
kernel has the algorithm (newreno, cubic, bbr), unless --neighbours is `whimbrel`.

Prints a line for each point: the median rate of both, the lowest and the highest, and the ratio of
the medians. A run is repeated, and then left out, if the emulator was late (as in linux.py) or
missed a packet. A difference is a finding, and no error: exits with 1 if a run failed or too few
runs of a point are left. Results are kept in target/referee/points.json, so an interrupted command
continues where it stopped. Needs root.

Other programs disturb it less under `nice -n -10`.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import linux_ends
import linux_runs
import points_ends
import points_paths
import points_runs
from linux_runs import Results, estimate, referee_directory, run_all
from points_runs import Flow, Run

ROOT = Path(__file__).resolve().parent.parent
# Of each class at least one; fades, noise and neighbours among them.
POINTS = "a01 a02 a04 b01 b02 c09 c13 d01 e03 f04 f10 g03 g05".split()
# What a result depends on beside the program.
MODULES = (linux_ends, linux_runs, points_ends, points_paths, points_runs)
# Real and simulated runs of a point. The share beside another flow differs by a factor of two from
# run to run, so there are more.
RUNS, SEEDS = 3, 9
RUNS_BESIDE, SEEDS_BESIDE = 7, 45


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words = lambda text: text.split(",")
    cores = os.cpu_count() or 1
    add = parser.add_argument
    add("--whimbrel", type=Path, default=ROOT / "target/release/whimbrel")
    add("--transport", type=words, default=["quic", "tcp"], help="quic, tcp (default: both)")
    add("--controller", default="whimbrel", help="of the flow under test")
    add("--only", type=words, default=POINTS, help="points, separated by commas")
    add("--runs", type=int, help=f"of a point (default: {RUNS}; beside others {RUNS_BESIDE})")
    add("--seeds", type=int, help=f"in the simulator (default: {SEEDS}; {SEEDS_BESIDE})")
    add("--neighbours", choices=["kernel", "whimbrel"], default="kernel", help="on TCP")
    add("--time-lines", type=Path, metavar="DIR", help="on TCP, a CSV of each run (see tcp)")
    add("--load", type=float, default=60 * cores, help="rate of all runs at once, Mbit/s")
    add("--again", action="store_true", help="ignore kept results")
    add("--json", action="store_true", help="print one JSON object instead of the tables")
    options = parser.parse_args()
    for transport in options.transport:
        if transport not in points_paths.TRANSPORTS:
            parser.error(f"--transport: `{transport}`; write quic, tcp or quic,tcp")
    for name in options.only:
        if not (points_paths.MATRIX / f"{name}.toml").exists():
            parser.error(f"--only: there is no point `{name}` in {points_paths.MATRIX}")
    options.whimbrel = options.whimbrel.resolve()
    if options.time_lines:
        options.time_lines.mkdir(parents=True, exist_ok=True)
        options.time_lines = options.time_lines.resolve()
    return options


class Row:
    """A point over a transport: simulated and measured."""

    def __init__(self, name, transport, simulated, runs):
        self.name, self.transport, self.simulated = name, transport, simulated
        made = [run for run in runs if run]
        self.failed = sorted({run["failed"] for run in made if "failed" in run})
        self.spoiled = sorted({run["spoiled"] for run in made if "spoiled" in run})
        good = [run for run in made if not {"failed", "spoiled"} & run.keys()]
        self.real = [run["mbps"] for run in good]
        self.others = [run["others_mbps"] for run in good if "others_mbps" in run]

    def ratio(self):
        return statistics.median(self.real) / statistics.median(self.simulated.mbps)

    def is_near(self):
        return bool(self.real) and abs(self.ratio() - 1) <= 0.1

    def text(self):
        if not self.real:
            return f"{self.name:5} not measured"
        both = "  ".join(f"{spread(of):>21}" for of in (self.simulated.mbps, self.real))
        line = f"{self.name:5} {both}  {self.ratio():5.2f}  {len(self.real):4}"
        if self.others and any(self.simulated.others_mbps):
            rates = [statistics.median(of) for of in (self.simulated.others_mbps, self.others)]
            line += f"  {rates[0]:5.1f} {rates[1]:5.1f}"
        return line

    def record(self):
        return {
            "point": self.name,
            "transport": self.transport,
            "bytes": self.simulated.size,
            "simulated_mbps": self.simulated.mbps,
            "simulated_others_mbps": self.simulated.others_mbps,
            "real_mbps": self.real,
            "real_others_mbps": self.others,
            "ratio": self.ratio() if self.real else None,
            "failed": self.failed,
            "spoiled": self.spoiled,
        }


def spread(values):
    """Median, minimum and maximum."""
    ends = f"({min(values):.2f}..{max(values):.2f})"
    return f"{statistics.median(values):.2f} {ends}"


def show(rows, options):
    for transport in options.transport:
        print(f"\n{options.controller} over {transport.upper()}, Mbit/s: median (lowest..highest)")
        print("point             simulated                   real  ratio  runs  others: sim., real")
        of = [row for row in rows if row.transport == transport]
        for row in of:
            print(row.text())
        near = sum(row.is_near() for row in of)
        print(f"{near} of {len(of)} within 10 % of the simulator")


def main():
    options = arguments()
    before = os.getloadavg()[0]
    file = referee_directory() / "points.json"
    parts = [module.__file__ for module in MODULES]
    results = Results(file, options.whimbrel, options.again, parts)
    with tempfile.TemporaryDirectory() as scratch:
        cases, runs = [], []
        for transport in options.transport:
            flow = Flow(transport, options.controller, options.neighbours)
            for name in options.only:
                point = points_paths.point(name, options.controller)
                count = options.runs or (RUNS_BESIDE if point.others else RUNS)
                seeds = options.seeds or (SEEDS_BESIDE if point.others else SEEDS)
                simulated = points_paths.simulate(
                    options.whimbrel, point, transport, seeds, scratch
                )
                lines = options.time_lines if transport == "tcp" else None
                mine = [
                    Run(options, scratch, point, flow, simulated, seed + 1, lines)
                    for seed in range(count)
                ]
                cases.append((name, transport, simulated, mine))
                for run in mine:
                    kept = results.get("linux", run.point, flow, run.seed)
                    if kept is None or "failed" in kept or "spoiled" in kept:
                        runs.append(run)
        minutes = estimate(runs, len(runs), options.load) / 60
        print(f"{len(runs)} runs, about {minutes:.0f} min", file=sys.stderr)
        run_all(runs, results, len(runs), options.load)
    rows = []
    for name, transport, simulated, mine in cases:
        made = [results.get("linux", run.point, run.contestant, run.seed) for run in mine]
        rows.append(Row(name, transport, simulated, made))
    if options.json:
        print(json.dumps({"load_before": before, "points": [row.record() for row in rows]}))
    else:
        show(rows, options)
    wrong = [f"{r.transport} {r.name}: {why}" for r in rows for why in r.failed + r.spoiled]
    for text in wrong:
        print(f"wrong: {text}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
