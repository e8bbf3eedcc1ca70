#!/usr/bin/env python3
"""Compares Whimbrel's goodput with the Linux kernel's TCP: Reno and CUBIC, sent through `whimbrel
link`, and the simulator on the same path. All kernel runs are concurrent, each over its own path,
so the table takes as long as one run. Needs the rights of `whimbrel link` (root, or namespaces and
/dev/net/tun for any user) and only the standard library.

Both sides use the same link code, but not the same packets, so losses hit different packets:
compare means, with their standard errors. Exits with 1 if a mean is off by more than --tolerance
and by more than two standard errors.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PORT = 5001
FAR = "10.77.0.2"
# The kernel's name -> Whimbrel's. The kernel has another HyStart than HyStart++; it hardly matters
# at these losses.
CONTROLLERS = {"reno": "newreno", "cubic": "cubic"}

SCENARIO = """
[link.L]
rate = "{rate}"
delay = "{delay} ms"
queue = "100 packets"
loss = "{loss} %"
[[flow]]
controller = "{controller}"
route = ["L"]
[run]
duration = "{seconds} s"
seeds = 40
recovery = "rack"
min_rto = "200 ms"
"""


def sink(path):
    """Accepts one connection and periodically writes the number of received bytes to a file."""
    with socket.create_server(("0.0.0.0", PORT)) as server:
        connection, _ = server.accept()
        count, written = 0, 0.0
        while data := connection.recv(1 << 16):
            count += len(data)
            if time.monotonic() - written > 0.1:
                written = time.monotonic()
                Path(path).write_text(str(count))
        Path(path).write_text(str(count))


def source(seconds, name):
    """Sends for this time with one of the kernel's congestion controllers."""
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        connection.connect((FAR, PORT))
        connection.settimeout(1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                connection.send(bytes(14480))
            except TimeoutError:
                pass


def kernel(options, scratch):
    """Goodput of every kernel run in Mbit/s, by controller and loss."""
    running = {}
    for name in CONTROLLERS:
        for loss in options.loss:
            for seed in range(1, options.seeds + 1):
                count = Path(scratch) / f"{name}-{loss}-{seed}"
                me = f"{sys.executable} {Path(__file__).resolve()}"
                command = [
                    options.whimbrel,
                    "link",
                    "--quiet",
                    "--rate",
                    options.rate,
                    "--delay",
                    f"{options.delay} ms",
                    "--queue",
                    "100 packets",
                    "--loss",
                    f"{loss} %",
                    "--seed",
                    str(seed),
                    "--far",
                    f"{me} --sink {count}",
                    "--",
                    *me.split(),
                    "--source",
                    name,
                    "--seconds",
                    str(options.seconds),
                ]
                running[name, loss, seed] = (count, subprocess.Popen(command))
    rates = {}
    for (name, loss, _), (count, process) in running.items():
        if process.wait() != 0:
            sys.exit(f"linux: {name} at {loss} % failed")
        rates.setdefault((name, loss), []).append(
            int(count.read_text()) * 8 / options.seconds / 1e6
        )
    return rates


def simulated(options, name, loss):
    """Goodput of the simulator's runs in Mbit/s."""
    text = SCENARIO.format(
        rate=options.rate,
        delay=options.delay,
        loss=loss,
        seconds=options.seconds,
        controller=CONTROLLERS[name],
    )
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as scenario:
        scenario.write(text)
        scenario.flush()
        output = subprocess.run(
            [options.whimbrel, "sim", scenario.name, "--json"], stdout=subprocess.PIPE, check=True
        )
    return [run["total"]["goodput_bps"] / 1e6 for run in json.loads(output.stdout)["runs"]]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--whimbrel", default=str(ROOT / "target/release/whimbrel"))
    parser.add_argument("--rate", default="8 Mbit/s")
    parser.add_argument(
        "--delay", type=float, default=70, help="ms, each way (default: %(default)s)"
    )
    parser.add_argument(
        "--loss", type=float, nargs="+", default=[0.5, 2, 5], help="%% (default: %(default)s)"
    )
    parser.add_argument(
        "--seeds", type=int, default=5, help="kernel runs per point (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=60, help="duration of a run (default: %(default)s)"
    )
    parser.add_argument("--tolerance", type=float, default=0.15)
    parser.add_argument("--sink", help=argparse.SUPPRESS)
    parser.add_argument("--source", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.sink:
        return sink(options.sink)
    if options.source:
        return source(options.seconds, options.source)

    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        rates = kernel(options, scratch)
    print("controller  loss %      Linux Mbit/s   Whimbrel Mbit/s  ratio")
    wrong = False
    for (name, loss), theirs in rates.items():
        ours = simulated(options, name, loss)
        mean = statistics.mean(theirs)
        error = statistics.stdev(theirs) / len(theirs) ** 0.5 if len(theirs) > 1 else mean
        ratio = statistics.mean(ours) / mean
        off = abs(ratio - 1) > options.tolerance and abs(statistics.mean(ours) - mean) > 2 * error
        wrong |= off
        print(
            f"{name:10}{loss:8g}   {mean:8.3f} ± {error:.3f}  {statistics.mean(ours):8.3f} ± "
            f"{statistics.stdev(ours) / len(ours) ** 0.5:.3f}  {ratio:5.2f}  "
            f"{'differs' if off else 'ok'}"
        )
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
