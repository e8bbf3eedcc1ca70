#!/usr/bin/env python3
"""Checks `whimbrel advise HOST`: what it measures of emulated paths against what they are.

For each path, `whimbrel serve` runs behind `whimbrel link`, and `whimbrel advise` measures it over
real packets. A row has the true and the measured rate, base RTT and random loss, and the algorithm
that is advised for the measured and for the true path. Bounds: 10 % of the rate, 5 % of the RTT, a
fifth of the loss (of 0.05 % at least), and the same advice, or one whose score on the true path is
within 0.06: two standard errors of what neighbours keep. An algorithm that is not among the first
on the true path has no score there; then the scores on the measured path count.

The rate of a recorded path is its mean over the time in which the measurement measures the rate.
The advice for the measurement is for a constant rate, so for a recorded path that varies it may be
another, if the command says that the rate varied.

Needs root, or namespaces for every user.

    referee/advise.py [--whimbrel target/release/whimbrel] [--only TEXT] [--json FILE]
                      [--trace NAME=FILE ...]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

LONG = dict(rate="20Mbit/s", rtt="600ms", loss="1%")
PATHS = [
    *[(f"satellite, run {run}", dict(LONG, seed=run)) for run in range(1, 7)],
    ("cable", dict(rate="50Mbit/s", rtt="20ms", loss="0%")),
    ("lossy continent", dict(rate="50Mbit/s", rtt="100ms", loss="0.1%")),
    ("lossy ocean", dict(rate="100Mbit/s", rtt="150ms", loss="1%")),
    ("slow and near", dict(rate="5Mbit/s", rtt="30ms", loss="0.5%")),
    ("short buffer", dict(rate="20Mbit/s", rtt="50ms", loss="0.5%", queue="0.2 bdp")),
    ("long buffer", dict(rate="10Mbit/s", rtt="60ms", loss="0%", queue="4 bdp")),
    ("radio", dict(rate="10Mbit/s", rtt="200ms", loss="3%")),
]
# Bits and seconds of the units used above.
UNITS = {"Mbit/s": 1e6, "ms": 1e-3, "%": 1e-2}


def number(text):
    unit = next(unit for unit in UNITS if text.endswith(unit))
    return float(text.removesuffix(unit)) * UNITS[unit]


def flags(path):
    words = []
    for name in ("rate", "rtt", "loss", "queue"):
        if name in path:
            words += [f"--{name}", path[name]]
    if "trace" in path:
        words += ["--rate-trace", path["trace"]]
    return words


def measure(whimbrel, path):
    """The JSON of `advise HOST` over the emulated path."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "in").mkdir()
        serve = f"{whimbrel} serve {place}/in --identity {place}/id --no-tcp >{place}/log 2>&1"
        advise = [whimbrel, "advise", "10.77.0.2", "--identity", f"{place}/id", "--json"]
        script = " ".join(f"'{word}'" for word in advise)
        done = subprocess.run(
            [whimbrel, "link", *flags(path), "--seed", str(path.get("seed", 1)), "--quiet",
             "--far", serve, "--", "sh", "-c", f"sleep 1; exec {script}"],
            capture_output=True, text=True, timeout=300,
        )
    if done.returncode != 0:
        return None, done.stderr.strip()
    return json.loads(done.stdout), done.stderr


def advice(whimbrel, path):
    done = subprocess.run([whimbrel, "advise", *flags(path), "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# Seconds from the start of `link` to the measurement, and the part of the time in which it measures
# the rate (crates/transfer/src/client/probe/stage.rs, FULL_PART).
BEGINS, FULL = 1, 0.4


def trace_rate(file, seconds):
    """The mean rate of a trace in mahimahi's format while it was measured, bit/s."""
    begin, end = BEGINS * 1000, (BEGINS + FULL * seconds) * 1000
    count = sum(begin <= int(line) < end for line in open(file) if line.strip())
    return count * 1500 * 8 / ((end - begin) / 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whimbrel", default="target/release/whimbrel")
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    parser.add_argument("--trace", action="append", default=[], metavar="NAME=FILE")
    args = parser.parse_args()
    whimbrel = str(pathlib.Path(args.whimbrel).resolve())
    paths = list(PATHS)
    for given in args.trace:
        name, file = given.split("=", 1)
        paths.append((name, dict(trace=file, rtt="50ms", loss="0%", queue="300 packets")))
    rows, bad = [], 0
    known = {}
    for name, path in paths:
        if args.only not in name:
            continue
        measured, why = measure(whimbrel, path)
        if measured is None:
            print(f"{name}: {why}", flush=True)
            bad += 1
            continue
        key = json.dumps({k: v for k, v in path.items() if k != "seed"})
        if key not in known:
            known[key] = advice(whimbrel, path)
        true, got = known[key], measured["path"]
        rate = (number(path["rate"]) if "rate" in path
                else trace_rate(path["trace"], got["seconds"]))
        rtt, loss = number(path["rtt"]), number(path["loss"])
        scores = {row["algorithm"]: row["score"] for row in true["table"]}
        if measured["use"] not in scores:
            scores = {row["algorithm"]: row["score"] for row in measured["table"]}
        given = scores.get(measured["use"], 0) or 0
        best = scores.get(true["use"], 0) or 0
        fits = {
            "rate": abs(got["rate_bps"] / rate - 1) <= 0.10,
            "rtt": abs(got["rtt_ms"] / rtt / 1e3 - 1) <= 0.05,
            "loss": abs(got["loss"] - loss) <= max(loss / 5, 0.0005),
            "advice": (measured["use"] == true["use"] or best - given <= 0.06
                       or "trace" in path and "The rate varied" in why),
        }
        bad += not all(fits.values())
        rows.append(dict(name=name, path=path, measured=got, use=measured["use"],
                         true_use=true["use"], fits=fits))
        wrong = ", ".join(what for what, fit in fits.items() if not fit)
        print(f"{name:<18} rate {rate / 1e6:7.2f} {got['rate_bps'] / 1e6:7.2f} Mbit/s  "
              f"RTT {rtt * 1e3:5.0f} {got['rtt_ms']:6.1f} ms  "
              f"loss {loss * 100:5.2f} {got['loss'] * 100:5.2f} %  "
              f"{measured['use']} ({true['use']})  {got['seconds']:.0f} s  "
              f"{'WRONG: ' + wrong if wrong else 'ok'}", flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
