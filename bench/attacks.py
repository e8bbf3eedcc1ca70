#!/usr/bin/env python3
"""The memory of a server under attacks by clients, and what it keeps of it afterwards.

    cargo build --release -p whimbrel-transfer --example attack
    bench/attacks.py --whimbrel target/release/whimbrel \\
        --attack target/release/examples/attack [--seconds 30] [KIND ...]

Each attack runs against a server of its own on loopback. Onto a slow disk means that all writes
together take 4 MB/s (`slow_disk.c`). Prints one line for each: the memory of its own (RssAnon) of
the server before, at most during, and 75 s after the attack, what the clients sent, its threads at
most, and the CPU time that it used in the last 10 s. Fails if a server used more than
docs/limits.md says, keeps working after its clients have left, or does not serve afterwards.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

# Kind, connections, onto a slow disk, and the bound in MB, as in docs/limits.md.
ATTACKS = [
    ("tree", 16, True, 2100),
    ("crumbs", 16, False, 2100),
    ("chunks", 16, True, 2100),
    ("probes", 64, False, 2100),
    ("readers", 16, False, 2100),
    ("hashes", 16, False, 2100),
    ("listings", 16, False, 2100),
    ("strangers", 64, False, 100),
]
# Bytes a second of the slow disk.
SLOW_DISK = 4_000_000
# Memory that a server may keep afterwards beyond what it began with, MB.
KEPT = 100
# Seconds at the end in which it may use no more than a second of CPU time.
IDLE = 10
# Seconds after the attack. Its clients vanish without a word: their connections end after 30 s of
# silence. Then the calls in which threads wait for the slow disk end one after the other.
AFTER = 75


def own(pid):
    """Memory of its own, MB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1000
    return 0.0


def threads(pid):
    """Threads of a process."""
    return len(os.listdir(f"/proc/{pid}/task"))


def cpu(pid):
    """CPU time of a process so far, seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def files(folder):
    """What the server of an attack has."""
    there = folder / "in"
    there.mkdir()
    with open(there / "large", "wb") as large:
        large.truncate(1 << 34)
    (there / "data").write_bytes(os.urandom(1 << 26))
    many = there / "many"
    many.mkdir()
    for number in range(20_000):
        (many / f"{'x' * 100}{number}").touch()


def measure(args, folder, attack, slow_disk):
    """One line of the result. Returns whether all is well."""
    kind, connections, slow, bound = attack
    files(folder)
    serve = [args.whimbrel, "serve", "in", "--json", "--listen", "127.0.0.1:0"]
    serve += ["--identity", "id", "--allow-read"]
    environment = dict(os.environ)
    if slow:
        environment |= {"LD_PRELOAD": str(slow_disk), "SLOW_DISK": str(SLOW_DISK)}
    with subprocess.Popen(
        serve, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            address = json.loads(server.stdout.readline())["address"]
            before = own(server.pid)
            # A file: a pipe that nobody reads would stop the attack.
            errors = open(folder / "errors", "w+", encoding="utf-8")
            attacker = subprocess.Popen(
                [args.attack, address, kind, str(connections), str(args.seconds)],
                env=dict(os.environ, WHIMBREL_TOKEN=(folder / "id" / "token").read_text().strip()),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            most, most_threads = 0.0, 0
            # Its events are not read, which must not cost memory either.
            while attacker.poll() is None:
                most = max(most, own(server.pid))
                most_threads = max(most_threads, threads(server.pid))
                time.sleep(0.05)
            out, _ = attacker.communicate()
            end = time.monotonic() + AFTER
            used = 0.0
            while time.monotonic() < end:
                most = max(most, own(server.pid))
                if time.monotonic() < end - IDLE:
                    used = cpu(server.pid)
                time.sleep(0.05)
            used = cpu(server.pid) - used
            after = own(server.pid)
            listed = subprocess.run(
                [args.whimbrel, "ls", address, "--identity", "id", "--json"],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                check=False,
            )
        finally:
            server.kill()
    sent = int(out or 0) / 1e6
    good = most <= bound and after - before <= KEPT and used < 1 and listed.returncode == 0
    print(
        f"{kind:10} {connections:3} connections, {'slow' if slow else 'fast'} disk: "
        f"{before:5.0f} MB, at most {most:5.0f}, afterwards {after:5.0f}; "
        f"{sent:6.0f} MB sent, {most_threads} threads, {used:.2f} s at the end"
        f"{'' if good else '  WRONG'}",
        flush=True,
    )
    errors.seek(0)
    for line in sorted(set(errors))[:3]:
        print(f"    {line.strip()}")
    errors.close()
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whimbrel", required=True, type=os.path.abspath)
    parser.add_argument("--attack", required=True, type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    args = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        slow_disk = pathlib.Path(temporary) / "slow_disk.so"
        source = pathlib.Path(__file__).parent / "slow_disk.c"
        compile_it = ["cc", "-shared", "-fPIC", "-O1", "-o", slow_disk, source, "-ldl"]
        subprocess.run(compile_it, check=True)
        for attack in ATTACKS:
            if args.kinds and attack[0] not in args.kinds:
                continue
            folder = pathlib.Path(temporary) / attack[0]
            folder.mkdir()
            good &= measure(args, folder, attack, slow_disk)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
