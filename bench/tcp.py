#!/usr/bin/env python3
"""Measures `whimbrel tcp`: events answered a second, the time from an event to its command, CPU
time per gigabyte, and per acknowledgment of each algorithm, many connections at once, and what an
instance that is killed, stopped or frozen costs its connections. Prints a table, or with --json one
JSON object. Needs root.

Timings on a busy machine are noisy: look at its load first.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PORT = 5201
CHUNK = b"x" * 65536


def sink(interval):
    """Receives from any number of connections; prints the bytes of each interval at the end of the
    first connection."""
    listener = socket.socket(socket.AF_INET6)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("::", PORT))
    listener.listen(4096)
    received = {}

    def serve(connection):
        while data := connection.recv(1 << 18):
            slot = int(time.monotonic() / interval)
            received[slot] = received.get(slot, 0) + len(data)
        first = min(received, default=0)
        series = [received.get(slot, 0) for slot in range(first, max(received, default=0) + 1)]
        connection.sendall(json.dumps(series).encode())
        connection.close()

    threading.stack_size(128 << 10)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


def source(connections, seconds, answer):
    """Sends over so many connections; writes the receiver's longest series to a file."""
    end = time.monotonic() + seconds
    address = os.environ["WHIMBREL_FAR"]
    threading.stack_size(128 << 10)
    series = []

    def send():
        with socket.create_connection((address, PORT), timeout=30) as connection:
            while time.monotonic() < end:
                connection.send(CHUNK)
            connection.shutdown(socket.SHUT_WR)
            report = b"".join(iter(lambda: connection.recv(65536), b""))
            series.append(json.loads(report))

    threads = [threading.Thread(target=send) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result = {"ended": len(series), "series": max(series, key=len, default=[])}
    whole = Path(f"{answer}.part")
    whole.write_text(json.dumps(result))
    whole.rename(answer)


class Emulated:
    """An emulated path with a sender under `whimbrel tcp` at its near end."""

    def __init__(self, options, link, tcp, connections=1, seconds=10, interval=1.0):
        self.scratch = tempfile.TemporaryDirectory()
        self.tcp_json = Path(self.scratch.name, "tcp.json")
        link_json = Path(self.scratch.name, "link.json")
        self.answer = Path(self.scratch.name, "answer.json")
        me = [sys.executable, str(Path(__file__).resolve())]
        near = [*me, "--source", str(connections), "--seconds", str(seconds)]
        near += ["--answer", str(self.answer)]
        far = " ".join([*me, "--sink", str(interval)])
        command = [options.whimbrel, "link", *link, "--quiet", "--json", str(link_json)]
        # The sender outlives an instance that is killed.
        wait = f'"$@"; while [ ! -e {self.answer} ]; do sleep 0.1; done'
        command += ["--far", far, "--", "sh", "-c", wait, "sh"]
        command += [options.whimbrel, "tcp", "--quiet", *tcp]
        command += ["--output", str(self.tcp_json), "--", *near]
        self.link_json = link_json
        self.process = subprocess.Popen(command)

    def agent(self):
        """The process number of `whimbrel tcp`, once it has started its command."""
        for _ in range(200):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    arguments = (process / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if arguments[1:2] == [b"tcp"] and str(self.tcp_json).encode() in arguments:
                    return int(process.name)
            time.sleep(0.05)
        sys.exit("bench: `whimbrel tcp` did not start")

    def end(self):
        """Waits for the end: the sender's answer, the connections, the path."""
        self.process.wait(timeout=300)
        read = lambda path: json.loads(path.read_text()) if path.exists() else None
        result = (read(self.answer), read(self.tcp_json), read(self.link_json))
        self.scratch.cleanup()
        return result


def flood(options):
    """Events answered a second."""
    command = ["cargo", "run", "--release", "--quiet", "--locked", "-p", "whimbrel-linux"]
    command += ["--example", "flood", "--"]
    rates = {}
    for controller in ["newreno", "cubic", "cerl", "bbr", "whimbrel"]:
        run = subprocess.run([*command, controller], cwd=ROOT, stdout=subprocess.PIPE, check=True)
        text = run.stdout.decode()
        rates[controller] = {
            "events_per_s": int(re.search(r"(\d+) a second", text)[1]),
            "dropped": int(re.search(r"(\d+) dropped", text)[1]),
        }
    return rates


def latency(options):
    """Time from an event to its command, and CPU time per gigabyte, at 200 Mbit/s."""
    rows = []
    settings = [[], ["--realtime"], ["--wake-interval", "0 s"]]
    settings.append(["--realtime", "--wake-interval", "0 s"])
    for tcp in settings:
        link = ["--rate", "200 Mbit/s", "--rtt", "20 ms"]
        path = Emulated(options, link, ["--controller", "newreno", *tcp], seconds=options.seconds)
        _, ended, _ = path.end()
        acked = sum(c["acked_bytes"] for c in ended["connections"])
        rows.append(
            {
                "settings": " ".join(tcp) or "defaults",
                "goodput_mbps": max(c["goodput_bps"] for c in ended["connections"]) / 1e6,
                "answer_p50_us": ended["answer_p50_us"],
                "answer_p99_us": ended["answer_p99_us"],
                "cpu_s_per_gb": ended["cpu_s"] / (acked / 1e9),
                "events": ended["events"],
                "dropped": ended["dropped_events"],
                "fallbacks": ended["fallbacks"],
            }
        )
    return rows


def algorithms(options):
    """CPU time of an acknowledgment, at 200 Mbit/s, with and without losses."""
    rows = []
    for loss in ("0 %", "1 %"):
        for controller in ["newreno", "cubic", "bbr", "whimbrel"]:
            link = ["--rate", "200 Mbit/s", "--rtt", "20 ms", "--loss", loss]
            tcp = ["--controller", controller]
            path = Emulated(options, link, tcp, seconds=options.seconds)
            _, ended, _ = path.end()
            rows.append(
                {
                    "controller": controller,
                    "loss": loss,
                    "goodput_mbps": max(c["goodput_bps"] for c in ended["connections"]) / 1e6,
                    "events": ended["events"],
                    "cpu_us_per_event": 1e6 * ended["cpu_s"] / ended["events"],
                    "fallbacks": ended["fallbacks"],
                }
            )
    return rows


def many(options):
    """A thousand connections at once."""
    link = ["--rate", "500 Mbit/s", "--rtt", "40 ms"]
    path = Emulated(options, link, ["--controller", "cerl"], 1000, options.seconds)
    answer, ended, path_end = path.end()
    return {
        "connections": len(ended["connections"]),
        "ended": answer["ended"],
        "fallbacks": ended["fallbacks"],
        "dropped": ended["dropped_events"],
        "utilization": path_end["forward"]["utilisation"],
        "answer_p99_us": ended["answer_p99_us"],
        "cpu_s": ended["cpu_s"],
    }


def handover(options):
    """What the connection does when its instance is killed, stopped or frozen under load."""
    rows = []
    for name, act in [
        ("kill -9", lambda agent: os.kill(agent, signal.SIGKILL)),
        ("stop for good", lambda agent: os.kill(agent, signal.SIGSTOP)),
        ("freeze for 3 s", lambda agent: freeze(agent, 3)),
    ]:
        link = ["--rate", "50 Mbit/s", "--rtt", "40 ms"]
        seconds, interval = 14, 1.0
        path = Emulated(options, link, ["--controller", "cerl"], 1, seconds, interval)
        agent = path.agent()
        # The sender and the receiver belong to the instance's command and outlive it.
        time.sleep(6)
        act(agent)
        if name == "stop for good":
            # Until its command has ended, or it would never see that.
            time.sleep(seconds)
            os.kill(agent, signal.SIGCONT)
        answer, ended, path_end = path.end()
        series = [b * 8 / interval / 1e6 for b in answer["series"]] if answer else []
        # The seconds after the hand-over, without the last, which is not whole.
        after = series[8:-1]
        rows.append(
            {
                "case": name,
                "mbps_by_second": [round(x, 1) for x in series],
                "least_after_mbps": min(after, default=0),
                "delivered_bytes": path_end["forward"]["delivered_bytes"] if path_end else None,
                "fallbacks": ended["fallbacks"] if ended else None,
            }
        )
    return rows


def freeze(process, seconds):
    os.kill(process, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(process, signal.SIGCONT)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--whimbrel", default=str(ROOT / "target/release/whimbrel"))
    parser.add_argument("--only", choices=["flood", "latency", "algorithms", "many", "handover"])
    parser.add_argument("--seconds", type=float, default=10, help="of a run (default: 10)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sink", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--source", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.sink:
        return sink(options.sink)
    if options.source:
        return source(options.source, options.seconds, options.answer)
    measures = {
        "flood": flood,
        "latency": latency,
        "algorithms": algorithms,
        "many": many,
        "handover": handover,
    }
    results = {"load": os.getloadavg()[0]}
    for name, measure in measures.items():
        if options.only in (None, name):
            results[name] = measure(options)
            if not options.json:
                show(name, results[name])
    if options.json:
        print(json.dumps(results, indent=2))
    return 0


def show(name, result):
    print(f"{name}:")
    rows = result if isinstance(result, list) else [result]
    for row in rows:
        for key, value in row.items():
            print(f"  {key:20} {value:.4g}" if isinstance(value, float) else f"  {key:20} {value}")
        print()


if __name__ == "__main__":
    sys.exit(main())
