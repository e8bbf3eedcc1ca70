#!/usr/bin/env python3
"""Measures ns-3's speed on this machine: delivered packets over the wall time of Simulator::Run.

ns-3 from its wheel, unmodified (its own NewReno and recovery), with the kind of routing that is
faster for the case. Prints one JSON object per line: the median of three runs, one at a time. On a
busy machine compare CPU seconds, not wall seconds. The wheel has ns-3's logging compiled in; an
optimised build of ns-3 is faster. Needs only the standard library.
"""

import argparse
import json
import statistics

import ns3sim

STOCK = {"controller": "newreno-stock", "recovery": "prr", "seed": 1}
CASES = {
    # Ten flows over the referee's dumbbell.
    "S1": {**STOCK, "flows": 10, "loss": 0.01, "duration": 100},
    # A hundred flows over two lossy links in series.
    "S3": {
        **STOCK,
        "flows": 100,
        "accessRate": "1Mbps",
        "accessDelay": "20ms",
        "rate": "85Mbps",
        "delay": "60ms",
        "loss": 0.01,
        "rate2": "85Mbps",
        "delay2": "60ms",
        "loss2": 0.01,
        "queue": 100,
        "duration": 30,
        "nix": "true",
    },
}


def measure(case, repeats):
    parameters = {**CASES[case], "starts": ns3sim.start_times(CASES[case]["flows"], seed=1)}
    runs = [ns3sim.run(parameters, cached=False) for _ in range(repeats)]
    wall, cpu = (statistics.median(run[clock] for run in runs) for clock in ("wall_s", "cpu_s"))
    delivered = runs[0]["delivered_packets"]
    return {
        "case": case,
        "simulator": "ns-3.44 wheel",
        "simulated_s": parameters["duration"],
        "delivered_packets": delivered,
        "wall_s": round(wall, 4),
        "cpu_s": round(cpu, 4),
        "packets_per_s": round(delivered / wall),
        "packets_per_cpu_s": round(delivered / cpu),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "cases", nargs="*", metavar="case", help=f"one of {', '.join(CASES)} (default: all)"
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="runs per case (default: %(default)s)"
    )
    options = parser.parse_args()
    for unknown in set(options.cases) - set(CASES):
        parser.error(f"unknown case '{unknown}'; the cases are {', '.join(CASES)}")
    ns3sim.build()
    for case in options.cases or CASES:
        print(json.dumps(measure(case, options.repeats)), flush=True)


if __name__ == "__main__":
    main()
