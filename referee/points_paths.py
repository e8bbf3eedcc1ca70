"""The points of points.py: what is simulated, and the scenario that `whimbrel link` emulates."""

import hashlib
import json
import re
import statistics
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from linux_ends import WINDOW

MATRIX = Path(__file__).resolve().parent.parent / "experiments/matrix"
# The packets and timers of each transport. QUIC: those of `whimbrel send`, as `whimbrel compare
# --print-scenario` has them. TCP: Linux's, as linux.py has them.
TRANSPORTS = {
    "quic": {
        "recovery": '"rack"',
        "mss": '"1414 B"',
        "header": '"66 B"',
        "ack_delay": '"25 ms"',
        "min_rto": '"200 ms"',
        "pacing": "1.25",
    },
    "tcp": {
        "recovery": '"rack"',
        "min_rto": '"200 ms"',
        "nack": '"off"',
        "quick_acks": "16",
        "receive_window": f'"{WINDOW} B"',
    },
}

@dataclass(frozen=True)
class Point:
    """A point of the matrix with a controller, as it is simulated and emulated."""

    name: str
    scenario: str
    rtt_ms: float
    # When the flow under test starts: the earliest and the latest time, s.
    start: tuple
    # The other flows: controller and start.
    others: tuple
    # The size of the flow under test, bytes; `None`: endless.
    size: int | None

    def path(self):
        """Stands for the point where results are kept."""
        return f"{self.name}|{hashlib.sha256(self.scenario.encode()).hexdigest()[:16]}"


@dataclass
class Simulated:
    """What the simulator's runs say, one entry for each seed."""

    # Bytes to send, and the predicted time of that, s.
    size: int
    seconds: float
    mbps: list = field(default_factory=list)
    # The others' goodput together, from their beginning on.
    others_mbps: list = field(default_factory=list)

    def load(self):
        """The rate of all flows, Mbit/s."""
        return statistics.median(self.mbps) + statistics.median(self.others_mbps)


def point(name, controller):
    """The point of this name, with this controller for the flow under test."""
    original = (MATRIX / f"{name}.toml").read_text()
    parsed = tomllib.loads(original)
    flows = parsed["flow"]
    tested = [flow for flow in flows if flow["name"] == "t"]
    if list(parsed["link"]) != ["L"] or len(tested) != 1 or tested[0].get("count", 1) != 1:
        raise ValueError(f"{name}: only points with one link and one flow `t` can be emulated")
    text = re.sub(r"^\[point\]\n.*?(?=^\[)", "", original, flags=re.DOTALL | re.MULTILINE)
    text = text.replace('name = "t"\n', f'name = "t"\ncontroller = "{controller}"\n', 1)
    others = [flow for flow in flows if flow["name"] != "t"]
    return Point(
        name,
        text,
        float(parsed["point"]["rtt"].removesuffix(" ms")),
        span(tested[0].get("start", "0 s")),
        tuple(
            (flow["controller"], span(flow.get("start", "0 s")))
            for flow in others
            for _ in range(flow.get("count", 1))
        ),
        bytes_of(tested[0]["size"]) if "size" in tested[0] else None,
    )


def span(text):
    """The ends of a start such as `0 s .. 2 s` or `5 s`, s."""
    ends = [float(end.strip().removesuffix(" s")) for end in text.split("..")]
    return ends[0], ends[-1]


def bytes_of(text):
    """The bytes of a size such as `10 MB`."""
    number, unit = text.split()
    return int(float(number) * {"kB": 10**3, "MB": 10**6, "GB": 10**9}[unit])


def simulate(whimbrel, point, transport, seeds, folder):
    """Runs the point in the simulator. What the median run delivers is what is sent."""
    scenario = Path(folder) / f"{point.name}-{transport}.toml"
    scenario.write_text(point.scenario)
    settings = {**TRANSPORTS[transport], "seeds": seeds}
    command = [whimbrel, "sim", str(scenario), "--json"]
    command += [f"--set=run.{key}={value}" for key, value in settings.items()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"{point.name}: {done.stderr.strip()}")
    result = Simulated(0, 0)
    sizes, times = [], []
    for run in json.loads(done.stdout)["runs"]:
        flow = next(flow for flow in run["flows"] if flow["name"] == "t")
        sizes.append(flow["delivered_bytes"])
        times.append(flow["completion_s"] or flow["active_s"])
        result.mbps.append(sizes[-1] * 8e-6 / times[-1])
        others = [flow for flow in run["flows"] if flow["name"] != "t"]
        rate = sum(flow["delivered_bytes"] * 8e-6 / flow["active_s"] for flow in others)
        result.others_mbps.append(rate)
    result.size = point.size or int(statistics.median(sizes))
    result.seconds = statistics.median(times)
    return result
