"""A sweep on Ray whose workers are killed at random ten times: the script of a test.

Runs in a process of its own, so that nothing here can end the test run. Kills only workers of the
cluster that it starts, by their process ids. Prints what it found as JSON.
"""

import json
import pathlib
import random
import signal
import sys
import threading
import time

import psutil
import pyarrow.parquet
import ray
import whimbrel
from whimbrel import ray as on_ray

KILLS = 10
MOST_SWEEPS = 10
SCENARIO = whimbrel.Scenario(
    rate="20 Mbit/s", rtt="20 ms", loss=["0 %", "1 %"], controllers=["cubic", "cerl"],
    duration="10 s", seeds=100,
)


def busy():
    """The workers of this process's cluster that play a part now."""
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if child.cmdline()[:1] and child.cmdline()[0].startswith("ray::_play"):
                found.append(child)
        except psutil.Error:
            pass
    return found


def kill(chance, over, killed):
    while len(killed) < KILLS and not over.is_set():
        # Not at the same place of a part each time.
        time.sleep(chance.uniform(0.02, 0.15))
        # A killed worker may still be listed on a busy machine.
        workers = [worker for worker in busy() if worker.pid not in killed]
        if workers:
            victim = chance.choice(workers)
            try:
                victim.send_signal(signal.SIGKILL)
                killed.append(victim.pid)
            except psutil.Error:
                pass


def main(storage):
    on_ray.start(workers=2)
    over, killed = threading.Event(), []
    killer = threading.Thread(target=kill, args=(random.Random(1), over, killed))
    killer.start()
    sweeps = []
    try:
        # A sweep may end before the last of them.
        while not sweeps or len(killed) < KILLS and len(sweeps) < MOST_SWEEPS:
            folder = pathlib.Path(storage) / str(len(sweeps))
            table = whimbrel.sweep(SCENARIO, engine="ray", storage=folder, part=10, progress=False)
            sweeps.append((folder, table))
    finally:
        over.set()
        killer.join()
        ray.shutdown()
    here = whimbrel.run(SCENARIO, progress=False, tables=["flows"]).to_arrow()
    here = here.replace_schema_metadata(None)
    found = {"killed": len(killed), "parts": [], "runs": [], "left_over": [], "same_bits": []}
    for folder, table in sweeps:
        files = sorted(folder.glob("part-*.parquet"))
        runs = [pyarrow.parquet.read_table(file)["run"].to_pylist() for file in files]
        found["parts"].append(len(files))
        found["runs"].append(sum(runs, []) == list(range(400)))
        found["left_over"].append(len(list(folder.glob(".*"))))
        found["same_bits"].append(table.cast(here.schema).equals(here))
    print(json.dumps({name: found[name] if name == "killed" else sorted(set(found[name]))
                      for name in found}))


if __name__ == "__main__":
    main(sys.argv[1])
