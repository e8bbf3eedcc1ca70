#!/usr/bin/env python3
"""Speed of a sweep on Ray with two local workers, beside the command with two threads.

    make build python
    target/venv/bin/pip install --no-deps --force-reinstall target/wheels/whimbrel-*.whl
    target/venv/bin/python bench/ray_sweep.py

The two take turns, so that other programs on the machine slow both. Prints runs per second by the
wall clock, and by the processor time of the command or of the cluster and this process. The cluster
is started before; its start is printed apart. The parts are read as one table at the end.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import psutil
import whimbrel
from whimbrel import ray as on_ray

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--runs", type=int, default=100_000, help="of a turn")
parser.add_argument("--turns", type=int, default=3)
parser.add_argument("--whimbrel", default="target/release/whimbrel")
args = parser.parse_args()

scenario = whimbrel.Scenario(
    rate="10 Mbit/s", rtt="20 ms", loss=["0 %", "1 %"], controllers=["cubic", "cerl"],
    duration="5 s", seeds=args.runs // 4,
)


def spent():
    """Processor time of this process and its children, those included that ended, seconds."""
    own = psutil.Process()
    total = own.cpu_times().children_user + own.cpu_times().children_system
    for process in [own, *own.children(recursive=True)]:
        try:
            times = process.cpu_times()
            total += times.user + times.system
        except psutil.Error:
            pass
    return total


def timed(work):
    begin, before = time.perf_counter(), spent()
    work()
    return time.perf_counter() - begin, spent() - before


begin = time.perf_counter()
on_ray.start(workers=2)
folder = pathlib.Path(tempfile.mkdtemp())
# The workers start, and import.
few = whimbrel.Scenario(rate="1 Mbit/s", duration="1 s", seeds=50)
on_ray.sweep(few, part=1, storage=folder / "few", progress=False)
print(f"cluster and workers started in {time.perf_counter() - begin:.1f} s", flush=True)
file = folder / "path.toml"
file.write_text(scenario.text)
ratios = []
for turn in range(args.turns):
    command = [args.whimbrel, "sim", file, "--threads", "2"]
    own = timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
    parts = folder / f"parts-{turn}"
    ray = timed(lambda: on_ray.sweep(scenario, storage=parts, progress=False))
    shutil.rmtree(parts)
    ratios.append([one / other for one, other in zip(own, ray)])
    for name, (wall, cpu) in [("threads", own), ("ray", ray)]:
        speeds = f"{len(scenario) / wall:7,.0f} runs/s, {len(scenario) / cpu:7,.0f} per CPU second"
        print(f"{name:8} {wall:7.1f} s {speeds}", flush=True)
wall, cpu = (statistics.median(one) for one in zip(*ratios))
print(f"ray / threads: {wall:.2f} by the wall clock, {cpu:.2f} by processor time (medians)")
shutil.rmtree(folder)
