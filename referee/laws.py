#!/usr/bin/env python3
"""Compares Whimbrel's algorithms with ns-3's: 1 and 4 flows, 40 and 140 ms, 3 loss rates.

dumbbell.cc with the algorithms of laws.h is the experiment in ns-3, laws.toml in Whimbrel. ns-3's
half is kept in ns3.json together with its provenance. Each time a sample of it is run again and
must give the same result. Exits with 1 if it does not, or if a point differs by more than the
tolerance and is not in KNOWN. Needs only Python 3's standard library.

    referee/laws.py                 the table
    referee/laws.py --full          the same, and repeats all runs of ns3.json (10 minutes)
    referee/laws.py --record        runs ns-3's half and writes ns3.json (after changing it)
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
RECORD = ns3sim.HERE / "ns3.json"
COMMAND = "referee/laws.py --record"

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


def common(point):
    """The parameters that all runs of a point share: all but the seed and the start times."""
    return {key: value for key, value in ns3_run(point, 1).items() if key not in ("seed", "starts")}


def ns3_packets(wanted, seeds, jobs, stock=False):
    """{point: [packets delivered, one per seed]}, by ns-3."""
    runs = [ns3_run(point, seed, stock) for point in wanted for seed in range(1, seeds + 1)]
    packets = [answer["delivered_packets"] for answer in ns3sim.run_all(runs, jobs)]
    return {point: packets[i * seeds : (i + 1) * seeds] for i, point in enumerate(wanted)}


def made_by(seeds):
    """The provenance of ns3.json: what else than the parameters determines its numbers."""
    return {
        "ns-3": ns3sim.version(),
        "sources": ns3sim.fingerprint("dumbbell"),
        "seeds": seeds,
        "command": COMMAND,
    }


def record(seeds, jobs):
    everything = ns3_packets(points(LAWS), seeds, jobs)
    lines = [
        json.dumps({"point": point, "run": common(point), "delivered_packets": packets})
        for point, packets in everything.items()
    ]
    RECORD.write_text(
        '{"made": ' + json.dumps(made_by(seeds)) + ',\n"points": [\n' + ",\n".join(lines) + "\n]}\n"
    )


def recorded(seeds):
    """{point: [packets delivered, one per seed]} of ns3.json; fails if its provenance differs."""
    kept = json.loads(RECORD.read_text())
    wrong = [key for key, value in made_by(seeds).items() if kept["made"].get(key) != value]
    everything = {tuple(line["point"]): line for line in kept["points"]}
    wrong += [
        str(point)
        for point in points(LAWS)
        if point not in everything or everything[point]["run"] != common(point)
    ]
    if wrong:
        sys.exit(
            f"laws.py: {RECORD.name} has a different provenance ({', '.join(wrong)}): run {COMMAND}"
        )
    return {point: line["delivered_packets"] for point, line in everything.items()}


def run_again(kept, wanted, jobs):
    """Repeats these (point, seed) without the cache and reports differences from `kept`."""
    answers = ns3sim.run_all([ns3_run(point, seed) for point, seed in wanted], jobs, cached=False)
    return [
        f"{point}, seed {seed}: {answer['delivered_packets']} packets "
        f"instead of {kept[point][seed - 1]}"
        for (point, seed), answer in zip(wanted, answers)
        if answer["delivered_packets"] != kept[point][seed - 1]
    ]


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
    parser.add_argument("--full", action="store_true", help="repeat all of ns-3's runs")
    parser.add_argument("--record", action="store_true", help="run ns-3's half and write ns3.json")
    parser.add_argument("--stock", action="store_true", help="ns-3's own algorithms and PRR")
    parser.add_argument(
        "--sample",
        type=int,
        default=2,
        help="runs of each algorithm to repeat (default: %(default)s)",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="ns-3's half from its cache, not from ns3.json"
    )
    compare.add_arguments(parser, seeds=5, tolerance=0.15)
    options = parser.parse_args()
    laws = options.laws.split(",")
    if unknown := set(laws) - set(LAWS):
        parser.error(f"unknown algorithms {sorted(unknown)}")

    ns3sim.build()
    if options.record:
        record(options.seeds, options.jobs)
        return 0
    changed = []
    if options.stock or options.fresh:
        theirs = ns3_packets(points(laws), options.seeds, options.jobs, options.stock)
    else:
        theirs = recorded(options.seeds)
        runs = {
            law: [(point, seed) for point in points([law]) for seed in range(1, options.seeds + 1)]
            for law in laws
        }
        again = [
            run
            for law in laws
            for run in (runs[law] if options.full else random.sample(runs[law], options.sample))
        ]
        changed = run_again(theirs, again, options.jobs)
    ours = {}
    for flows in FLOWS:
        ours |= whimbrel_packets(options.whimbrel, laws, flows, options.seeds)
    lines = [
        judge(point, theirs[point], ours[point], options.tolerance, options.stock)
        for point in points(laws)
    ]
    for difference in changed:
        print(f"laws.py: ns-3 differs from {RECORD.name}: {difference}", file=sys.stderr)
    return compare.finish(lines, options, print_table) or (1 if changed else 0)


if __name__ == "__main__":
    sys.exit(main())
