#!/usr/bin/env python3
"""Points of the matrix with real packets: `send` through `link`, beside the simulator.

    referee/points.py --whimbrel target/release/whimbrel [--controller whimbrel] [--only b01,f10]

A point of the matrix is a scenario with one link; `link --scenario` emulates it. The simulator
runs it once with the packets and timers of `whimbrel send`; what the flow under test then delivers
is the size of the file that is sent. So the same seconds mean the same rate. A flow `other` of the
point is another `send`, with its controller, that does not end before.

Prints both rates and their ratio, a line for each point. Nothing is judged: a busy machine is
slower. Needs root or user namespaces.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import tomllib

FAR = "10.77.0.2"
ROOT = pathlib.Path(__file__).resolve().parent.parent
MATRIX = ROOT / "experiments/matrix"
# Of each class at least one; fades, noise and neighbours among them.
POINTS = "a01 a02 a04 b01 b02 c09 c13 d01 e03 f04 f10 g03 g05".split()
# The packets and timers of `whimbrel send`, as `whimbrel compare --print-scenario` has them.
AS_SENT = {
    "recovery": '"rack"',
    "mss": '"1414 B"',
    "header": '"66 B"',
    "ack_delay": '"25 ms"',
    "min_rto": '"200 ms"',
    "pacing": "1.25",
    "seeds": "1",
}


def with_controller(text, controller):
    """The scenario of a point, with this controller for the flow under test."""
    text = re.sub(r"^\[point\]\n.*?(?=^\[)", "", text, flags=re.DOTALL | re.MULTILINE)
    return text.replace('name = "t"', f'name = "t"\ncontroller = "{controller}"', 1)


def simulated(whimbrel, scenario):
    """The flow under test in the simulator: bytes, and the seconds for which it was active."""
    settings = [f"--set=run.{key}={value}" for key, value in AS_SENT.items()]
    command = [whimbrel, "sim", str(scenario), "--json", *settings]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    flows = json.loads(output)["runs"][0]["flows"]
    flow = next(flow for flow in flows if flow["name"] == "t")
    return flow["delivered_bytes"], flow["completion_s"] or flow["active_s"]


def others(point):
    """Controllers of the other flows."""
    flows = [flow for flow in point["flow"] if flow["name"] != "t"]
    return [flow["controller"] for flow in flows for _ in range(flow.get("count", 1))]


def write(path, size):
    """A file of random bytes, in parts: one call makes 256 MB at most."""
    data = random.Random(1)
    part = 1 << 24
    with path.open("wb") as file:
        for begin in range(0, size, part):
            file.write(data.randbytes(min(part, size - begin)))


def real(whimbrel, folder, scenario, controller, size, neighbours, limit):
    """The seconds of the same transfer through the emulated link; `None` if it failed."""
    write(folder / "file", size)
    (folder / "in").mkdir(exist_ok=True)
    serve = f"exec {whimbrel} serve in --identity id --overwrite > served.txt 2>&1"
    send = f"{whimbrel} send %s {FAR} --identity id --json --controller '%s'"
    begin = []
    for i, other in enumerate(neighbours):
        write(folder / f"other{i}", 400_000_000)
        begin.append(send % (f"other{i}", other) + f" > other{i}.txt 2>&1 & ")
    wait = "sleep 2; " if neighbours else ""
    end = "; kill $(jobs -p) 2>/dev/null; true" if neighbours else ""
    script = "".join(begin) + wait + send % ("file", controller) + " > sent.txt" + end
    command = [whimbrel, "link", "--quiet", "--scenario", str(scenario), "--link", "L"]
    command += ["--far", serve, "--", "bash", "-c", script]
    try:
        subprocess.run(command, cwd=folder, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None
    sent = [line for line in (folder / "sent.txt").read_text().splitlines() if line.startswith("{")]
    return json.loads(sent[-1]).get("seconds") if sent else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whimbrel", required=True, type=pathlib.Path)
    parser.add_argument("--controller", default="whimbrel")
    parser.add_argument("--only", default=",".join(POINTS), help="points, separated by commas")
    options = parser.parse_args()
    whimbrel = options.whimbrel.resolve()
    load = os.getloadavg()[0]
    print(f"{options.controller}; load average at the beginning {load:.1f}")
    print("point  simulated  real (Mbit/s)  real/simulated")
    failed = []
    for name in options.only.split(","):
        text = (MATRIX / f"{name}.toml").read_text()
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            scenario = folder / "point.toml"
            scenario.write_text(with_controller(text, options.controller))
            size, seconds = simulated(whimbrel, scenario)
            neighbours = others(tomllib.loads(text))
            limit = 30 + 4 * seconds
            took = real(
                whimbrel, folder, scenario, options.controller, size, neighbours, limit
            )
        if took is None:
            failed.append(name)
            print(f"{name:5}  the transfer failed, or took more than {limit:.0f} s", flush=True)
            continue
        rates = [size * 8e-6 / s for s in (seconds, took)]
        print(f"{name:5}  {rates[0]:9.2f}  {rates[1]:13.2f}  {seconds / took:14.2f}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
