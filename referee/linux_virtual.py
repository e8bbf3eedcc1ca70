#!/usr/bin/env python3
"""Compares the simulator with Linux 6.1's own congestion controls, in virtual time.

A run on Linux's side is a User Mode Linux of its own: a whole kernel as a program, whose clock
stands still while it computes. So the result does not depend on the machine's speed or on what
else runs there, and a seed mostly repeats byte for byte. uml/build.sh builds it, uml/init.c is what
runs in it. The path is netem's: the bottleneck's rate and queue, then random loss of data, then the
delay.

Needs what uml/build.sh needs, once, `setarch`, and Python 3's standard library; no root. Linux's
results are kept in target/referee/linux-virtual.json, so an interrupted command continues where it
stopped.

    referee/linux_virtual.py                                      the table
    referee/linux_virtual.py --only cubic,reno --seeds 40         these, more exactly
    referee/linux_virtual.py --only yeah --point 1,3 --trace DIR  both sides' windows, as CSV

Exits with 1 if Whimbrel's goodput over Linux's is outside of its bounds by more than two standard
errors. The bounds are 0.9 and 1.1; DIFFERENCES has those of algorithms that differ, and why.
"""

import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from linux_ends import WINDOW
from linux_runs import SCENARIO, Contestant, Progress, Results, referee_directory

HERE = Path(__file__).resolve().parent
# The path: bit/s, s, packets without the one in service.
RATE, RTT, BUFFER = 20e6, 0.046, 61
FLOWS, LOSSES = (1, 3), (0.3, 3.0)
SECONDS = 60
# Each flow starts at a time drawn from 0 s to this.
STARTS = 1.0
# Runs of the simulator, which cost less than Linux's.
SIMULATED = 100
# A run takes seconds of a processor; one that lasts longer than this, s, hangs.
PATIENCE = 900
# Interval of a trace, s.
STEP = 0.02
# A trace's columns, in `init.c`'s order.
COLUMNS = "time_s flow cwnd ssthresh rtt_ms unacked sacked lost retransmitted state".split()
BOUNDS = (0.9, 1.1)

# Linux's module and Whimbrel's controller with Linux's constants.
CONTESTANTS = {
    "reno": "newreno",
    "cubic": "cubic?linux=true",
    "bbr": "bbr",
    "veno": "veno",
    "illinois": "illinois",
    "yeah": "yeah?linux=true",
    "westwood": "westwood-plus?linux=true",
    "hybla": "hybla?linux=true",
    "vegas": "vegas?linux=true",
    "bic": "bic?B=4&Smax=16&Smin=0.2&beta=0.2",
    "highspeed": "highspeed",
    "scalable": "scalable?linux=true",
}
# Where the ratio of a module may be if not within BOUNDS. README.md has the reasons.
DIFFERENCES = {
    "hybla": (0.8, 1.1),
    "highspeed": (0.9, 1.35),
}


@dataclass(frozen=True)
class Point:
    """So many flows over the path with this loss in %."""

    flows: int
    loss: float
    seconds: float

    def title(self):
        return f"{self.flows} flow{'s' if self.flows > 1 else ''}, {self.loss:g} %"

    def path(self):
        path = f"{RATE:g}|{RTT:g}|{BUFFER}|{WINDOW}|{STARTS:g}"
        return f"{path}|{self.flows}|{self.loss:g}|{self.seconds:g}"


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--whimbrel", default=str(HERE.parent / "target/release/whimbrel"))
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=list(CONTESTANTS),
        help=f"only these of Linux's modules: {','.join(CONTESTANTS)}",
    )
    parser.add_argument("--controller", help="Whimbrel's controller, beside --only with one module")
    parser.add_argument(
        "--point", metavar="FLOWS,LOSS", help="only this: number of flows, loss in percent"
    )
    parser.add_argument("--seeds", type=int, default=12, help="runs of Linux (default: 12)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="length (default: 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs of Linux at once")
    parser.add_argument("--again", action="store_true", help="ignore kept results")
    parser.add_argument(
        "--trace", type=Path, metavar="DIR", help="write the windows of seed 1 of both sides here"
    )
    options = parser.parse_args()
    if unknown := set(options.only) - set(CONTESTANTS):
        parser.error(f"unknown module {unknown.pop()}: there are {', '.join(CONTESTANTS)}")
    if options.controller and len(options.only) != 1:
        parser.error("--controller needs --only with one module")
    if options.seeds < 2:
        parser.error("--seeds: at least 2, for a standard error")
    return options


def points(options):
    if not options.point:
        return [Point(flows, loss, options.seconds) for flows in FLOWS for loss in LOSSES]
    try:
        flows, loss = options.point.split(",")
        return [Point(int(flows), float(loss), options.seconds)]
    except ValueError:
        sys.exit(f"linux_virtual: --point {options.point}: expected FLOWS,LOSS like 1,0.3")


def linux_run(directory, point, module, seed, step=0):
    """One run of Linux: goodput of all flows in Mbit/s, retransmissions, timeouts; and samples
    every `step` seconds."""
    with tempfile.TemporaryDirectory() as root:
        shutil.copy(directory / "init", root)
        Path(root, "proc").mkdir()
        # The random numbers follow from the seed, and also from the command line and the place in
        # memory. So neither depends on the run: the root is the current directory.
        command = ["setarch", "-R", directory / "linux", "mem=1G", f"seed={seed}"]
        command += ["time-travel=inf-cpu", "time-travel-start=1700000000000000000"]
        command += ["root=/dev/root", "rootfstype=hostfs", "rootflags=/proc/self/cwd", "rw"]
        command += ["con=null", "con0=null,fd:1", "init=/init", "--", "result=/result"]
        command += [f"algorithm={module}", f"flows={point.flows}", f"loss={point.loss / 100:.9g}"]
        command += [f"seconds={point.seconds:g}", f"rate={RATE:.0f}", f"rtt={RTT:g}"]
        command += [f"buffer={BUFFER}", f"window={WINDOW}", f"starts={STARTS:g}"]
        command += [f"draw={seed}", f"sample={step:g}"]
        console = subprocess.run(
            command,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            env={"PATH": os.environ["PATH"], "TMPDIR": root, "HOME": root},
            check=False,
        ).stdout.decode(errors="replace")
        result = Path(root, "result")
        lines = result.read_text().splitlines() if result.exists() else []
    if lines[-1:] != ["done"]:
        last = (lines or console.splitlines() or ["no output"])[-1]
        raise RuntimeError(f"{module}, seed {seed}: {last}")
    words = [line.split() for line in lines]
    flows = [line for line in words if line[0] == "flow"]
    return {
        "mbps": sum(int(flow[2]) for flow in flows) * 8e-6 / point.seconds,
        "retransmissions": sum(int(flow[4]) for flow in flows),
        "timeouts": next(int(line[1]) for line in words if line[0] == "timeouts"),
        "samples": [[int(word) for word in line[1:]] for line in words if line[0] == "sample"],
    }


def simulate(whimbrel, point, controller, seeds, step=None):
    """The simulator's runs, as `whimbrel sim --json` has them."""
    text = SCENARIO.format(
        rate=f"{RATE / 1e6:g} Mbit/s",
        delay=RTT / 2 * 1e3,
        queue=f"{BUFFER} packets",
        loss=point.loss,
        controller=controller,
        seconds=point.seconds,
        seeds=seeds,
        window=WINDOW,
    )
    flow = f'[[flow]]\ncount = {point.flows}\nstart = "0 s .. {STARTS:g} s"'
    text = text.replace("[[flow]]", flow) + "quick_acks = 16\n"
    if step:
        text += f'sample = "{step:g} s"\n'
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as scenario:
        scenario.write(text)
        scenario.flush()
        command = [whimbrel, "sim", scenario.name, "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"linux_virtual: `{whimbrel} sim` failed for {controller}")
    return json.loads(done.stdout)["runs"]


def trace(options, directory, place, module, controller):
    """Writes the windows of seed 1 of both sides, segments."""
    options.trace.mkdir(parents=True, exist_ok=True)
    name = f"{module}-{place.flows}-{place.loss:g}"
    theirs = linux_run(directory, place, module, 1, STEP)["samples"]
    with open(options.trace / f"{name}-linux.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for at, flow, cwnd, ssthresh, rtt, *rest in theirs:
            table.writerow([at / 1e9, flow, cwnd, ssthresh, rtt / 1e3, *rest])
    run = simulate(options.whimbrel, place, controller, 1, STEP)[0]
    with open(options.trace / f"{name}-whimbrel.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*COLUMNS[:5], "in_flight", "state"])
        for number, flow in enumerate(run["flows"]):
            for at in flow["samples"]:
                sizes = ("cwnd_bytes", "ssthresh_bytes", "in_flight_bytes")
                cwnd, ssthresh, in_flight = ((at[size] or 0) / 1448 for size in sizes)
                row = [at["at_s"], number, cwnd, ssthresh, at["srtt_ms"], in_flight, at["phase"]]
                table.writerow(row)


def mean_and_error(values):
    return statistics.fmean(values), statistics.stdev(values) / len(values) ** 0.5


def linux_runs(options, directory, results, places):
    """Runs what is not kept yet."""
    contestants = [Contestant(name, True, CONTESTANTS[name]) for name in options.only]
    wanted = [
        ("virtual", place, contestant, seed)
        for seed in range(1, options.seeds + 1)
        for contestant in contestants
        for place in places
    ]
    missing = [key for key in wanted if results.get(*key) is None]
    progress, began = Progress(len(missing)), time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = {}
        for key in missing:
            _, place, contestant, seed = key
            runs[pool.submit(linux_run, directory, place, contestant.name, seed)] = key
        try:
            for done, run in enumerate(as_completed(runs), 1):
                results.put(run.result(), *runs[run])
                left = (len(missing) - done) * (time.monotonic() - began) / done
                progress.show(done, left)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            progress.end()
    return {key[1:]: results.get(*key) for key in wanted}


def table(options, runs, places):
    """Prints the table, and whether a ratio is outside of its bounds."""
    print("| Linux | Whimbrel | path | Linux Mbit/s | Whimbrel Mbit/s | ratio | timeouts |")
    print("|---|---|---|---|---|---|---|")
    outside = False
    for module in options.only:
        controller = options.controller or CONTESTANTS[module]
        for place in places:
            mine = [
                runs[place, Contestant(module, True, CONTESTANTS[module]), seed]
                for seed in range(1, options.seeds + 1)
            ]
            ours = simulate(options.whimbrel, place, controller, SIMULATED)
            a, a_error = mean_and_error([run["mbps"] for run in mine])
            b, b_error = mean_and_error([run["total"]["goodput_bps"] / 1e6 for run in ours])
            ratio = b / a
            error = ratio * ((a_error / a) ** 2 + (b_error / b) ** 2) ** 0.5
            low, high = DIFFERENCES.get(module, BOUNDS)
            off = ratio < low - 2 * error or ratio > high + 2 * error
            outside |= off
            timeouts = statistics.fmean(run["timeouts"] for run in mine)
            own = statistics.fmean(sum(flow["timeouts"] for flow in run["flows"]) for run in ours)
            print(
                f"| {module} | `{controller}` | {place.title()} | {a:.2f} ± {a_error:.2f} "
                f"| {b:.2f} ± {b_error:.2f} | {ratio:.2f} ± {error:.2f}{'*' if off else ''} "
                f"| {timeouts:.1f}, {own:.1f} |",
                flush=True,
            )
    if outside:
        print("\n* outside of its bounds by more than two standard errors")
    return outside


def main():
    options = arguments()
    build = subprocess.run([HERE / "uml/build.sh"], stdout=subprocess.PIPE, text=True, check=False)
    if build.returncode:
        return 1
    directory = Path(build.stdout.strip())
    places = points(options)
    if options.trace:
        for module in options.only:
            for place in places:
                controller = options.controller or CONTESTANTS[module]
                trace(options, directory, place, module, controller)
        return 0
    # Linux's results depend on neither Whimbrel nor this file, except `linux_run()`'s command.
    file = referee_directory() / "linux-virtual.json"
    results = Results(file, directory / "linux", options.again, [directory / "init"])
    try:
        runs = linux_runs(options, directory, results, places)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        sys.exit(f"linux_virtual: a run of Linux failed: {error}")
    return int(table(options, runs, places))


if __name__ == "__main__":
    sys.exit(main())
