#!/usr/bin/env python3
"""Which congestion controller should be the default: real transfers over emulated paths.

    bench/defaults.py --whimbrel target/release/whimbrel [--controllers cubic,bbr] [--runs 3]
                      [--only NAME] [--markdown]

Each path is run with each controller; the table has the median goodput, or the seconds, and an
asterisk where the emulator was late. Beside a CUBIC flow two goodputs are shown: the controller's
and the neighbour's. Needs root or user namespaces. Results are kept in --folder, so an interrupted
command goes on.
"""

import argparse
import json
import pathlib
import shutil
import statistics

from content import file_of
from over_link import FAR, Link, objects

CONTROLLERS = "cubic,newreno,bbr,copa,cubic+cerl-plus,whimbrel"


def path(rate, rtt, loss="0 %", **more):
    return {"rate": rate, "rtt": rtt, "loss": loss, **more}


# name: (path, size of the file, what is shown, beside)
CASES = {
    "50 Mbit/s, 100 ms": (path("50 Mbit/s", "100 ms"), 60_000_000, "rate", None),
    "50 Mbit/s, 100 ms, 0.1 %": (path("50 Mbit/s", "100 ms", "0.1 %"), 60_000_000, "rate", None),
    "50 Mbit/s, 100 ms, 1 %": (path("50 Mbit/s", "100 ms", "1 %"), 30_000_000, "rate", None),
    "200 Mbit/s, 20 ms, 1 %": (path("200 Mbit/s", "20 ms", "1 %"), 100_000_000, "rate", None),
    "1 Gbit/s, 20 ms, 1 %": (path("1 Gbit/s", "20 ms", "1 %"), 300_000_000, "rate", None),
    "20 Mbit/s, 600 ms, 8 MiB, 12 s of outage": (
        path("20 Mbit/s", "600 ms", outage="1 s..13 s"),
        8 << 20,
        "seconds",
        None,
    ),
    "20 Mbit/s, 600 ms": (path("20 Mbit/s", "600 ms"), 30_000_000, "rate", None),
    "20 Mbit/s, 600 ms, 1 %": (path("20 Mbit/s", "600 ms", "1 %"), 20_000_000, "rate", None),
    "50 Mbit/s, 40 ms, 30 s beside CUBIC": (path("50 Mbit/s", "40 ms"), 150_000_000, "pair", 30),
}


def single(link, controller, case, limit):
    flags, size, shown, _ = case
    prepare(link.folder, size)
    send = f"{link.whimbrel} send file {FAR} --identity id --json --retry-for 60s "
    send += f"--controller '{controller}'"
    far = f"{link.whimbrel} serve in --json --identity id --controller '{controller}' >/dev/null"
    _, status, output, good = link.run(flags, send, far, limit)
    found = [one for one in objects(output) if one.get("outcome") == "stored"]
    if not found:
        return {"value": None, "good": good}
    value = found[0]["seconds"] if shown == "seconds" else found[0]["goodput_bps"] / 1e6
    return {"value": value, "good": good, "lost": found[0]["lost_packets"]}


def pair(link, controller, case):
    flags, size, _, seconds = case
    prepare(link.folder, size)
    send = f"timeout -s INT {seconds} {link.whimbrel} send file {FAR} --identity id --json "
    near = f"{send} --name a --controller cubic > a.json & sleep 2; "
    near += f"{send} --name b --controller '{controller}' > b.json; wait"
    far = f"{link.whimbrel} serve in --json --identity id >/dev/null"
    _, _, _, good = link.run(flags, near, far, seconds + 30)
    rates = []
    for name in ("b", "a"):
        found = objects((link.folder / f"{name}.json").read_text())
        done = found[0].get("sent_bytes", 0) if found else 0
        rates.append(done * 8 / seconds / 1e6)
    return {"value": rates[0], "beside": rates[1], "good": good}


def prepare(folder, size):
    shutil.rmtree(folder / "in", ignore_errors=True)
    (folder / "in").mkdir(parents=True)
    file = folder / "file"
    if not file.exists() or file.stat().st_size != size:
        file_of(file, size)


def show(results, markdown):
    if not results:
        return "-"
    values = [one["value"] for one in results if one["value"] is not None]
    if len(values) < len(results):
        return "not complete"
    text = f"{statistics.median(values):.1f}"
    if "beside" in results[0]:
        text += f" / {statistics.median(one['beside'] for one in results):.1f}"
    return text + ("" if all(one["good"] for one in results) else ("\\*" if markdown else "*"))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--whimbrel", required=True)
    parser.add_argument("--controllers", default=CONTROLLERS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", action="append", help="cases whose name contains this")
    parser.add_argument("--limit", type=float, default=150, help="seconds of a run, at most")
    parser.add_argument("--folder", default="target/defaults", help="where to work")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    folder = pathlib.Path(options.folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    link = Link(options.whimbrel, folder)
    file = folder / "results.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    names = options.controllers.split(",")
    cases = {
        name: case
        for name, case in CASES.items()
        if not options.only or any(part in name for part in options.only)
    }
    for run in range(1, options.runs + 1):
        for name, case in cases.items():
            for controller in names:
                key = f"{name}|{controller}|{run}"
                if key in kept:
                    continue
                seeded = ({**case[0], "seed": run}, *case[1:])
                if case[3]:
                    kept[key] = pair(link, controller, seeded)
                else:
                    kept[key] = single(link, controller, seeded, options.limit)
                print(key, kept[key], flush=True)
                file.write_text(json.dumps(kept, indent=1))
    print("| path | " + " | ".join(f"`{name}`" for name in names) + " |")
    print("|---|" + "---:|" * len(names))
    for name in cases:
        cells = []
        for controller in names:
            keys = [f"{name}|{controller}|{run}" for run in range(1, options.runs + 1)]
            cells.append(show([kept[key] for key in keys if key in kept], options.markdown))
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
