#!/usr/bin/env python3
"""Compares Whimbrel's algorithms with ns-3's: 1 and 4 flows, 40 and 140 ms, 3 loss rates.

dumbbell.cc with the algorithms of laws.h is the experiment in ns-3, laws.toml in Whimbrel. ns-3's
half is kept in answers.json. Each time a sample of it is run again and must give the same result.
Exits with 1 if it does not, or if a point differs by more than the tolerance and is not in KNOWN.
Needs only Python 3's standard library.

    referee/laws.py                 the table
    referee/laws.py --full          the same, and repeats all of ns-3's runs (10 minutes)
    referee/laws.py --record        runs ns-3's half and writes answers.json (after changing it)
    referee/laws.py --fresh         ns-3's half from its cache, or run; for work on laws.h
    referee/laws.py --stock         with ns-3.44's own algorithms (see README.md); not kept
    referee/laws.py --laws bic,yeah only these
    referee/laws.py --json          the same as JSON
"""

import argparse
import json
import random
import sys
from pathlib import Path

import compare
import ns3sim

# Algorithm -> its name in Whimbrel, parameters of dumbbell.cc. Constants that would differ are set
# equal.
LAWS = {
    "newreno": ("newreno", {}),
    "cubic": ("cubic?hystart=false", {}),
    "bbr": ("bbr", {}),
    "westwood+": ("westwood+", {}),
    "vegas": ("vegas", {"ns3::TcpVegas::Alpha": 3}),
    "veno": ("veno?reset=false", {"ns3::TcpVeno::Beta": 4}),
    "bic": ("bic?B=4&Smax=16&Smin=0.2&beta=0.2", {"ns3::TcpBic::SmoothPart": 20}),
    "hybla": ("hybla?RTT0=50&pacing=false", {"ns3::TcpHybla::RRTT": "50ms"}),
    "yeah": ("yeah?phi=1", {"ns3::TcpYeah::Phy": 1}),
    "highspeed": ("highspeed", {}),
    "scalable": ("scalable", {"ns3::TcpScalable::AIFactor": 100}),
    "illinois": ("illinois", {"ns3::TcpIllinois::WinThresh": 15 * compare.SEGMENT}),
}
# ns-3 passes the smoothed RTT to an algorithm instead of the sample. With this weight both are
# equal.
SAMPLES = {"ns3::RttMeanDeviation::Alpha": 1}
STRICT = {"newreno": 0.10, "cubic": 0.10}  # algorithms with their own tolerance
FLOWS = [1, 4]
DELAYS = {40: 10, 140: 60}  # base RTT -> one-way delay of the shared link, ms
LOSSES = [0.0, 0.001, 0.01]
SECONDS = 60
SCENARIO = ns3sim.HERE / "laws.toml"
KEPT = ns3sim.Kept("laws", "dumbbell", ["delivered_packets"])

# Points whose difference is explained and accepted: (algorithm, flows, RTT, loss) -> the reason.
FEW = "with few samples in a round trip ns-3 grows by 1/cwnd, not by a segment"
WHOLE = "ns-3 truncates a quarter of the distance to the last maximum to whole segments"
KNOWN = {("vegas", flows, rtt, 0.01): FEW for flows, rtt in [(1, 40), (1, 140), (4, 140)]}
KNOWN |= {("bic", 1, 140, 0.001): WHOLE}


def points(laws):
    return [
        (law, flows, rtt, loss)
        for law in laws
        for flows in FLOWS
        for rtt in DELAYS
        for loss in LOSSES
    ]


def ns3_run(point, seed, stock=False):
    """dumbbell.cc's parameters for one run of laws.toml; the others keep their defaults."""
    law, flows, rtt, loss = point
    run = {
        "controller": f"{law}-stock" if stock else law,
        "flows": flows,
        "loss": loss,
        "seed": seed,
        "duration": SECONDS,
        "accessRate": "16Mbps",
        "accessDelay": "5ms",
        "delay": f"{DELAYS[rtt]}ms",
        "starts": ns3sim.start_times(flows, seed),
    }
    return run | ({"recovery": "prr"} if stock else SAMPLES | LAWS[law][1])


def ns3_packets(laws, options):
    """{point: [packets delivered, one per seed]}, by ns-3, and how repeated runs differ."""
    seeds, wanted = options.seeds, points(laws)
    chosen = [(point, seed) for point in wanted for seed in range(1, seeds + 1)]
    of = {law: [i for i, (point, _) in enumerate(chosen) if point[0] == law] for law in laws}
    again = [i for law in laws for i in random.sample(of[law], options.sample)]
    runs = [ns3_run(point, seed, options.stock) for point, seed in chosen]
    answers, changed = KEPT.answers(runs, options, again)
    packets = [answer["delivered_packets"] for answer in answers]
    return {point: packets[i * seeds : (i + 1) * seeds] for i, point in enumerate(wanted)}, changed


def whimbrel_packets(binary, laws, flows, seeds):
    """The same from Whimbrel, for one number of flows."""
    names = {LAWS[law][0]: law for law in laws}
    changes = [
        ("count = 1", f"count = {flows}"),
        ("seeds = 5", f"seeds = {seeds}"),
        ('"flow.controller" = ["newreno"]', f'"flow.controller" = {json.dumps(list(names))}'),
    ]
    rtts = {f"{delay} ms": rtt for rtt, delay in DELAYS.items()}
    packets = {}
    for run in compare.whimbrel_runs(binary, SCENARIO, changes):
        swept = run["parameters"]
        point = (
            names[swept["flow.controller"]],
            flows,
            rtts[swept["link.L.delay"]],
            compare.probability(swept["link.L.loss"]),
        )
        packets.setdefault(point, []).append(run["delivered_packets"])
    return packets


def judge(point, theirs, ours, tolerance, stock):
    """One line of the table."""
    law, flows, rtt, loss = point
    line = {
        "law": law,
        "flows": flows,
        "rtt_ms": rtt,
        "loss": loss,
        "ns3": compare.spread(bits(theirs)),
    }
    reason = None if stock else KNOWN.get(point)
    return line | compare.verdict(
        line["ns3"], compare.spread(bits(ours)), STRICT.get(law, tolerance), reason
    )


def bits(packets):
    """Goodput of each run, bit/s."""
    return [count * compare.SEGMENT * 8 / SECONDS for count in packets]


def print_table(lines):
    print(
        f"{'algorithm':10} {'flows':>5} {'ms':>4} {'loss %':>6}  {'ns-3 Mbit/s':^15}"
        f"  {'Whimbrel Mbit/s':^15}  {'ratio':>5}"
    )
    for line in lines:
        text = f"{line['law']:10} {line['flows']:5} {line['rtt_ms']:4} {line['loss'] * 100:6g}  "
        print(text + compare.megabits(line["ns3"]) + compare.ending(line))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--whimbrel",
        default=str(ns3sim.HERE.parent / "target" / "release" / "whimbrel"),
        help="the whimbrel command (default: %(default)s)",
    )
    parser.add_argument("--laws", default=",".join(LAWS), help="only these, separated by commas")
    parser.add_argument("--stock", action="store_true", help="ns-3's own algorithms and PRR")
    parser.add_argument(
        "--sample",
        type=int,
        default=2,
        help="runs of each algorithm to repeat (default: %(default)s)",
    )
    ns3sim.add_arguments(parser)
    compare.add_arguments(parser, seeds=5, tolerance=0.15)
    options = parser.parse_args()
    options.fresh |= options.stock
    laws = options.laws.split(",")
    if unknown := set(laws) - set(LAWS):
        parser.error(f"unknown algorithms {sorted(unknown)}")

    ns3sim.build()
    if options.record:
        laws = list(LAWS)
    theirs, changed = ns3_packets(laws, options)
    if options.record:
        return 0
    ours = {}
    for flows in FLOWS:
        ours |= whimbrel_packets(options.whimbrel, laws, flows, options.seeds)
    lines = [
        judge(point, theirs[point], ours[point], options.tolerance, options.stock)
        for point in points(laws)
    ]
    return compare.finish(lines, options, print_table, changed)


if __name__ == "__main__":
    sys.exit(main())
