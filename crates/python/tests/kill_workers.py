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
SCENARIO = whimbrel.Scenario(
    rate="20 Mbit/s", rtt="20 ms", loss=["0 %", "1 %"], controllers=["cubic", "cerl"],
    duration="30 s", seeds=100,
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
        workers = busy()
        if workers:
            victim = chance.choice(workers)
            try:
                victim.send_signal(signal.SIGKILL)
                killed.append(victim.pid)
            except psutil.Error:
                pass


def main(storage):
    storage = pathlib.Path(storage)
    on_ray.start(workers=2)
    over, killed = threading.Event(), []
    killer = threading.Thread(target=kill, args=(random.Random(1), over, killed))
    killer.start()
    try:
        there = whimbrel.sweep(SCENARIO, engine="ray", storage=storage, part=10, progress=False)
    finally:
        over.set()
        killer.join()
    files = sorted(storage.glob("part-*.parquet"))
    runs = [pyarrow.parquet.read_table(file)["run"].to_pylist() for file in files]
    ray.shutdown()
    here = whimbrel.run(SCENARIO, progress=False, tables=["flows"]).to_arrow()
    here = here.replace_schema_metadata(None)
    found = {
        "killed": len(set(killed)),
        "parts": len(files),
        "runs": sum(runs, []) == list(range(400)),
        "left_over": len(list(storage.glob(".*"))),
        "same_bits": there.cast(here.schema).equals(here),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
