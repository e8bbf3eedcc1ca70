#!/usr/bin/env python3
"""Compares Whimbrel's Wi-Fi channel with ns-3's: goodput and trains of packets.

wifi.cc is the experiment in ns-3, examples/wifi-speed in Whimbrel; both take the same
options. Exits with 1 if a figure differs by more than the tolerance and is not in KNOWN. Needs only
Python 3's standard library.

    referee/wifi.py                 the table (ns-3's half from answers.json, a sample run again)
    referee/wifi.py --full          the same, with all of ns-3's half run again (minutes)
    referee/wifi.py --fresh         ns-3's half from target/referee/cache, or run
    referee/wifi.py --record        runs ns-3's half and writes answers.json
    referee/wifi.py --all           more points: AIFS slots, trains of 2 to 20 packets, BAR
    referee/wifi.py --ns3-only      only ns-3's half
    referee/wifi.py --json          the same as JSON
"""

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

import compare
import ns3sim

# Mbit/s -> parameters of ns-3. Of several modes with the same rate Whimbrel takes the one with the
# fewest streams, then the narrower channel, then the longer guard interval. Control frames use the
# fastest basic rate that is not above the modulation's.
MODES = {
    6.5: {"mode": "HtMcs0", "width": 20, "shortGuard": 0, "control": "OfdmRate6Mbps"},
    30: {"mode": "HtMcs1", "width": 40, "shortGuard": 1, "control": "OfdmRate12Mbps"},
    65: {"mode": "HtMcs7", "width": 20, "shortGuard": 0, "control": "OfdmRate24Mbps"},
    120: {"mode": "HtMcs5", "width": 40, "shortGuard": 1, "control": "OfdmRate24Mbps"},
    300: {"mode": "HtMcs15", "width": 40, "shortGuard": 1, "control": "OfdmRate24Mbps"},
    600: {"mode": "HtMcs31", "width": 40, "shortGuard": 1, "control": "OfdmRate24Mbps"},
}
KEPT = ns3sim.Kept("wifi", "wifi", ["stations", "train_bps"])
AGAIN = 6  # runs of ns-3 that are repeated each time
PAPER = [6.5, 30, 120, 300, 600]  # the rates of Enhanced-AATP, Table 4

# Simulated seconds, enough for a standard error of about 1 % over three seeds. With two stations
# the shares vary, after n accesses by about 0.7 / sqrt(n); a single station needs a fifth of the
# time for the same error.
SECONDS = {6.5: 60, 30: 40, 65: 25, 120: 15, 300: 6, 600: 4}
SECONDS_ONE_BY_ONE = {6.5: 20, 30: 6, 65: 4, 120: 3, 300: 3, 600: 3}

# Figures whose difference is explained and accepted: (case, Mbit/s, aggregated, direction) -> the
# reason.
BAR = "ns-3 uses an access to request which packets of a collision were received"
SYMBOLS = "in ns-3 the frames of an aggregate can end within a symbol"
KNOWN = {("BAR", rate, True, way): BAR for rate in MODES for way in ("there", "back")}
KNOWN |= {
    (f"train of 2{difs}", rate, True, "seen"): SYMBOLS
    for rate in (300, 600)
    for difs in ("", ", DIFS")
}

CASES = {
    "one way": {},
    "both ways": {"bothWays": 1},
    "RTS": {"rts": 1, "bothWays": 1},
    "60-byte answers": {"bothWays": 1, "answer": 60},
    "10 % lost": {"loss": 0.1},
    "DIFS": {"aifsn": 2},
    "BAR": {"bothWays": 1, "bar": 1},
}


def train(packets, aifsn=3):
    """Trains of this many packets on an idle channel; compares the bandwidth that they measure."""
    return f"train of {packets}" + (", DIFS" if aifsn == 2 else ""), {
        "train": packets,
        "aifsn": aifsn,
        "gap": 0.2,
    }


def points(everything):
    """[(case, its parameters, Mbit/s, aggregated)]"""
    chosen = [
        (case, CASES[case], rate, aggregated)
        for case in ("one way", "both ways")
        for aggregated in (True, False)
        for rate in MODES
    ]
    chosen += [
        (case, CASES[case], rate, aggregated)
        for case in ("RTS", "60-byte answers", "10 % lost")
        for aggregated in (True, False)
        for rate in (30, 300)
    ]
    chosen += [(*train(20), rate, True) for rate in PAPER]
    if everything:
        chosen += [
            ("DIFS", CASES["DIFS"], rate, aggregated)
            for aggregated in (True, False)
            for rate in PAPER
        ]
        chosen += [("BAR", CASES["BAR"], rate, True) for rate in MODES]
        chosen += [
            (*train(packets, aifsn), rate, aggregated)
            for aifsn in (3, 2)
            for aggregated in (True, False)
            for packets in (2, 3, 5, 10, 20)
            for rate in PAPER
            if (packets, aifsn, aggregated) != (20, 3, True)
        ]
    return chosen


def parameters(point, seed):
    """The parameters that both simulators share."""
    _, case, rate, aggregated = point
    seconds = (SECONDS if aggregated else SECONDS_ONE_BY_ONE)[rate]
    if "train" in case:
        seconds = 40
    elif "bothWays" not in case:
        seconds /= 5
    return {**case, "ampdu": 65535 if aggregated else 0, "duration": seconds, "seed": seed}


def ns3_answers(chosen, seeds, options):
    """[results of a point, one for each seed], and how repeated runs differ"""
    runs = [MODES[point[2]] | parameters(point, seed) for point in chosen for seed in seeds]
    answers, changed = KEPT.answers(runs, options, random.sample(range(len(runs)), AGAIN))
    size = len(seeds)
    return [answers[i * size : (i + 1) * size] for i in range(len(chosen))], changed


def whimbrel_answers(binary, chosen, seeds):
    """The same from Whimbrel."""

    def run(point, seed):
        arguments = ns3sim.arguments(parameters(point, seed) | {"rate": point[2] * 1000})
        done = subprocess.run([binary, *arguments], check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)

    return [[run(point, seed) for seed in seeds] for point in chosen]


def figures(answers):
    """{quantity: [bit/s, one for each seed]} of a point's results"""
    if "train_bps" in answers[0]:
        return {"seen": [answer["train_bps"] for answer in answers]}
    of = {
        way: [answer["stations"][i]["goodput_bps"] for answer in answers]
        for i, way in enumerate(("there", "back"))
    }
    return {way: values for way, values in of.items() if any(values)}


def judge(point, theirs, ours, tolerance):
    """The lines of a point, one for each direction."""
    name, case, rate, aggregated = point
    for what, values in figures(theirs).items():
        key = (name, rate, aggregated, what)
        line = {
            "case": name,
            "rate_bps": rate * 1e6,
            "aggregated": aggregated,
            "direction": what,
            "ns3": compare.spread(values),
        }
        line["ns3_share"] = line["ns3"]["mean"] / line["rate_bps"]
        if ours is not None:
            line |= compare.verdict(
                line["ns3"], compare.spread(figures(ours)[what]), tolerance, KNOWN.get(key)
            )
            line["whimbrel_share"] = line["whimbrel"]["mean"] / line["rate_bps"]
        yield line


def print_table(lines):
    print(
        f"{'case':18} {'Mbit/s':>6} {'A-MPDU':6} {'':5}  {'ns-3 Mbit/s':^15} {'share %':>7}"
        f"  {'Whimbrel Mbit/s':^15}"
        f"  {'ratio':>5}"
    )
    for line in lines:
        text = (
            f"{line['case']:18} {line['rate_bps'] / 1e6:6g}"
            f" {'yes' if line['aggregated'] else 'no':6} {line['direction']:5}"
            f"  {compare.megabits(line['ns3'])} {line['ns3_share'] * 100:7.1f}"
        )
        print(text + compare.ending(line))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--whimbrel",
        default=str(ns3sim.HERE.parent / "target" / "release" / "wifi-speed"),
        help="the program examples/wifi-speed (default: %(default)s)",
    )
    parser.add_argument(
        "--all", action="store_true", help="more points, for explanation rather than for the check"
    )
    compare.add_arguments(parser, seeds=3, tolerance=0.03)
    ns3sim.add_arguments(parser)
    options = parser.parse_args()
    # Only the points of the check are kept.
    options.fresh |= options.all
    if not options.ns3_only and not Path(options.whimbrel).exists():
        parser.error(
            f"{options.whimbrel} does not exist; build it (cargo build --release -p wifi-speed), "
            "name it with --whimbrel, or use --ns3-only"
        )

    ns3sim.build()
    chosen, seeds = points(options.all), range(1, options.seeds + 1)
    theirs, changed = ns3_answers(chosen, seeds, options)
    ours = (
        [None] * len(chosen)
        if options.ns3_only
        else whimbrel_answers(options.whimbrel, chosen, seeds)
    )
    lines = [
        line for answers in zip(chosen, theirs, ours) for line in judge(*answers, options.tolerance)
    ]
    return compare.finish(lines, options, print_table, changed)


if __name__ == "__main__":
    sys.exit(main())
