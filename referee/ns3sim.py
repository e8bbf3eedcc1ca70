"""Runs target/referee/dumbbell and wifi, ns-3's side of every comparison, and caches their results.

A result of ns-3 depends only on the program and its parameters, so it is kept in
target/referee/cache under the hash of both. Those that `make referee` needs are kept with the
sources (`Kept`); each time a sample of them is run again and must be the same. Needs only Python
3's standard library.
"""

import hashlib
import json
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = Path(os.environ.get("WHIMBREL_REFEREE_DIR", HERE.parent / "target" / "referee"))
CACHE = OUT / "cache"
ANSWERS = HERE / "answers.json"
SOURCES = {"dumbbell": ("dumbbell.cc", "laws.h"), "wifi": ("wifi.cc",)}


def build():
    """Builds the programs that are out of date."""
    subprocess.run([str(HERE / "build.sh")], check=True, stdout=subprocess.DEVNULL)


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


class Kept:
    """ns-3's half of a comparison, kept in answers.json under its `name`: what the `program`
    answered, as far as it is compared, and a hash of its sources."""

    def __init__(self, name, program, fields):
        self.name, self.program, self.fields = name, program, fields

    def answers(self, points, options, again):
        """ns-3's half, in the order of the points, from where the options say, and how a run that
        was repeated differs, in words. `again`: the indices of points that are repeated."""
        if options.record or options.fresh or options.ns3_only:
            fresh = run_all(points, options.jobs, self.program)
            if options.record:
                self.write(points, fresh)
            return fresh, []
        names, answers = self.read(points)
        again = range(len(points)) if options.full else again
        fresh = run_all([points[i] for i in again], options.jobs, self.program, cached=False)
        changed = [
            f"ns-3 differs from {ANSWERS.name}: {names[i]}: {self.compared(answer)} instead of "
            f"{answers[i]}"
            for i, answer in zip(again, fresh)
            if self.compared(answer) != answers[i]
        ]
        return answers, changed

    def compared(self, answer):
        """What of an answer is compared; it is the same on each machine."""
        return {key: answer[key] for key in self.fields if key in answer}

    def read(self, points):
        """Names and kept answers of the points. Exits if one is missing, or the sources differ."""
        kept = json.loads(ANSWERS.read_text()).get(self.name, {})
        if kept.get("sources") != fingerprint(self.program):
            raise SystemExit(f"{self.name}: the answers in {ANSWERS.name} are of other sources; "
                             "keep new ones with --record, or use --fresh")
        names = [" ".join(arguments(point)) for point in points]
        if missing := [name for name in names if name not in kept["answers"]]:
            raise SystemExit(f"{self.name}: {ANSWERS.name} has no answer for {missing[0]}; keep it "
                             "with --record, or use --fresh")
        return names, [kept["answers"][name] for name in names]

    def write(self, points, answers):
        """Keeps these answers, and no others of this comparison."""
        everything = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
        named = zip((" ".join(arguments(point)) for point in points), answers)
        everything[self.name] = {
            "sources": fingerprint(self.program),
            "answers": {name: self.compared(answer) for name, answer in named},
        }
        ANSWERS.write_text("{" + ",\n".join(map(written, sorted(everything.items()))) + "}\n")


def written(entry):
    """A comparison's part of answers.json, an answer in a line."""
    name, kept = entry
    lines = [f"{json.dumps(of)}: {json.dumps(answer)}" for of, answer in kept["answers"].items()]
    answers = ",\n".join(lines)
    return f'"{name}": {{"sources": "{kept["sources"]}", "answers": {{\n{answers}\n}}}}'


def add_arguments(parser):
    """Options of a comparison whose half of ns-3 is kept."""
    parser.add_argument(
        "--fresh", action="store_true", help="ns-3's half from its cache, or run; not answers.json"
    )
    parser.add_argument("--record", action="store_true", help="run ns-3's half and keep it")
    parser.add_argument("--full", action="store_true", help="repeat all of ns-3's runs")
