"""One run of points.py: the flow under test through `whimbrel link --scenario`, over QUIC or on
Linux TCP, as `run_all` of linux_runs.py starts it."""

import json
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from linux_ends import FAR

ENDS = Path(__file__).resolve().parent / "points_ends.py"
# Whimbrel's name -> the kernel's.
KERNELS = {"newreno": "reno", "cubic": "cubic", "bbr": "bbr"}
# A run is ended after this many times the predicted time, and so many seconds more.
PATIENCE, GRACE = 4, 30
# Over QUIC encryption and two user programs take more of a processor for the same rate.
QUIC_LOAD = 2
# Another flow sends a file of this size, which does not end before, bytes.
ENDLESS = 800_000_000


@dataclass(frozen=True)
class Case:
    """What linux_runs.py needs of a point."""

    key: str
    rtt_ms: float
    # The predicted duration.
    seconds: float

    def path(self):
        return self.key


@dataclass(frozen=True)
class Flow:
    """What linux_runs.py needs of the flow under test."""

    transport: str
    controller: str
    neighbours: str

    def key(self):
        return f"{self.transport}:{self.controller}:{self.neighbours}"


def write(path, size):
    """A file of random bytes, in parts: one call makes 256 MB at most."""
    data = random.Random(1)
    part = 1 << 24
    with path.open("wb") as file:
        for begin in range(0, size, part):
            file.write(data.randbytes(min(part, size - begin)))


class Run:
    """One run. `simulated` decides the size; `time_lines` is where a CSV of the flow goes."""

    def __init__(self, options, scratch, point, flow, simulated, seed, time_lines=None):
        self.options, self.place, self.contestant, self.seed = options, point, flow, seed
        self.simulated, self.time_lines = simulated, time_lines
        # When each flow starts, s: the seed decides, as in the simulator.
        draw = random.Random(f"{point.name} {seed}")
        spans = [point.start, *(start for _, start in point.others)]
        self.starts = [draw.uniform(*span) for span in spans]
        self.point = Case(point.path(), point.rtt_ms, simulated.seconds + self.starts[0])
        self.load = simulated.load() * (QUIC_LOAD if flow.transport == "quic" else 1)
        self.repeats = 0
        self.folder = Path(scratch) / f"{point.name}-{flow.transport}-{seed}"
        self.process = None

    def start(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        (self.folder / "point.toml").write_text(self.place.scenario)
        far, near = self.quic() if self.contestant.transport == "quic" else self.tcp()
        limit = GRACE + PATIENCE * self.point.seconds
        command = ["timeout", "-k", "5", str(limit), self.options.whimbrel, "link", "--quiet"]
        command += ["--scenario", "point.toml", "--link", "L", "--seed", str(self.seed)]
        command += ["--json", "path.json", "--far", far, "--", "bash", "-c", near]
        with (self.folder / "errors").open("w") as errors:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )

    def script(self, tested, others):
        """The near end's commands, each at its time."""
        first, *starts = self.starts
        begin = "".join(
            f"(sleep {start:.3f}; {other}) & " for start, other in zip(starts, others)
        )
        if first:
            begin += f"sleep {first:.3f}; "
        return f"{begin}{tested}; status=$?; kill $(jobs -p) 2>/dev/null; exit $status"

    def quic(self):
        whimbrel = self.options.whimbrel
        (self.folder / "in").mkdir()
        write(self.folder / "file", self.simulated.size)
        if self.place.others:
            write(self.folder / "other", ENDLESS)
        send = f"{whimbrel} send --identity id --json"
        others = [
            f"{send} other {FAR} --name other{i} --controller '{other}' > other{i}.txt 2>&1"
            for i, (other, _) in enumerate(self.place.others)
        ]
        far = f"exec {whimbrel} serve in --identity id --overwrite > served.txt 2>&1"
        tested = f"{send} file {FAR} --controller '{self.contestant.controller}' > sent.txt"
        return far, self.script(tested, others)

    def tcp(self):
        whimbrel = self.options.whimbrel
        python = f"'{sys.executable}' '{ENDS}'"
        tcp = f"{whimbrel} tcp --quiet --controller"

        def other(number, name):
            kernel = KERNELS.get(name) if self.options.neighbours == "kernel" else None
            send = f"{python} send {kernel or '-'} {number} 0 other{number}.json"
            return send if kernel else f"{tcp} '{name}' -- {send}"

        others = [other(i + 1, name) for i, (name, _) in enumerate(self.place.others)]
        tested = f"{tcp} '{self.contestant.controller}' --output tcp.json"
        if self.time_lines:
            tested += f" --time-line '{self.time_lines / self.folder.name}.csv'"
        tested += f" -- {python} send - 0 {self.simulated.size} sent.json"
        far = f"exec {python} receive received.json {len(others) + 1}"
        return far, self.script(tested, others)

    def ended(self):
        return self.process is not None and self.process.poll() is not None

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def result(self):
        """The result of a run that has ended."""
        try:
            if self.process.returncode == 124:
                return {"failed": f"it took more than {PATIENCE} times the predicted time"}
            if self.process.returncode:
                text = (self.folder / "errors").read_text().strip().splitlines() or ["no reason"]
                return {"failed": f"exit status {self.process.returncode}: {text[-1]}"}
            quic = self.contestant.transport == "quic"
            result = self.quic_result() if quic else self.tcp_result()
            path = json.loads((self.folder / "path.json").read_text())
        except (OSError, ValueError, IndexError) as error:
            return {"failed": str(error)}
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        directions = (path["forward"], path["backward"])
        result["late_ms"] = 1e3 * max(d["lateness_s"]["p99"] for d in directions)
        missed = [(d["lost_before_the_path"] or 0) + d["lost_for_memory"] for d in directions]
        result["missed"] = sum(missed)
        return result

    def quic_result(self):
        text = (self.folder / "sent.txt").read_text()
        sent = [line for line in text.splitlines() if line.startswith("{")]
        return {"mbps": self.simulated.size * 8e-6 / json.loads(sent[-1])["seconds"]}

    def tcp_result(self):
        read = lambda name: json.loads((self.folder / name).read_text())
        tcp, began = read("tcp.json"), read("sent.json")["began"]
        tested, *others = read("received.json")
        end, size = tested[-1]
        result = {"mbps": size * 8e-6 / (end - began)}
        if size != self.simulated.size:
            result["failed"] = f"{size} of {self.simulated.size} bytes arrived"
        # What each of the others got from its beginning to the end of the flow under test.
        rates = [8e-6 * arrived[-1][1] / (end - arrived[0][0]) for arrived in others if arrived]
        result["others_mbps"] = sum(rates)
        if tcp["fallbacks"] or tcp["dropped_events"]:
            result["failed"] = "the connection was not under the algorithm throughout"
        flow = max(tcp["connections"], key=lambda c: c["acked_bytes"], default=None)
        if flow is None or flow["acked_bytes"] < size / 2:
            result["failed"] = "the sender was not under the algorithm"
        return result
