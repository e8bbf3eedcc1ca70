#!/usr/bin/env python3
"""Compares Whimbrel's goodput with ns-3's for NewReno and CUBIC, 1 and 10 flows, 6 loss rates.

dumbbell.cc is the experiment in ns-3, dumbbell.toml in Whimbrel. Exits with 1 if a point differs by
more than the tolerance and is not in KNOWN. Needs only Python 3's standard library.

    referee/compare.py                 the table (ns-3's half from answers.json, a sample run again)
    referee/compare.py --full          the same, with all of ns-3's half run again (minutes)
    referee/compare.py --fresh         ns-3's half from target/referee/cache, or run
    referee/compare.py --record        runs ns-3's half and writes answers.json
    referee/compare.py --ns3-only      only ns-3's half
    referee/compare.py --stock         with ns-3.44's own NewReno and PRR (see README.md)
    referee/compare.py --json          the same as JSON
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import ns3sim

CONTROLLERS = ["newreno", "cubic"]
FLOWS = [1, 10]
LOSSES = [0.0, 0.001, 0.005, 0.01, 0.02, 0.05]
SEGMENT = 1460  # payload bytes of a packet, in both simulators
SCENARIO = ns3sim.HERE / "dumbbell.toml"
KEPT = ns3sim.Kept("compare", "dumbbell", ["duration_s", "delivered_packets"])
AGAIN = 12  # runs of ns-3 that are repeated each time

# Points whose difference is explained and accepted: (controller, flows, loss) -> the reason.
KNOWN = {}


def goodput(run):
    """Goodput of all flows together in bit/s, from packets delivered in order."""
    return run["delivered_packets"] * SEGMENT * 8 / run["duration_s"]


def ns3_point(controller, flows, loss, seed, stock):
    """dumbbell.cc's parameters for one run of dumbbell.toml; the others keep their defaults."""
    if stock and controller == "newreno":
        controller = "newreno-stock"
    return {
        "controller": controller,
        "recovery": "prr" if stock else "rfc6675",
        "flows": flows,
        "loss": loss,
        "seed": seed,
        "starts": ns3sim.start_times(flows, seed),
    }


def ns3_goodputs(points, seeds, options):
    """{point: [total goodput in bit/s, one per seed]}, and how repeated runs differ"""
    stock = options.stock
    runs = [ns3_point(*point, seed, stock) for point in points for seed in range(1, seeds + 1)]
    answers, changed = KEPT.answers(runs, options, random.sample(range(len(runs)), AGAIN))
    goodputs = {
        point: [goodput(answer) for answer in answers[i * seeds : (i + 1) * seeds]]
        for i, point in enumerate(points)
    }
    return goodputs, changed


def whimbrel_runs(binary, scenario, changes):
    """Whimbrel's runs of a scenario file with some lines replaced; each must occur exactly once."""
    text = scenario.read_text()
    for old, new in changes:
        if text.count(old) != 1:
            sys.exit(f"{scenario} must contain '{old}' exactly once")
        text = text.replace(old, new)
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as changed:
        changed.write(text)
        changed.flush()
        done = subprocess.run(
            [binary, "sim", changed.name, "--json"], check=True, stdout=subprocess.PIPE, text=True
        )
    return json.loads(done.stdout)["runs"]


def whimbrel_goodputs(binary, flows, seeds):
    """The same from Whimbrel for one number of flows; replaces `count` and `seeds`."""
    goodputs = {}
    changes = [("count = 10", f"count = {flows}"), ("seeds = 10", f"seeds = {seeds}")]
    for run in whimbrel_runs(binary, SCENARIO, changes):
        parameters = run["parameters"]
        point = (
            parameter(parameters, "controller"),
            flows,
            probability(parameter(parameters, "link.L.loss")),
        )
        goodputs.setdefault(point, []).append(goodput(run))
    return goodputs


def parameter(parameters, name):
    """A swept value; the controller's key is `controller` or `flow.controller`."""
    for key in (name, f"flow.{name}"):
        if key in parameters:
            return parameters[key]
    sys.exit(f"compare.py: a run has no parameter '{name}', only {sorted(parameters)}")


def probability(value):
    """0.01 or '1 %' -> 0.01"""
    if isinstance(value, str) and value.rstrip().endswith("%"):
        return round(float(value.rstrip().rstrip("%")) / 100, 9)
    return round(float(value), 9)


def spread(values):
    return {
        "mean": statistics.fmean(values),
        "sd": statistics.stdev(values) if len(values) > 1 else 0.0,
    }


def verdict(theirs, ours, tolerance, reason):
    """The part of a line that compares two means; `reason` explains an accepted difference."""
    ratio = ours["mean"] / theirs["mean"]
    result = {"whimbrel": ours, "ratio": ratio}
    if abs(ratio - 1) <= tolerance:
        return result | {"verdict": "ok"}
    return result | ({"verdict": "known", "reason": reason} if reason else {"verdict": "differs"})


def judge(point, theirs, ours, tolerance):
    """One line of the table."""
    controller, flows, loss = point
    line = {"controller": controller, "flows": flows, "loss": loss, "ns3": spread(theirs)}
    if ours is not None:
        line |= verdict(line["ns3"], spread(ours), tolerance, KNOWN.get(point))
    return line


def megabits(value):
    return f"{value['mean'] / 1e6:7.3f} ± {value['sd'] / 1e6:5.3f}"


def ending(line):
    """Whimbrel's half of a line and the verdict, if present."""
    if "whimbrel" not in line:
        return ""
    text = f"  {megabits(line['whimbrel'])}  {line['ratio']:5.3f}  {line['verdict']}"
    return text + (f": {line['reason']}" if "reason" in line else "")


def print_table(lines):
    print(
        f"{'controller':10} {'flows':>5} {'loss %':>6}  {'ns-3 Mbit/s':^15}"
        f"  {'Whimbrel Mbit/s':^15}  {'ratio':>5}"
    )
    for line in lines:
        text = f"{line['controller']:10} {line['flows']:5} {line['loss'] * 100:6g}"
        print(f"{text}  {megabits(line['ns3'])}{ending(line)}")


def add_arguments(parser, seeds, tolerance):
    """Adds the options of every comparison."""
    parser.add_argument("--ns3-only", action="store_true", help="run and print only ns-3's half")
    parser.add_argument(
        "--seeds", type=int, default=seeds, help="runs per point (default: %(default)s)"
    )
    parser.add_argument(
        "--tolerance", type=float, default=tolerance, help="of the mean (default: %(default)s)"
    )
    parser.add_argument(
        "--jobs", type=int, help="concurrent ns-3 processes (default: one per core)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def finish(lines, options, show, changed):
    """Prints how ns-3 differs from what is kept, and the table, by `show` or as JSON. Returns the
    exit status."""
    for difference in changed:
        print(difference, file=sys.stderr)
    if options.json:
        print(
            json.dumps(
                {"seeds": options.seeds, "tolerance": options.tolerance, "points": lines}, indent=1
            )
        )
    else:
        show(lines)
    return 1 if changed or any(line.get("verdict") == "differs" for line in lines) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--whimbrel",
        default=str(ns3sim.HERE.parent / "target" / "release" / "whimbrel"),
        help="the whimbrel command (default: %(default)s)",
    )
    parser.add_argument(
        "--stock", action="store_true", help="ns-3's own NewReno and PRR instead of the RFCs'"
    )
    add_arguments(parser, seeds=10, tolerance=0.10)
    ns3sim.add_arguments(parser)
    options = parser.parse_args()
    options.fresh |= options.stock
    if not options.ns3_only and not Path(options.whimbrel).exists():
        parser.error(
            f"{options.whimbrel} does not exist; build it, name it with --whimbrel, "
            "or use --ns3-only"
        )

    ns3sim.build()
    points = [
        (controller, flows, loss)
        for controller in CONTROLLERS
        for flows in FLOWS
        for loss in LOSSES
    ]
    theirs, changed = ns3_goodputs(points, options.seeds, options)
    ours = {}
    if not options.ns3_only:
        for flows in FLOWS:
            ours |= whimbrel_goodputs(options.whimbrel, flows, options.seeds)
        missing = [point for point in points if len(ours.get(point, [])) != options.seeds]
        if missing:
            sys.exit(f"compare.py: expected {options.seeds} runs of whimbrel for {missing}")
    lines = [judge(point, theirs[point], ours.get(point), options.tolerance) for point in points]

    return finish(lines, options, print_table, changed)


if __name__ == "__main__":
    sys.exit(main())
