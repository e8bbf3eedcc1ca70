"""The runs of aatp.py: what is run, one real run, its twin in the simulator, the decisions beside
the truth, and the file that keeps the results."""

import csv
import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENDS, TCP_ENDS = HERE / "aatp_ends.py", HERE / "linux_ends.py"
FAR = "10.77.0.2"
# Causes of losses, and decisions on them.
CAUSES = ("congestion", "random")
# The causes that `link --lost` names and that a lower rate could have prevented.
CONGESTION = {"queue", "early", "contention"}
# A run whose emulator wrote one packet in a hundred later than this part of the RTT is spoiled, as
# in `whimbrel demo`; a millisecond is always permitted.
LATE_SHARE, LATE_MS = 0.05, 1.0
# Time between the server's reports, seconds.
REPORTS = 0.1

# QUIC's settings in the simulator, as in `whimbrel demo`: 1414 bytes of a file in a UDP payload of
# 1452, an acknowledgment for two packets or after 25 ms, pacing at 5/4 of a window per round trip.
# AATP has packets of its own, of 1500 bytes with 1429 of the file.
QUIC = """mss = "1414 B"
header = "66 B"
ack_delay = "25 ms"
min_rto = "200 ms"
pacing = 1.25
recovery = "rack"
"""


@dataclass(frozen=True)
class Flow:
    """A transfer. Without a size it goes on until `stop`. Times in seconds."""

    controller: str = "enhanced-aatp"
    priority: int = 1
    size: int | None = None
    start: float = 0
    stop: float | None = None

    def bursts(self):
        return self.controller.split("?")[0] in ("aatp", "enhanced-aatp")


@dataclass(frozen=True)
class Case:
    """A path and its flows."""

    rate: str
    delay_ms: float
    flows: tuple
    loss: float = 0
    fades: tuple = ()
    # The kernel's CUBIC beside the flows: its start and end, seconds.
    tcp: tuple | None = None
    # End of the simulated run, seconds; None: when all files are delivered.
    end: float | None = None
    # Compare the decisions of the first flow with the truth.
    judge: bool = False
    seed: int = 1
    queue: str = "1 bdp"

    def rate_bps(self):
        number, unit = self.rate.split()
        return float(number) * {"Mbit/s": 1e6, "Gbit/s": 1e9}[unit]

    def key(self):
        return json.dumps(asdict(self), sort_keys=True)

    def span(self):
        """About how long it takes, seconds."""
        if self.end is not None:
            return self.end + 2
        fades = sum(to - since for since, to in self.fades)
        return 2 + 1.6 * fades + max(f.size or 0 for f in self.flows) * 8.6 / self.rate_bps()


@dataclass
class Results:
    """Results by key, kept in a file after each run, so that an interrupted command continues where
    it stopped. A key contains everything that determines a result."""

    file: Path
    whimbrel: str
    again: bool = False
    kept: dict = field(default_factory=dict)

    def __post_init__(self):
        digest = hashlib.sha256()
        for part in (Path(self.whimbrel), ENDS, TCP_ENDS, Path(__file__)):
            digest.update(part.read_bytes())
        self.program = digest.hexdigest()[:16]
        if self.file.exists() and not self.again:
            self.kept = json.loads(self.file.read_text())

    def key(self, kind, case):
        host = platform.release() if kind == "real" else "simulator"
        return "|".join([kind, self.program, host, case.key()])

    def get(self, kind, case):
        return self.kept.get(self.key(kind, case))

    def put(self, value, kind, case):
        self.kept[self.key(kind, case)] = value
        self.file.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.file.with_suffix(".new")
        temporary.write_text(json.dumps(self.kept))
        temporary.replace(self.file)


def referee_directory():
    """Where everything is kept."""
    default = HERE.parent / "target/referee"
    return Path(os.environ.get("WHIMBREL_REFEREE_DIR", default))


# The simulator.


def scenario(case):
    """The scenario file of a case."""
    fades = ", ".join(f'["{since} s", "{to} s"]' for since, to in case.fades)
    lines = [
        "[link.L]",
        f'rate = "{case.rate}"',
        f'delay = "{case.delay_ms} ms"',
        f'queue = "{case.queue}"',
        f'loss = {{ random = "{case.loss} %", outages = [{fades}] }}',
    ]
    for number, flow in enumerate(case.flows):
        lines += ["[[flow]]", f'name = "f{number}"', f'controller = "{flow.controller}"']
        lines += ['route = ["L"]', f'start = "{flow.start} s"']
        if flow.bursts():
            lines.append(f"priority = {flow.priority}")
        if flow.size is not None:
            lines.append(f'size = "{flow.size} B"')
        if flow.stop is not None and flow.stop != case.end:
            lines.append(f'stop = "{flow.stop} s"')
    if case.tcp:
        lines += ["[[flow]]", 'name = "tcp"', 'controller = "cubic"', 'route = ["L"]']
        lines += [f'start = "{case.tcp[0]} s"']
    lines += ["[run]", f'duration = "{case.end or 1000} s"', 'sample = "100 ms"']
    if not all(flow.bursts() for flow in case.flows):
        lines += [QUIC]
    elif case.tcp:
        # As in linux.py.
        lines += ['recovery = "rack"', 'min_rto = "200 ms"']
    return "\n".join(lines)


def simulate(results, case):
    """The outcome of a case in the simulator."""
    kept = results.get("simulator", case)
    if kept is not None:
        return kept
    with tempfile.TemporaryDirectory() as scratch:
        file, samples = Path(scratch) / "case.toml", Path(scratch) / "samples.csv"
        shares = Path(scratch) / "shares.csv"
        file.write_text(scenario(case))
        command = [results.whimbrel, "sim", file, "--seeds", "1", "--json", "--save"]
        command += [f"samples={samples}"]
        if any(flow.bursts() for flow in case.flows):
            command += ["--save", f"destination-samples={shares}"]
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        run = json.loads(output.stdout)["runs"][0]
        outcome = {"flows": [], "link": run["links"][0], "series": sampled(samples, shares)}
    for flow in run["flows"][: len(case.flows)]:
        truth = flow.get("discrimination")
        outcome["flows"].append(
            {
                "seconds": flow.get("completion_s"),
                "goodput_bps": flow["goodput_bps"],
                "truth": truth and cells(truth),
                "lost": flow["lost"],
                "sent": flow["packets_sent"],
            }
        )
    results.put(outcome, "simulator", case)
    return outcome


def sampled(samples, shares):
    """The goodput of each flow and the weighted fairness over time: lists of [s, value]."""
    series, last = {}, {}
    with open(samples) as file:
        for row in csv.DictReader(file):
            name, at, bytes_ = row["flow"], float(row["at_s"]), int(row["delivered_bytes"])
            before, count = last.get(name, (0.0, 0))
            if at > before:
                rate = (bytes_ - count) * 8 / (at - before)
                series.setdefault(name, []).append([at, rate])
            last[name] = (at, bytes_)
    if shares.exists():
        with open(shares) as file:
            rows = [[float(r["at_s"]), float(r["fairness"])] for r in csv.DictReader(file)]
            series["fairness"] = rows
    return series


def cells(truth):
    """A confusion matrix: by cause, the decisions in the order of CAUSES."""
    matrix = {c: [truth[f"{c}_as_{as_}"] for as_ in CAUSES] for c in CAUSES}
    matrix["unknown"] = truth.get("spurious", 0)
    return matrix


# The real thing.


def real(results, case, prefix):
    """The outcome of a case over `whimbrel link`. `prefix`: a command that runs a command."""
    kept = results.get("real", case)
    if kept is not None and "failed" not in kept and "spoiled" not in kept:
        return kept
    scratch = tempfile.mkdtemp(prefix="whimbrel-aatp-")
    try:
        os.chmod(scratch, 0o755)
        outcome = run(results.whimbrel, case, Path(scratch), prefix)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    why = None if "failed" in outcome else spoiled(outcome, case)
    if why:
        outcome["spoiled"] = why
    results.put(outcome, "real", case)
    return outcome


def run(whimbrel, case, scratch, prefix):
    inbox, state, path = scratch / "inbox", scratch / "state", scratch / "path.json"
    lost, events, orders = scratch / "lost.csv", scratch / "events", scratch / "orders.json"
    inbox.mkdir()
    quoted = lambda *words: " ".join(shlex.quote(str(word)) for word in words)
    serve = [whimbrel, "serve", inbox, "--identity", state, "--json"]
    serve += ["--interval", f"{REPORTS} s"]
    far = f"{quoted(*serve)} > {quoted(events)}"
    commands = []
    for number, flow in enumerate(case.flows):
        file = scratch / f"f{number}"
        # Sparse: QUIC encrypts, so the content does not matter.
        with open(file, "wb") as out:
            out.truncate(flow.size or int(case.rate_bps() / 8 * (case.end or 1) * 1.2))
        send = [whimbrel, "send", file, FAR, "--identity", state, "--json"]
        send += ["--controller", flow.controller]
        if flow.bursts():
            send += ["--priority", flow.priority]
        if case.judge and number == 0:
            send += ["--packet-log", scratch / "packets.csv"]
        commands.append(order(send, flow.start, flow.stop, scratch / f"out{number}"))
    ends = [sys.executable, "-I", "-S"]
    if case.tcp:
        start, end = case.tcp
        receive = [*ends, TCP_ENDS, "receive", scratch / "tcp", end - start, 0]
        far = f"{quoted(*receive)} & {far}"
        send = [*ends, TCP_ENDS, "send", "cubic", end - start]
        commands.append(order(send, start, None, scratch / "out-tcp"))
    orders.write_text(json.dumps(commands))
    command = [*prefix, whimbrel, "link", "--quiet", "--json", path, "--lost", lost]
    command += ["--rate", case.rate, "--delay", f"{case.delay_ms} ms", "--queue", case.queue]
    command += ["--loss", f"{case.loss} %", "--seed", case.seed]
    for since, to in case.fades:
        command += ["--outage", f"{since} s..{to} s"]
    command += ["--far", far, "--", sys.executable, "-I", ENDS, orders]
    limit = 60 + 4 * case.span()
    try:
        done = subprocess.run(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not finished after {limit:.0f} s"}
    if done.returncode:
        errors = [done.stderr.decode(errors="replace")]
        errors += [f.read_text() for f in sorted(scratch.glob("*.errors"))]
        lines = "\n".join(errors).strip().splitlines() or ["no reason given"]
        return {"failed": f"exit status {done.returncode}: {lines[-1]}"}
    return outcome(case, scratch, json.loads(path.read_text()))


def order(argv, start, stop, out):
    return {
        "argv": [str(word) for word in argv],
        "start": start,
        "stop": stop,
        "out": str(out),
        "errors": f"{out}.errors",
    }


def outcome(case, scratch, path):
    """What a run that has ended showed."""
    found = {"flows": [], "path": path, "series": reported(scratch / "events")}
    for number, flow in enumerate(case.flows):
        text = (scratch / f"out{number}").read_text().strip()
        if not text and flow.stop is None:
            return {"failed": (scratch / f"out{number}.errors").read_text().strip()}
        summary = json.loads(text) if text else {}
        summary.pop("intervals", None)
        if case.judge and number == 0:
            summary["truth"] = judged(scratch / "packets.csv", scratch / "lost.csv")
        found["flows"].append(summary)
    if case.tcp:
        count = int((scratch / "tcp").read_text())
        found["tcp_bps"] = count * 8 / (case.tcp[1] - case.tcp[0])
    return found


def reported(events):
    """The rate of each flow and the weighted fairness over time, from the server's events: lists of
    [s, value]. Time counts from the acceptance of the first transfer."""
    series, origin = {}, None
    for line in events.read_text().splitlines():
        event = json.loads(line)
        if event["event"] != "receiving":
            continue
        if origin is None:
            origin = event["t_s"] - event["transfers"][0]["seconds"]
        at = event["t_s"] - origin
        for transfer in event["transfers"]:
            name = transfer["name"]
            series.setdefault(name, []).append([at, transfer["rate_bps"]])
            if transfer["allocated_bps"]:
                ratio = transfer["delivered_bps"] / transfer["allocated_bps"]
                series.setdefault(f"{name} V/Vm", []).append([at, ratio])
        if event["weighted_fairness"] is not None:
            series.setdefault("fairness", []).append([at, event["weighted_fairness"]])
    return series


def spoiled(outcome, case):
    """Why a result is not that of the path: the emulator did not keep up."""
    directions = (outcome["path"]["forward"], outcome["path"]["backward"])
    late = max(d["lateness_s"]["p99"] for d in directions) * 1e3
    limit = max(LATE_SHARE * 2 * case.delay_ms, LATE_MS)
    missed = sum((d["lost_before_the_path"] or 0) + d["lost_for_memory"] for d in directions)
    if late > limit:
        return f"1 packet in 100 was {late:.1f} ms late (limit {limit:.1f} ms)"
    if missed:
        return f"the emulator missed {missed} packets"
    return None


# Decisions beside the truth.


def judged(packets, lost):
    """The confusion matrix of a sender: its log of packets and decisions (`send --packet-log`)
    joined with the causes of the path (`link --lost`) by the packets' fingerprints.

    A decision concerns the packets of its burst and of earlier bursts without a decision (in a fade
    no burst is reported), or those declared lost since the decision before.
    It counts as congestion if the path dropped any of them for congestion, as random if it dropped
    any for another reason, and as unknown if it dropped none: they were only late, or the kernel
    lost them."""
    causes = {}
    with open(lost) as file:
        for row in csv.DictReader(file):
            if row["direction"] == "forward":
                causes[row["fingerprint"]] = row["cause"]
    return judge(csv.DictReader(open(packets)), causes)


def judge(rows, causes):
    """The confusion matrix of a log's rows. `causes`: by fingerprint."""
    matrix = {cause: [0, 0] for cause in CAUSES} | {"unknown": 0}
    # The causes of the lost packets of each burst, of each packet, and since the last decision.
    bursts, sent, fresh = {}, {}, []
    for row in rows:
        if row["event"] == "sent":
            if cause := causes.get(row["fingerprint"]):
                sent[row["packet"]] = cause
                if row["burst"]:
                    bursts.setdefault(int(row["burst"]), []).append(cause)
        elif row["event"] == "lost":
            if cause := sent.get(row["packet"]):
                fresh.append(cause)
        elif row["event"] == "decision":
            found, fresh = fresh, []
            if row["burst"]:
                known = [burst for burst in bursts if burst <= int(row["burst"])]
                found = [cause for burst in known for cause in bursts.pop(burst)]
            if not found:
                matrix["unknown"] += 1
                continue
            cause = "congestion" if CONGESTION.intersection(found) else "random"
            matrix[cause][CAUSES.index(row["verdict"])] += 1
    return matrix


def right(matrix, cause):
    """The part of the decisions on losses of this cause that are right; None without any."""
    row = matrix[cause]
    return row[CAUSES.index(cause)] / sum(row) if sum(row) else None
