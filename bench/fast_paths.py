#!/usr/bin/env python3
"""`whimbrel send` beside scp and rsync over ssh on fast paths, in the same minutes.

    bench/fast_paths.py --whimbrel target/release/whimbrel
                        [--path loopback|veth|1gbit|1gbit-1ms|10gbit-1ms] [--runs N] [--files N]

Paths: loopback; two network namespaces with a virtual Ethernet of 1500 bytes and no limit
(`veth`); the same behind a token bucket of 1 Gbit/s (`1gbit`); two namespaces that `whimbrel link`
joins, of 1 and 10 Gbit/s with a base RTT of 1 ms, whose CPU time does not count. One file from and
to /dev/shm, or with --files a tree of so many files of 4 KiB. The programs take turns, so that what
else the machine does meets all alike, and twice the memory that they need is touched before. The
time is that of the whole command: start, handshake, and for `whimbrel send` verification and flush.
The CPU time is that of the whole machine meanwhile, kernel and both ends, so nothing else should
run. Every copy is compared with its source. The last column is the ratio to scp of the same round,
its median.
Needs root, openssh-server and rsync.
"""

import argparse
import filecmp
import getpass
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from content import SMALL, file_of, fill, tree_of

SSH_PORT, PORT = 2223, 4478
NEAR, FAR = "10.78.0.1", "10.78.0.2"
MOUNTS = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
GROUPS = next((Path(mount[1]) for mount in MOUNTS if mount[2] == "cgroup2"), Path("/sys/fs/cgroup"))
GROUP = GROUPS / f"whimbrel-bench-{os.getpid()}"


def run(*command, **more):
    """Runs a command that must succeed."""
    return subprocess.run(command, check=True, **more)


def touch_memory(size):
    """Uses so much memory once: a virtual machine pays for memory when it touches it for the first
    time, and the first programs would pay for all."""
    with tempfile.TemporaryFile(dir="/dev/shm") as out:
        fill(out, size, bytes)


class Loopback:
    """Both ends on this host."""

    host, near, far = "127.0.0.1", (), ()

    def close(self):
        """Nothing was made."""


class Veth:
    """Two namespaces with a virtual Ethernet between them."""

    host = FAR

    def __init__(self, rate=None):
        self.names = [f"whimbrel-bench-{end}-{os.getpid()}" for end in ("near", "far")]
        self.near, self.far = (("ip", "netns", "exec", name) for name in self.names)
        near, far = self.names
        for name in self.names:
            run("ip", "netns", "add", name)
        link = ("type", "veth", "peer", "name", "b", "netns", far)
        run("ip", "link", "add", "name", "a", "netns", near, *link)
        for name, device, address in ((near, "a", NEAR), (far, "b", FAR)):
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", device)
            for each in (device, "lo"):
                run("ip", "-n", name, "link", "set", "dev", each, "up")
        if rate:
            bucket = ("tbf", "rate", rate, "burst", "128k", "latency", "5ms")
            run("tc", "-n", near, "qdisc", "add", "dev", "a", "root", *bucket)

    def close(self):
        """Removes the namespaces."""
        for name in self.names:
            run("ip", "netns", "delete", name)


class Emulated:
    """Two namespaces, and a path of `whimbrel link` between them."""

    host = "10.77.0.2"

    def __init__(self, whimbrel, rate):
        # Two programs that do nothing but keep the namespaces, found by their numbers.
        ends = [str(86400 + 2 * os.getpid() + end) for end in range(2)]
        flags = ("--rate", rate, "--rtt", "1ms", "--queue", "1bdp", "--quiet")
        far = ("--far", f"exec sleep {ends[1]}")
        self.link = subprocess.Popen([whimbrel, "link", *flags, *far, "--", "sleep", ends[0]])
        self.near, self.far = (self.enter(f"sleep {end}") for end in ends)

    def enter(self, line):
        """What runs a command where this one runs."""
        for _ in range(100):
            found = subprocess.run(("pgrep", "-xf", line), capture_output=True, check=False)
            if found.returncode == 0:
                return ("nsenter", "--net", "-t", found.stdout.decode().split()[0])
            time.sleep(0.1)
        sys.exit(f"fast_paths: {line} did not start")

    def close(self):
        """Ends the emulator, and with it the namespaces."""
        self.link.send_signal(signal.SIGTERM)
        self.link.wait()


PATHS = {
    "loopback": lambda _: Loopback(),
    "veth": lambda _: Veth(),
    "1gbit": lambda _: Veth("1gbit"),
    "1gbit-1ms": lambda whimbrel: Emulated(whimbrel, "1 Gbit/s"),
    "10gbit-1ms": lambda whimbrel: Emulated(whimbrel, "10 Gbit/s"),
}


class Bench:
    """The servers of one path, and the commands."""

    def __init__(self, path, whimbrel, folder, size, files):
        self.path, self.whimbrel, self.folder = path, whimbrel, folder
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}
        self.environment["XDG_STATE_HOME"] = str(folder / "state")
        self.source, self.stored = folder / ("tree" if files else "file"), folder / "in"
        self.is_tree = bool(files)
        self.stored.mkdir()
        if files:
            tree_of(self.source, files)
        else:
            file_of(self.source, size)
        for key in ("host_key", "user_key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key))
        shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
        (folder / "sshd_config").write_text(
            f"HostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\n"
            f"ListenAddress 0.0.0.0:{SSH_PORT}\nStrictModes no\nUsePAM no\nPidFile none\n"
            "UseDNS no\nPasswordAuthentication no\nPermitRootLogin yes\n"
            "Subsystem sftp internal-sftp\n"
        )
        (folder / "ssh_config").write_text(
            f"Host {path.host}\nPort {SSH_PORT}\nUser {getpass.getuser()}\n"
            f"IdentityFile {folder}/user_key\nStrictHostKeyChecking no\n"
            "UserKnownHostsFile /dev/null\nLogLevel ERROR\nCompression no\nControlPath none\n"
            "IdentitiesOnly yes\n"
        )
        os.makedirs("/run/sshd", exist_ok=True)
        serve = (whimbrel, "serve", str(self.stored), "--listen", f"0.0.0.0:{PORT}", "--overwrite")
        sshd = ("/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd_config"))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        quiet |= {"env": self.environment, "preexec_fn": join_group}
        commands = ([*path.far, *command] for command in (serve, sshd))
        self.servers = [subprocess.Popen(command, **quiet) for command in commands]
        time.sleep(1)

    def close(self):
        """Ends the servers."""
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
            server.wait()

    def command(self, program):
        """What the near end runs."""
        ssh, host = f"ssh -F {self.folder}/ssh_config", self.path.host
        name, _, controller = program.partition(" ")
        if name == "scp":
            return ("scp", "-rq", "-F", f"{self.folder}/ssh_config", str(self.source),
                    f"{host}:{self.stored}/")
        if name == "rsync":
            return ("rsync", "-rtpW", "-e", ssh, str(self.source), f"{host}:{self.stored}/")
        if name == "tar":
            pack = f"tar -C {self.folder} -cf - {self.source.name}"
            return ("sh", "-c", f"{pack} | {ssh} {host} tar -C {self.stored} -xf -")
        chosen = ("--controller", controller) if controller else ()
        return (self.whimbrel, "send", str(self.source), f"{host}:{PORT}", "--no-resume-rate",
                "--json", *chosen)

    def measure(self, program):
        """Seconds and CPU seconds of one copy."""
        copy = self.stored / self.source.name
        shutil.rmtree(copy) if copy.is_dir() else copy.unlink(missing_ok=True)
        before, started = cpu_seconds(), time.monotonic()
        run(*self.path.near, *self.command(program), env=self.environment,
            preexec_fn=join_group, stdout=subprocess.DEVNULL)
        seconds, cpu = time.monotonic() - started, cpu_seconds() - before
        compare = ("diff", "-rq", str(self.source), str(copy))
        if self.is_tree:
            same = subprocess.run(compare, check=False).returncode == 0
        else:
            same = filecmp.cmp(self.source, copy, shallow=False)
        if not same:
            sys.exit(f"fast_paths: {program} made another file")
        return seconds, cpu


def cpu_seconds():
    """CPU time of all processes of the group so far."""
    return int((GROUP / "cpu.stat").read_text().split()[1]) / 1e6


def join_group():
    """Moves a new process to the group."""
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whimbrel", default="target/release/whimbrel")
    parser.add_argument("--path", choices=PATHS, action="append")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", type=int, default=1_000_000_000)
    parser.add_argument("--files", type=int, default=0, help="a tree instead of a file")
    parser.add_argument("--program", action="append", help="scp, rsync, tar, send [CONTROLLER]")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    usual = ["rsync", "tar"] if options.files else ["scp", "rsync"]
    programs = options.program or [*usual, "send", "send cubic"]
    options.size = options.files * SMALL or options.size
    whimbrel = os.path.abspath(options.whimbrel)
    # The source and a copy are there at once.
    touch_memory(4 * options.size)
    for name in options.path or PATHS:
        folder = Path(f"/dev/shm/whimbrel-fast-paths-{os.getpid()}")
        folder.mkdir()
        path = PATHS[name](whimbrel)
        GROUP.mkdir()
        rows = {program: [] for program in programs}
        try:
            bench = Bench(path, whimbrel, folder, options.size, options.files)
            try:
                for _ in range(options.runs):
                    for program in programs:
                        rows[program].append(bench.measure(program))
            finally:
                bench.close()
        finally:
            path.close()
            GROUP.rmdir()
            shutil.rmtree(folder)
        if not options.json:
            print(f"{name}: {options.size / 1e9:g} GB, medians of {options.runs} runs")
        for program, measured in rows.items():
            seconds, cpu = (statistics.median(values) for values in zip(*measured))
            pairs = zip(measured, rows[programs[0]])
            ratio = statistics.median(one[0] / other[0] for one, other in pairs)
            cpu /= options.size / 1e9
            if options.json:
                print(json.dumps({"path": name, "program": program, "seconds": seconds,
                                  "cpu_s_per_gb": cpu, "runs": measured}))
                continue
            print(f"  {program:12} {seconds:6.2f} s {cpu:6.2f} CPU s/GB {ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main()
