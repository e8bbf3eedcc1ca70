"""The runs of linux.py: what is run, one run, many at once, and the file that keeps the results."""

import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from linux_ends import WINDOW

ENDS = Path(__file__).resolve().parent / "linux_ends.py"
# A run whose emulator wrote one packet in a hundred later than this part of the RTT is spoiled, as
# in `whimbrel demo`; but at least this much is tolerated, which short paths need.
LATE_SHARE, LATE_MS = 0.05, 0.5
# A spoiled run is repeated this many times, with less beside it.
REPEATS = 2
# Causes of losses, and decisions on them.
CAUSES = ("congestion", "random")
# Start and end of a run, beside its duration.
OVERHEAD_S = 1.5

SCENARIO = """
[link.L]
rate = "{rate}"
delay = "{delay} ms"
queue = "{queue}"
loss = "{loss} %"
[[flow]]
controller = "{controller}"
route = ["L"]
[run]
duration = "{seconds} s"
seeds = {seeds}
recovery = "rack"
min_rto = "200 ms"
nack = "off"
receive_window = "{window} B"
"""


@dataclass(frozen=True)
class Point:
    """A path, and how long and how often each contestant runs on it."""

    rate: str
    rtt_ms: float
    queue: str
    loss: float
    seconds: float
    seeds: int

    def title(self):
        return f"{self.rate}, {self.rtt_ms:g} ms, {self.queue}, {self.loss:g} % loss"

    def path(self):
        return f"{self.rate}|{self.rtt_ms:g}|{self.queue}|{self.loss:g}|{self.seconds:g}"


@dataclass(frozen=True)
class Contestant:
    """A congestion control: the kernel's, or Whimbrel's on the kernel's TCP."""

    name: str
    kernel: bool
    # What the simulator runs to predict it.
    predicted_by: str

    def key(self):
        return f"{'kernel' if self.kernel else 'whimbrel'}:{self.name}"


class Results:
    """Results by key, kept in a file after each run, so that an interrupted command continues where
    it stopped. A key contains everything that determines a result: the program byte for byte, the
    kernel, this code, the path, the contestant, the seed."""

    def __init__(self, file, whimbrel, again, parts=(ENDS, __file__)):
        self.file = file
        digest = hashlib.sha256()
        for part in (whimbrel, *parts):
            digest.update(Path(part).read_bytes())
        self.program = digest.hexdigest()[:16]
        self.kept = {}
        if file.exists():
            self.kept = json.loads(file.read_text())
        if again:
            self.kept = {}

    def key(self, kind, point, contestant, seed):
        host = platform.release() if kind == "linux" else "simulator"
        return "|".join([kind, self.program, host, point.path(), contestant.key(), str(seed)])

    def get(self, *key):
        return self.kept.get(self.key(*key))

    def put(self, value, *key):
        self.kept[self.key(*key)] = value
        self.file.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.file.with_suffix(".new")
        temporary.write_text(json.dumps(self.kept, indent=0))
        temporary.replace(self.file)


def predict(whimbrel, results, point, contestant, seeds):
    """Goodput of the simulator's runs, and the mean of the rate at which they sent, Mbit/s."""
    kept = results.get("simulator", point, contestant, seeds)
    if kept is not None:
        return kept["goodput"], kept["sent"]
    text = SCENARIO.format(
        rate=point.rate,
        delay=point.rtt_ms / 2,
        queue=point.queue,
        loss=point.loss,
        controller=contestant.predicted_by,
        seconds=point.seconds,
        seeds=seeds,
        window=WINDOW,
    )
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as scenario:
        scenario.write(text)
        scenario.flush()
        command = [whimbrel, "sim", scenario.name, "--json"]
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    runs = json.loads(output.stdout)["runs"]
    goodput = [run["total"]["goodput_bps"] / 1e6 for run in runs]
    sent = statistics.mean(run["total"]["throughput_bps"] for run in runs) / 1e6
    results.put({"goodput": goodput, "sent": sent}, "simulator", point, contestant, seeds)
    return goodput, sent


class Run:
    """One run on the kernel's TCP, in its own `whimbrel link`."""

    def __init__(self, whimbrel, scratch, point, contestant, seed, load):
        self.point, self.contestant, self.seed, self.load = point, contestant, seed, load
        self.repeats = 0
        self.whimbrel = whimbrel
        name = f"{point.path()}-{contestant.key()}-{seed}".replace("/", "_").replace(" ", "")
        self.count = Path(scratch) / f"{name}.count"
        self.path = Path(scratch) / f"{name}.json"
        self.errors = Path(scratch) / f"{name}.errors"
        self.process = None

    def start(self):
        for file in (self.count, self.path):
            file.unlink(missing_ok=True)
        ends = [sys.executable, "-I", "-S", str(ENDS)]
        quoted = " ".join(f"'{word}'" for word in ends)
        point = self.point
        receive = f"exec {quoted} receive '{self.count}' {point.seconds} {point.rtt_ms / 1e3}"
        command = [self.whimbrel, "link", "--quiet", "--json", self.path]
        command += ["--rate", point.rate, "--rtt", f"{point.rtt_ms:g} ms"]
        command += ["--queue", point.queue, "--loss", f"{point.loss:g} %"]
        command += ["--seed", str(self.seed), "--far", receive]
        if not self.contestant.kernel:
            command += ["--controller", self.contestant.name]
        own = self.contestant.name if self.contestant.kernel else "-"
        command += ["--", *ends, "send", own, str(point.seconds)]
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(command, stderr=errors, stdin=subprocess.DEVNULL)

    def ended(self):
        return self.process is not None and self.process.poll() is not None

    def result(self):
        """The result of a run that has ended."""
        try:
            status = self.process.returncode
            text = self.errors.read_text().strip().splitlines() or ["no reason given"]
            if status != 0:
                return {"failed": f"exit status {status}: {text[-1]}"}
            path = json.loads(self.path.read_text())
            count = int(self.count.read_text())
        except (OSError, ValueError) as error:
            return {"failed": str(error)}
        directions = (path["forward"], path["backward"])
        late = max(d["lateness_s"]["p99"] for d in directions)
        missed = sum((d["lost_before_the_path"] or 0) + d["lost_for_memory"] for d in directions)
        result = {
            "mbps": count * 8 / self.point.seconds / 1e6,
            "late_ms": late * 1e3,
            "missed": missed,
        }
        if tcp := path.get("tcp"):
            result["fallbacks"] = tcp["fallbacks"]
            result["dropped_events"] = tcp["dropped_events"]
            result["answer_p99_ms"] = tcp["answer_p99_us"] / 1e3
            verdicts = [c["verdicts"] for c in tcp["connections"]]
            truths = [v["truth"] for v in verdicts if v and v["truth"]]
            result["truth"] = {
                cause: [sum(truth[f"{cause}_as_{as_}"] for truth in truths) for as_ in CAUSES]
                for cause in CAUSES
            }
            # A run under our algorithm whose sender the report does not know was not under it.
            sent = max((c["acked_bytes"] for c in tcp["connections"]), default=0)
            if sent < count / 2:
                result["failed"] = "the sender was not under the algorithm"
        elif not self.contestant.kernel:
            result["failed"] = "the link reported no connections"
        return result

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def spoiled(result, point):
    """Why a result is not that of the path: the emulator did not keep up."""
    late = max(LATE_SHARE * point.rtt_ms, LATE_MS)
    if result["late_ms"] > late:
        return f"1 packet in 100 was {result['late_ms']:.1f} ms late (limit {late:.1f} ms)"
    if result["missed"]:
        return f"the emulator missed {result['missed']} packets"
    return None


def estimate(runs, jobs, load):
    """The time in seconds that the runs take."""
    spans = [run.point.seconds + OVERHEAD_S for run in runs]
    if not spans:
        return 0
    by_load = sum(min(run.load, load) * span for run, span in zip(runs, spans)) / load
    return max(by_load, sum(spans) / jobs, max(spans))


def run_all(runs, results, jobs, load):
    """Runs everything, as much at once as the machine carries: at most `jobs` runs, whose predicted
    sending rates sum up to at most `load` Mbit/s. Heavy runs come first; light ones fill the
    gaps."""
    waiting = sorted(runs, key=lambda run: -run.load)
    total, running, done = len(waiting), [], 0
    progress = Progress(total)
    try:
        while waiting or running:
            for run in [run for run in running if run.ended()]:
                running.remove(run)
                result = run.result()
                why = None if "failed" in result else spoiled(result, run.point)
                if why and run.repeats < REPEATS:
                    run.repeats += 1
                    # It then has more of the machine for itself.
                    run.load = max(2 * run.load, load / 8)
                    waiting.append(run)
                    continue
                if why:
                    result["spoiled"] = why
                results.put(result, "linux", run.point, run.contestant, run.seed)
                done += 1
            used = sum(run.load for run in running)
            free = (r for r in waiting if used + r.load <= load or not running)
            following = next(free, None) if len(running) < jobs else None
            if following:
                waiting.remove(following)
                following.start()
                running.append(following)
            progress.show(done, estimate(waiting, jobs, load) + (21 if running else 0))
            # Also staggers the starts, which use more of a processor than the runs.
            time.sleep(0.15)
    finally:
        for run in running:
            run.stop()
        progress.end()


class Progress:
    """A line with the number of runs and the time left; without a terminal once a minute."""

    def __init__(self, total):
        self.total, self.shown = total, time.monotonic()
        self.terminal = sys.stderr.isatty()

    def show(self, done, left):
        now = time.monotonic()
        if now - self.shown < (1 if self.terminal else 60):
            return
        self.shown = now
        text = f"{done} of {self.total} runs, {left / 60:.0f} min left"
        print(f"\r{text}\033[K" if self.terminal else text, end="", file=sys.stderr, flush=True)
        if not self.terminal:
            print(file=sys.stderr)

    def end(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def referee_directory():
    """Where everything is kept."""
    default = Path(__file__).resolve().parent.parent / "target/referee"
    return Path(os.environ.get("WHIMBREL_REFEREE_DIR", default))
