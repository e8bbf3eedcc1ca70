#!/usr/bin/env python3
"""Transfers under faults for hours: nothing may be lost, and the server may not grow.

    bench/soak.py --whimbrel target/release/whimbrel [--minutes 120] [--workers 3] [--keep DIR]

Two servers on loopback. Workers send, get and remove files and directories and use pipes, over QUIC
and over TLS, through a relay that drops everything for a while, or changes its address; clients are
killed and started again. The second server is killed and started again, too. The first runs
throughout: its memory, open files, threads and processor time are written to soak.csv each minute
(each 10 s in a run of less than half an hour). Fails if a file arrives wrong, a command fails for
good, or if memory, files or threads grow from the second quarter of the run to the last one.
"""

import argparse
import csv
import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

# What a quarter of the run may have more than an earlier one.
GROWTH = {"memory_mb": 12.0, "files": 12, "threads": 6}
# A command that is not done after this many seconds hangs.
PATIENCE = 300


class Server:
    """A server of the command, at an address that stays."""

    def __init__(self, whimbrel, folder, name, port):
        self.folder = folder / name
        (self.folder / "in").mkdir(parents=True)
        self.port = port
        self.command = [whimbrel, "serve", "in", "--json", "--identity", "../id", "--overwrite"]
        self.command += ["--allow-read", "--allow-remove", "--listen", f"127.0.0.1:{port}"]
        self.command += ["--config", "../server.toml", "--max-connections", "64"]
        self.start()

    def start(self):
        """Starts it, and waits until it listens."""
        log = open(self.folder / "serve.log", "ab")
        self.process = subprocess.Popen(
            self.command, cwd=self.folder, stdout=subprocess.PIPE, stderr=log, text=True
        )
        line = self.process.stdout.readline()
        if '"listening"' not in line:
            raise SystemExit(f"the server does not start; see {log.name}")
        self.fingerprint = json.loads(line)["fingerprint"]
        threading.Thread(target=self.drain, args=(self.process.stdout,), daemon=True).start()

    @staticmethod
    def drain(output):
        """Reads its output, so that it never waits."""
        for _ in output:
            pass

    def kill(self):
        """Ends it without notice."""
        self.process.kill()
        self.process.wait()

    def state(self):
        """What it uses: MB of its own (without files), open files, threads, seconds of CPU."""
        proc = pathlib.Path(f"/proc/{self.process.pid}")
        status = dict(
            line.split(":", 1) for line in (proc / "status").read_text().splitlines() if ":" in line
        )
        fields = (proc / "stat").read_text().rsplit(")", 1)[1].split()
        ticks = os.sysconf("SC_CLK_TCK")
        return {
            "memory_mb": int(status["RssAnon"].split()[0]) / 1000,
            "files": len(os.listdir(proc / "fd")),
            "threads": int(status["Threads"]),
            "cpu_s": (int(fields[11]) + int(fields[12])) / ticks,
        }


class Relay:
    """Passes UDP and TCP to a server. It can be cut, and its own address can change."""

    def __init__(self, server_port):
        self.server = ("127.0.0.1", server_port)
        self.cut = False
        self.upward = {}
        self.streams = set()
        while True:
            self.tcp = socket.create_server(("127.0.0.1", 0), backlog=64)
            self.port = self.tcp.getsockname()[1]
            self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                self.udp.bind(("127.0.0.1", self.port))
                break
            except OSError:
                self.tcp.close()
        self.udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        for work in (self.down, self.accept):
            threading.Thread(target=work, daemon=True).start()

    def move(self):
        """Each client's packets come from another address from now on, as behind a NAT."""
        self.upward = {}

    def end_streams(self):
        """Ends all TCP connections."""
        for stream in list(self.streams):
            try:
                stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def down(self):
        while True:
            data, client = self.udp.recvfrom(65536)
            if self.cut:
                continue
            up = self.upward.get(client)
            if up is None:
                up = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                up.bind((f"127.0.0.{random.randint(2, 250)}", 0))
                up.connect(self.server)
                up.settimeout(200)
                self.upward[client] = up
                threading.Thread(target=self.back, args=(up, client), daemon=True).start()
            try:
                up.send(data)
            except OSError:
                pass

    def back(self, up, client):
        try:
            while True:
                try:
                    data = up.recv(65536)
                except ConnectionRefusedError:
                    continue
                if not self.cut:
                    self.udp.sendto(data, client)
        except OSError:
            pass
        finally:
            if self.upward.get(client) is up:
                del self.upward[client]
            up.close()

    def accept(self):
        while True:
            client, _ = self.tcp.accept()
            try:
                server = socket.create_connection(self.server)
            except OSError:
                client.close()
                continue
            self.streams |= {client, server}
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(a, b), daemon=True).start()

    def copy(self, source, to):
        try:
            while data := source.recv(65536):
                while self.cut:
                    time.sleep(0.1)
                to.sendall(data)
        except OSError:
            pass
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.streams.discard(source)
        source.close()


class Soak:
    """The workers, the faults and what they did."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.random = random.Random(args.seed)
        self.end = time.monotonic() + 60 * args.minutes
        self.counts = dict.fromkeys(
            ["sent", "got", "trees", "pipes", "over_tls", "kills", "cuts", "moves", "restarts"], 0
        )
        self.errors = []
        new = [args.whimbrel, "token", "new", "--json"]
        token = json.loads(subprocess.run(new, capture_output=True, check=True).stdout)
        self.environment = dict(os.environ, WHIMBREL_TOKEN=token["token"])
        digest = token["hash"]
        (folder / "server.toml").write_text(
            f'[users.soak]\ntokens = ["{digest}"]\nrights = ["write", "read", "delete"]\n'
            'connect = ["echo"]\n[commands.echo]\nrun = ["cat"]\n'
        )
        ports = [free_port() for _ in range(2)]
        self.servers = [
            Server(args.whimbrel, folder, name, port) for name, port in zip("ab", ports)
        ]
        self.relays = [Relay(port) for port in ports]
        self.restarting = threading.Lock()

    def command(self, *words, **more):
        """A command of the client."""
        where = ["--identity", str(self.folder / "client")]
        where += ["--fingerprint", self.servers[0].fingerprint]
        return subprocess.Popen(
            [self.args.whimbrel, *words, *where],
            env=self.environment,
            stdin=subprocess.DEVNULL if "stdin" not in more else more.pop("stdin"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )

    def run(self, *words, chance=0.0, rng=None):
        """Runs a command; with this chance it is killed and run again. Returns its output."""
        while True:
            process = self.command(*words)
            if rng and rng.random() < chance:
                try:
                    process.communicate(timeout=rng.uniform(0.05, 2.0))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    self.counts["kills"] += 1
                    continue
            try:
                out, error = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise RuntimeError(f"{words[0]} hangs: {' '.join(words)}") from None
            if process.returncode != 0:
                raise RuntimeError(f"{' '.join(words)}: {error.decode()[-200:]}")
            return out

    def work(self, number):
        """One worker."""
        rng = random.Random(self.args.seed * 1000 + number)
        home = self.folder / f"worker-{number}"
        home.mkdir()
        while time.monotonic() < self.end:
            side = rng.randrange(2)
            place = f"127.0.0.1:{self.relays[side].port}"
            extra = ["--transport", "tls"] if rng.random() < 0.25 else []
            try:
                job = rng.choice([self.file, self.file, self.file, self.tree, self.pipe])
                job(rng, home, side, place, extra)
            except (RuntimeError, OSError, ValueError) as error:
                self.errors.append(f"{time.strftime('%H:%M:%S')} worker {number}: {error}")

    def file(self, rng, home, side, place, extra):
        """A file there and back."""
        data = rng.randbytes(rng.choice([0, 1, 70_000, 3_000_000, 20_000_000]))
        source, name = home / "source", f"{home.name}.bin"
        source.write_bytes(data)
        retry = ["--retry-for", "4 min", *extra]
        sent = self.run(
            "send", str(source), f"{place}:{name}", "--json", "--bwlimit", "60 Mbit/s", *retry,
            chance=0.3, rng=rng,
        )
        sent = json.loads(sent)
        if sent["blake3"] and sent["outcome"] != "stored":
            raise ValueError(f"{name}: {sent['outcome']}")
        self.counts["over_tls"] += sent["transport"] == "tls"
        stored = self.servers[side].folder / "in" / "soak" / name
        if hashlib.sha256(stored.read_bytes()).digest() != hashlib.sha256(data).digest():
            raise ValueError(f"{stored} differs from what was sent")
        self.counts["sent"] += 1
        if rng.random() < 0.3:
            get = ["get", f"{place}:{name}", str(home), "--overwrite"]
            self.run(*get, *retry, rng=rng, chance=0.2)
            if (home / name).read_bytes() != data:
                raise ValueError(f"{name} came back different")
            self.counts["got"] += 1
        if rng.random() < 0.2:
            self.run("rm", f"{place}:{name}", *retry)

    def tree(self, rng, home, side, place, extra):
        """Some hundred small files."""
        top = home / "tree"
        top.mkdir(exist_ok=True)
        for number in range(200):
            (top / f"{number:03}").write_bytes(rng.randbytes(rng.randrange(9000)))
        retry = ["--retry-for", "4 min", *extra]
        self.run(
            "send", f"{top}/", f"{place}:{home.name}/", "--json", *retry, chance=0.3, rng=rng
        )
        stored = self.servers[side].folder / "in" / "soak" / home.name
        for file in top.iterdir():
            if (stored / file.name).read_bytes() != file.read_bytes():
                raise ValueError(f"{stored / file.name} differs from what was sent")
        self.counts["trees"] += 1

    def pipe(self, rng, home, side, place, extra):
        """Bytes to a program and back, to the server that is not restarted, or killed midway."""
        place = f"127.0.0.1:{self.relays[0].port}"
        data = rng.randbytes(rng.choice([10, 2_000_000]))
        process = self.command("pipe", place, "echo", *extra, stdin=subprocess.PIPE)
        if rng.random() < 0.3:
            time.sleep(rng.uniform(0, 1))
            process.kill()
            process.communicate()
            self.counts["kills"] += 1
            return
        try:
            back, error = process.communicate(data, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise RuntimeError("pipe hangs") from None
        # A pipe over TCP does not survive the end of its connection, and says so.
        if process.returncode == 0 and back != data:
            raise ValueError(f"a pipe changed its bytes: {len(back)} of {len(data)}")
        self.counts["pipes"] += process.returncode == 0

    def faults(self):
        """Cuts, changes of addresses and restarts, one at a time."""
        while time.monotonic() < self.end:
            time.sleep(self.random.uniform(4, 15))
            relay = self.random.choice(self.relays)
            fault = self.random.choice(["cuts", "moves", "restarts"])
            if fault == "cuts":
                relay.cut = True
                time.sleep(self.random.uniform(0.5, 6))
                relay.cut = False
            elif fault == "moves":
                relay.move()
                relay.end_streams()
            else:
                self.servers[1].kill()
                time.sleep(self.random.uniform(0, 3))
                self.servers[1].start()
            self.counts[fault] += 1

    def record(self):
        """What the first server uses, from time to time."""
        every = 60 if self.args.minutes >= 30 else 10
        began, rows = time.monotonic(), []
        with open(self.folder / "soak.csv", "w", newline="") as out:
            table = csv.writer(out)
            table.writerow(["t_s", "memory_mb", "files", "threads", "cpu_s"])
            while time.monotonic() < self.end:
                state = self.servers[0].state()
                rows.append(state)
                at = round(time.monotonic() - began)
                table.writerow([at, *(round(value, 1) for value in state.values())])
                out.flush()
                time.sleep(min(every, max(0.1, self.end - time.monotonic())))
        return rows

    def close(self):
        """Ends the servers."""
        for server in self.servers:
            server.process.send_signal(signal.SIGTERM)
            server.process.wait()


def free_port():
    """A port that is free for TCP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def grown(rows):
    """Why the server grew, from the second quarter of the run to the last."""
    quarter = len(rows) // 4
    if quarter < 2:
        return []
    why = []
    for key, most in GROWTH.items():
        before = statistics.median(row[key] for row in rows[quarter : 2 * quarter])
        after = statistics.median(row[key] for row in rows[-quarter:])
        if after > before + most:
            why.append(f"{key} grew from {before:g} to {after:g}")
    return why


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whimbrel", required=True, type=os.path.abspath)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="work in this directory and keep it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(args.keep or temporary).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        soak = Soak(args, folder)
        try:
            threads = [
                threading.Thread(target=soak.work, args=(n,)) for n in range(args.workers)
            ] + [threading.Thread(target=soak.faults)]
            for thread in threads:
                thread.start()
            rows = soak.record()
            for thread in threads:
                thread.join()
            last = soak.servers[0].state()
        finally:
            soak.close()
        print(", ".join(f"{name.replace('_', ' ')} {n}" for name, n in soak.counts.items()))
        for name, row in (("first", rows[0]), ("last", last)):
            print(f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in row.items()))
        failures = soak.errors + grown(rows)
        for line in failures[:20]:
            print("FAILED:", line)
        print(f"{'failed' if failures else 'passed'} after {args.minutes:g} minutes")
        raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
