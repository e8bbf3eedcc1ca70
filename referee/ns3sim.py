"""Runs target/referee/dumbbell and wifi, ns-3's side of every comparison, and caches their results.

A result of ns-3 depends only on the program and its parameters, so it is kept in
target/referee/cache under the hash of both. Those that `make referee` needs are kept with the
sources, in answers.json; each time a sample of them is run again and must be the same. Needs only
Python 3's standard library.
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
ANSWERS = HERE / "answers.json"
# What of a result depends on the machine, or is not compared.
LEFT_OUT = ("wall_s", "cpu_s", "events", "flows")
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


def recorded(points, program, again):
    """As `run_all`, but from answers.json; `again` of them (None: all) are run again, too.

    Exits if one differs, is missing, or if answers.json was made by other sources.
    """
    kept = json.loads(ANSWERS.read_text()).get(program, {})
    if kept.get("sources") != fingerprint(program):
        raise SystemExit(f"{ANSWERS.name} was made by other sources of {program}: use --record")
    names = [" ".join(arguments(point)) for point in points]
    if missing := [name for name in names if name not in kept["answers"]]:
        raise SystemExit(f"{ANSWERS.name} has no answer for {program} {missing[0]}: use --record")
    answers = [kept["answers"][name] for name in names]
    chosen = range(len(points)) if again is None else random.sample(range(len(points)), again)
    fresh = run_all([points[i] for i in chosen], program=program, cached=False)
    for i, answer in zip(chosen, fresh):
        if compared(answer) != answers[i]:
            raise SystemExit(f"ns-3 differs from {ANSWERS.name}: {program} {names[i]}")
    return answers


def record(points, program):
    """Runs these simulations, and writes answers.json with them as all that is kept of `program`."""
    everything = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    answers = run_all(points, program=program)
    everything[program] = {
        "sources": fingerprint(program),
        "answers": {
            " ".join(arguments(point)): compared(answer) for point, answer in zip(points, answers)
        },
    }
    ANSWERS.write_text("{" + ",\n".join(map(written, sorted(everything.items()))) + "}\n")
    return answers


def written(entry):
    """A program's part of answers.json, an answer in a line."""
    program, kept = entry
    lines = [f"{json.dumps(of)}: {json.dumps(answer)}" for of, answer in kept["answers"].items()]
    answers = ",\n".join(lines)
    return f'"{program}": {{"sources": "{kept["sources"]}", "answers": {{\n{answers}\n}}}}'


def compared(answer):
    """What of a result is the same on each machine."""
    return {key: value for key, value in answer.items() if key not in LEFT_OUT}


def add_arguments(parser, again):
    """Options of a comparison that may take ns-3's half from answers.json."""
    parser.add_argument(
        "--live", action="store_true", help="ns-3's half from its cache, or run; not answers.json"
    )
    parser.add_argument("--record", action="store_true", help="run ns-3's half and keep it")
    parser.add_argument("--full", action="store_true", help="run again all that answers.json has")
    parser.set_defaults(again=again)


def answers(points, program, options):
    """ns-3's half, in the order of the points, from where the options say."""
    if options.record:
        return record(points, program)
    if options.live or options.ns3_only:
        return run_all(points, options.jobs, program)
    return recorded(points, program, None if options.full else options.again)
