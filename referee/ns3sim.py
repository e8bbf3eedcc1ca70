"""Runs target/referee/dumbbell and wifi, ns-3's side of every comparison, and caches their results.

A result of ns-3 depends only on the program and its parameters, so it is kept in
target/referee/cache under the hash of both. Needs only Python 3's standard library.
"""

import hashlib
import json
import os
import random
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = Path(os.environ.get("WHIMBREL_REFEREE_DIR", HERE.parent / "target" / "referee"))
CACHE = OUT / "cache"
SOURCES = {"dumbbell": ("dumbbell.cc", "laws.h"), "wifi": ("wifi.cc",)}


def build():
    """Builds the programs that are out of date."""
    subprocess.run([str(HERE / "build.sh")], check=True, stdout=subprocess.DEVNULL)


def version():
    """The version of ns-3 that build.sh installs."""
    return re.search(r"^version=(\S+)$", (HERE / "build.sh").read_text(), re.MULTILINE).group(1)


def fingerprint(program):
    """A hash of all our files that determine the program's results."""
    parts = [
        hashlib.sha256((HERE / name).read_bytes()).hexdigest()
        for name in (*SOURCES[program], "build.sh")
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def start_times(flows, seed, low=0.0, high=5.0):
    """A start time for each flow, uniform over low..high seconds, determined by flows and seed."""
    generator = random.Random(f"starts {flows} {seed}")
    return [round(generator.uniform(low, high), 6) for _ in range(flows)]


def arguments(parameters):
    """{'rate': '8Mbps', 'loss': 0.01} -> ['--rate=8Mbps', '--loss=0.01']; lists use commas."""

    def text(value):
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)

    return [f"--{name}={text(value)}" for name, value in sorted(parameters.items())]


def run(parameters, cached=True, program="dumbbell"):
    """Runs one simulation and returns the program's JSON output."""
    command = arguments(parameters)
    what = "\0".join([fingerprint(program), *command])
    kept = CACHE / (hashlib.sha256(what.encode()).hexdigest() + ".json")
    if cached and kept.exists():
        return json.loads(kept.read_text())
    answer = subprocess.run(
        [str(OUT / program), *command], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    if cached:
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(f".{os.getpid()}.tmp")
        unfinished.write_text(answer)
        unfinished.replace(kept)
    return json.loads(answer)


def run_all(points, jobs=None, program="dumbbell", cached=True):
    """Runs many simulations concurrently; results in the order of the points."""
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(lambda point: run(point, cached, program), points))
