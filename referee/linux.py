#!/usr/bin/env python3
"""Compares all congestion control algorithms on the Linux kernel's TCP with the simulator.

Every run sends endless data through `whimbrel link`: the emulated path is the code of the simulated
one, TCP is the kernel's. Three comparisons:

* each algorithm of Whimbrel on the kernel's TCP with the simulator's prediction;
* Whimbrel's newreno, cubic and bbr with the kernel's own reno, cubic and bbr, on the same losses;
* the kernel's reno and cubic with the simulator at high loss, a minute each.

Needs the privileges of `whimbrel tcp` and only the standard library. Results are kept in
target/referee/linux.json, so an interrupted command continues where it stopped.

Other programs disturb it less under `nice -n -20`. Real-time priority does not serve: the kernel
stops all such programs for 50 ms of a second that they use up.

Exits with 1 if a run falls back to a kernel algorithm, loses events or fails, if the kernel logs a
warning, or if a comparison of the second or third kind is off by more than its tolerance and by
more than two standard errors, and linux_reasons.py has no reason for it. A difference from the
simulator's prediction is a finding, and no error.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import linux_page
from linux_reasons import explains_pair
from linux_runs import (
    CAUSES,
    Contestant,
    Point,
    Results,
    Run,
    estimate,
    predict,
    referee_directory,
    run_all,
)

ROOT = Path(__file__).resolve().parent.parent
# The kernel's name -> Whimbrel's. The kernel has another HyStart than HyStart++.
KERNELS = {"reno": "newreno", "cubic": "cubic", "bbr": "bbr"}
# The paths of the comparison of all algorithms: rate, RTT in ms, buffer size, and for each loss in
# % the maximum number of seeds. Without loss the seed decides nothing; at 0.1 % runs are expensive.
PATHS = [
    ("50 Mbit/s", 100, "1 bdp", {0: 2, 0.1: 3, 1: 10}),
    ("20 Mbit/s", 46, "61 packets", {0.3: 10, 3: 10}),
]
# Short paths, for the same algorithm in the kernel and in Whimbrel.
SHORT = [
    ("50 Mbit/s", 20, "1 bdp", {0: 2, 1: 5}),
]
# The path of the kernel's own algorithms at high loss.
STRESS = ("8 Mbit/s", 140, "100 packets", [0.5, 2, 5])
STRESS_SECONDS, STRESS_SEEDS, STRESS_TOLERANCE = 60, 5, 0.15
# No more runs than make the standard error of the mean this part of the mean, by the prediction:
# fast flows use most of a processor and vary least. At least this many.
PRECISION, MINIMUM_SEEDS = 0.03, 3
# Tolerance of the same algorithm in the kernel and in Whimbrel.
PAIR_TOLERANCE = 0.1
PREDICTIONS = 200
# What a line of the kernel's log must not contain.
ALARMS = ("WARNING:", "BUG:", "Oops", "general protection fault", "refcount_t:", "soft lockup")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--whimbrel", default=str(ROOT / "target/release/whimbrel"))
    parser.add_argument(
        "--controllers", type=lambda text: text.split(","), help="only these of Whimbrel's"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=10,
        help="runs per point and algorithm, at most (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds", type=float, default=20, help="duration of a run (default: %(default)s)"
    )
    cores = os.cpu_count() or 1
    parser.add_argument(
        "--jobs", type=int, default=20 * cores, help="runs at once (default: 20 per core)"
    )
    parser.add_argument(
        "--load",
        type=float,
        default=60 * cores,
        help="predicted sending rate of all runs at once, Mbit/s (default: 60 per core)",
    )
    parser.add_argument("--again", action="store_true", help="ignore kept results")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="two algorithms, one point, a few seconds; skipped where the system does not allow it",
    )
    parser.add_argument(
        "--kept", action="store_true", help="run nothing more: show the results that are kept"
    )
    parser.add_argument("--estimate", action="store_true", help="print the time it takes, and end")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="write the result as a page")
    return parser.parse_args()


def obstacle(options):
    """Why this system cannot run an algorithm of Whimbrel's over an emulated path, if it cannot."""
    command = [options.whimbrel, "link", "--quiet", "--controller", "cerl", "--", "true"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    lines = done.stderr.strip().splitlines() or ["no reason given"]
    return lines[-1] if done.returncode else None


def contestants(options):
    """Whimbrel's algorithms that TCP can carry, and the kernel's that this kernel has."""
    command = [options.whimbrel, "controllers", "--json"]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    entries = [e for e in json.loads(output.stdout) if e["kind"] == "controller"]
    names = [e["name"] for e in entries if "tcp" in e["carried_by"]]
    names = options.controllers or (["cubic", "cerl"] if options.quick else names)
    file = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    kernels = [name for name in KERNELS if name in file.read_text().split()]
    if options.quick:
        kernels = ["cubic"] if "cubic" in kernels else kernels[:1]
    ours = [Contestant(name, False, name) for name in names]
    return ours + [Contestant(name, True, KERNELS[name]) for name in kernels]


def plan(options, everyone):
    """Pairs of a point and its contestants."""
    if options.quick:
        rate, rtt, queue, losses = PATHS[1]
        return [(Point(rate, rtt, queue, min(losses), 6, 2), everyone)]
    points = []
    for rate, rtt, queue, losses in PATHS:
        for loss, most in losses.items():
            seeds = min(most, options.seeds)
            points.append((Point(rate, rtt, queue, loss, options.seconds, seeds), everyone))
    both = [c for c in everyone if c.kernel or c.name in KERNELS.values()]
    for rate, rtt, queue, losses in SHORT:
        for loss, most in losses.items():
            seeds = min(most, options.seeds)
            points.append((Point(rate, rtt, queue, loss, options.seconds, seeds), both))
    rate, rtt, queue, losses = STRESS
    kernels = [c for c in everyone if c.kernel and c.name != "bbr"]
    for loss in losses:
        points.append((Point(rate, rtt, queue, loss, STRESS_SECONDS, STRESS_SEEDS), kernels))
    return points


def seeds(point, predicted):
    """The seeds of a contestant's runs. The kernel's algorithm and Whimbrel's of the same name have
    the same, because their predictions are the same."""
    mean, sd = mean_and_sd(predicted)
    enough = math.ceil((sd / mean / PRECISION) ** 2) if mean else point.seeds
    return range(1, min(point.seeds, max(enough, MINIMUM_SEEDS)) + 1)


def kernel_log():
    """The lines of the kernel's log that report an error; None if it is not readable."""
    output = subprocess.run(["dmesg"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if output.returncode != 0:
        return None
    lines = output.stdout.decode(errors="replace").splitlines()
    return [line for line in lines if any(alarm in line for alarm in ALARMS)]


def mean_and_sd(values):
    sd = statistics.stdev(values) if len(values) > 1 else 0.0
    return statistics.mean(values), sd


class Row:
    """One contestant at one point: measured beside predicted."""

    def __init__(self, contestant, runs, predicted):
        self.contestant = contestant
        # With --kept, runs may be missing.
        made = [r or {} for r in runs]
        self.failed = [r["failed"] for r in made if "failed" in r]
        good = [r for r in made if r and "failed" not in r]
        self.spoiled = [r["spoiled"] for r in good if "spoiled" in r]
        self.fallbacks = sum(r.get("fallbacks", 0) for r in good)
        self.dropped_events = sum(r.get("dropped_events", 0) for r in good)
        self.late_ms = max((r["late_ms"] for r in good), default=0)
        self.values = [r["mbps"] for r in good if "spoiled" not in r]
        self.by_seed = [
            r["mbps"] if "mbps" in r and not {"failed", "spoiled"} & r.keys() else None
            for r in made
        ]
        self.made = sum(r != {} for r in made)
        self.predicted = mean_and_sd(predicted)
        self.truths = [r["truth"] for r in good if "truth" in r]

    def measured(self):
        return mean_and_sd(self.values) if self.values else None

    def ratio(self):
        return self.measured()[0] / self.predicted[0]

    def verdict(self):
        if len(self.values) < min(MINIMUM_SEEDS, len(self.by_seed)):
            return "not measured"
        if abs(self.ratio() - 1) <= 0.1:
            return "within 10 %"
        (mean, sd), (expected, expected_sd) = self.measured(), self.predicted
        both = ((sd**2 + expected_sd**2) / 2) ** 0.5
        return "within one sd" if abs(mean - expected) <= both else "differs"

    def correct(self):
        """By cause of a loss: the number of correct decisions, and of all."""
        total = {cause: [0, 0] for cause in CAUSES}
        for truth in self.truths:
            for place, cause in enumerate(CAUSES):
                total[cause][0] += truth[cause][place]
                total[cause][1] += sum(truth[cause])
        return total

    def outside(self, tolerance):
        """Whether the prediction is off by more than this, and by two standard errors."""
        mean, sd = self.measured()
        error = sd / len(self.values) ** 0.5 if len(self.values) > 1 else mean
        off = abs(self.predicted[0] - mean)
        return abs(self.predicted[0] / mean - 1) > tolerance and off > 2 * error


class Pair:
    """The same algorithm in the kernel and in Whimbrel, on the same losses."""

    def __init__(self, kernel, ours):
        self.kernel, self.ours = kernel, ours
        both = zip(ours.by_seed, kernel.by_seed)
        self.both = [(a, b) for a, b in both if a is not None and b is not None]

    def ratio(self):
        return sum(a for a, _ in self.both) / sum(b for _, b in self.both)

    def error(self):
        """Standard error of the ratio, from the differences of the pairs."""
        mean = statistics.mean(b for _, b in self.both)
        differences = [a - b for a, b in self.both]
        sd = statistics.stdev(differences) if len(differences) > 1 else mean
        return sd / len(differences) ** 0.5 / mean

    def outside(self):
        off = abs(self.ratio() - 1)
        return off > PAIR_TOLERANCE and off > 2 * self.error()


def pairs(rows):
    by_contestant = {row.contestant.key(): row for row in rows}
    for kernel, ours in KERNELS.items():
        both = [by_contestant.get(f"kernel:{kernel}"), by_contestant.get(f"whimbrel:{ours}")]
        if all(both) and (pair := Pair(*both)).both:
            yield pair


def complaints(table, quick):
    """What makes the command fail. If it was quick, no figure does."""
    for point, rows in table:
        for row in rows:
            where = f"{row.contestant.key()}, {point.title()}"
            for why in sorted(set(row.failed)):
                yield f"{where}: {row.failed.count(why)} runs failed: {why}"
            if row.fallbacks:
                yield f"{where}: {row.fallbacks} connections went to the fallback algorithm"
            if row.dropped_events:
                yield f"{where}: {row.dropped_events} events were lost"
            if quick:
                continue
            if row.verdict() == "not measured":
                yield f"{where}: too few runs to trust"
            elif point.rate == STRESS[0] and row.outside(STRESS_TOLERANCE):
                yield f"{where}: the simulator is off by more than {STRESS_TOLERANCE:.0%}"
        for pair in pairs(rows):
            known = explains_pair(pair.kernel.contestant.name, pair.ratio())
            if pair.outside() and not known and not quick:
                yield (
                    f"{point.title()}: {pair.ours.contestant.name} is {pair.ratio():.2f} of the "
                    f"kernel's {pair.kernel.contestant.name}"
                )


def show(table):
    for point, rows in table:
        print(f"\n{point.title()}; {point.seconds:g} s, up to {point.seeds} seeds; Mbit/s")
        print("                       Linux              simulator          ratio")
        for row in rows:
            name = f"{row.contestant.name}{' (kernel)' if row.contestant.kernel else ''}"
            if not row.values:
                print(f"{name:20} not measured")
                continue
            (mean, sd), (expected, expected_sd) = row.measured(), row.predicted
            note = f"; {len(row.spoiled)} runs spoiled" if row.spoiled else ""
            print(
                f"{name:20} {mean:7.3f} ± {sd:6.3f}   {expected:7.3f} ± {expected_sd:6.3f}  "
                f"{row.ratio():6.2f}  {row.verdict()}{note}"
            )
        for pair in pairs(rows):
            ours, kernel = pair.ours.contestant.name, pair.kernel.contestant.name
            print(
                f"same losses: {ours} is {pair.ratio():.3f} ± {pair.error():.3f} of the kernel's "
                f"{kernel}, {len(pair.both)} pairs"
            )


def main():
    options = arguments()
    if options.quick and options.write:
        sys.exit("linux: --quick is no measurement to publish: omit --write")
    if why := obstacle(options):
        print(f"{'skipped' if options.quick else 'linux'}: {why}", file=sys.stderr)
        return 0 if options.quick else 1
    everyone = contestants(options)
    points = plan(options, everyone)
    name = "linux-quick.json" if options.quick else "linux.json"
    results = Results(referee_directory() / name, options.whimbrel, options.again)
    before = kernel_log()
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        table, runs = [], []
        for point, who in points:
            for contestant in who:
                count = PREDICTIONS if point.loss else 2
                predicted, load = predict(options.whimbrel, results, point, contestant, count)
                for seed in seeds(point, predicted):
                    kept = results.get("linux", point, contestant, seed)
                    if kept is None or "failed" in kept or "spoiled" in kept:
                        whimbrel = options.whimbrel
                        runs.append(Run(whimbrel, scratch, point, contestant, seed, load))
        minutes = estimate(runs, options.jobs, options.load) / 60
        print(f"{len(runs)} runs, about {minutes:.0f} min", file=sys.stderr)
        if options.estimate:
            return 0
        if not options.kept:
            run_all(runs, results, options.jobs, options.load)
    for point, who in points:
        rows = []
        for contestant in who:
            count = PREDICTIONS if point.loss else 2
            predicted = results.get("simulator", point, contestant, count)["goodput"]
            chosen = seeds(point, predicted)
            measured = [results.get("linux", point, contestant, seed) for seed in chosen]
            rows.append(Row(contestant, measured, predicted))
        table.append((point, rows))
    show(table)
    found = list(complaints(table, options.quick))
    after = kernel_log()
    if before is None or after is None:
        print("note: the kernel's log is not readable here, so it was not checked")
    else:
        found += [f"the kernel's log: {line}" for line in after if line not in before]
    for text in found:
        print(f"wrong: {text}")
    if options.write:
        text = linux_page.page(table, pairs, found, options, PREDICTIONS)
        options.write.write_text(text)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
