#!/usr/bin/env python3
"""Measures Whimbrel's speed: the simulator on four scenarios, ns-3 on those that it can run, and
real transfers over loopback. Prints a table, or with --json one JSON object.

Every figure is the median of several repetitions on one core. Timings on a busy machine are noisy.
To compare machines use the ratio to ns-3, which is measured in the same session.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def simulate(whimbrel, scenario):
    """One repetition over all seeds: packets, events, wall seconds, and peak memory in MiB."""
    command = [whimbrel, "sim", str(scenario), "--json", "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} failed")
    runs = json.loads(output)["runs"]
    wall = sum(run["wall_s"] for run in runs)
    packets = sum(run["delivered_packets"] for run in runs)
    return {
        "packets_per_s": packets / wall,
        "events_per_packet": sum(run["events"] for run in runs) / packets,
        "simulated_s_per_s": sum(run["duration_s"] for run in runs) / wall,
        "wall_s_per_run": wall / len(runs),
        "peak_memory_mb": usage.ru_maxrss / 1024,
    }


def median(rows):
    """The median of each figure over the repetitions."""
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def ns3():
    """ns-3's packets per second by case; empty, with a message, if ns-3 is not available."""
    build = subprocess.run([ROOT / "referee/build.sh"], stdout=sys.stderr, check=False)
    if build.returncode != 0:
        print("bench: ns-3 is not available; its columns are omitted", file=sys.stderr)
        return {}
    rows = subprocess.run(
        [sys.executable, ROOT / "referee/bench.py"], stdout=subprocess.PIPE, check=True
    ).stdout
    rows = [json.loads(row) for row in rows.splitlines()]
    return {row["case"]: row["packets_per_s"] for row in rows}


def transfer():
    """Real transfers over loopback: goodput, and CPU seconds per GB."""
    command = ["cargo", "bench", "--quiet", "-p", "whimbrel-transfer", "--bench", "loopback"]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    return json.loads(output.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whimbrel", default=str(ROOT / "target/release/whimbrel"))
    parser.add_argument("--repeat", type=int, default=5, help="repetitions (default: 5)")
    parser.add_argument("--no-ns3", action="store_true", help="omit ns-3")
    parser.add_argument("--no-transfer", action="store_true", help="omit the transfer")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()

    peers = {} if options.no_ns3 else ns3()
    cases = {}
    for case in ["S1", "S2", "S3", "S4"]:
        scenario = HERE / f"{case.lower()}.toml"
        cases[case] = median([simulate(options.whimbrel, scenario) for _ in range(options.repeat)])
        if case in peers:
            cases[case]["ns3_packets_per_s"] = peers[case]
            cases[case]["times_ns3"] = cases[case]["packets_per_s"] / peers[case]
    result = {"simulator": cases}
    if not options.no_transfer:
        result["transfer"] = transfer()
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(
        f"{'':4}{'packets/s':>12}{'events/packet':>15}{'sim s/s':>10}{'s/run':>8}{'peak MB':>9}"
        f"{'ns-3 packets/s':>16}{'ratio':>8}"
    )
    for case, row in cases.items():
        beside = f"{'-':>16}{'-':>8}"
        if "times_ns3" in row:
            beside = f"{row['ns3_packets_per_s']:16,.0f}{row['times_ns3']:8.0f}"
        print(
            f"{case:4}{row['packets_per_s']:12,.0f}{row['events_per_packet']:15.2f}"
            f"{row['simulated_s_per_s']:10,.0f}{row['wall_s_per_run']:8.3f}"
            f"{row['peak_memory_mb']:9.1f}{beside}"
        )
    if "transfer" in result:
        row = result["transfer"]
        print(
            f"\ntransfer over loopback: {row['goodput_bps'] / 1e9:.2f} Gbit/s, "
            f"{row['cpu_s_per_gb']:.2f} CPU seconds per GB (both ends)"
        )


if __name__ == "__main__":
    main()
