"""Runs commands at both ends of an emulated path (`whimbrel link`) and keeps what they measured."""

import json
import os
import subprocess
import time

FAR = "10.77.0.2"
# A run whose emulator wrote one packet in a hundred later than this part of the RTT is spoiled, as
# in `whimbrel demo`; a millisecond is always permitted.
LATE_SHARE, LATE_MS = 0.05, 1.0


def parts(text, unit):
    """`12 ms` in milliseconds, `3 s` too."""
    number, given = text.split()
    return float(number) * {"s": 1e3, "ms": 1.0}[given] / {"s": 1e3, "ms": 1.0}[unit]


class Link:
    """A path, and where its ends work. Niceness -10 keeps other programs from disturbing it, and
    is used if the system allows it."""

    def __init__(self, whimbrel, folder):
        self.whimbrel, self.folder = os.path.abspath(whimbrel), folder
        try:
            os.setpriority(os.PRIO_PROCESS, 0, -10)
        except PermissionError:
            pass

    def run(self, path, near, far, limit):
        """Runs the shell commands `near` and `far` over the path, a dict of link's flags without
        dashes. Returns the seconds that `near` took, its exit status (None after `limit` seconds),
        its output, and whether the emulated path kept time."""
        flags = []
        for name, value in path.items():
            for one in value if isinstance(value, list) else [value]:
                flags += [f"--{name}", str(one)]
        report = self.folder / "link.json"
        report.unlink(missing_ok=True)
        command = [self.whimbrel, "link", "--quiet", "--json", str(report), *flags]
        command += ["--far", far, "--", "sh", "-c", near]
        started = time.monotonic()
        with open(self.folder / "log.txt", "a") as log:
            log.write(f"$ {near}\n")
            log.flush()
            process = subprocess.Popen(
                command, cwd=self.folder, stdout=subprocess.PIPE, stderr=log, text=True
            )
            try:
                output, _ = process.communicate(timeout=limit)
                status = process.returncode
            except subprocess.TimeoutExpired:
                process.terminate()
                output, _ = process.communicate()
                status = None
        seconds = time.monotonic() - started
        return seconds, status, output, self.kept_time(report, path)

    @staticmethod
    def kept_time(report, path):
        """Whether 99 of 100 packets were on time. True if the run was cut off."""
        if not report.exists() or "rtt" not in path:
            return True
        text = report.read_text()
        if not text:
            return True
        measured = json.loads(text)
        late = max(measured[way]["lateness_s"]["p99"] for way in ("forward", "backward")) * 1e3
        return late <= max(LATE_SHARE * parts(path["rtt"], "ms"), LATE_MS)


def objects(output):
    """The JSON objects of an output, one a line."""
    found = []
    for line in output.splitlines():
        if line.startswith("{"):
            found.append(json.loads(line))
    return found
