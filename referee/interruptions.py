#!/usr/bin/env python3
"""Whether `whimbrel send` tells the truth and gets through when something goes wrong.

    referee/interruptions.py --whimbrel target/release/whimbrel [--only outage|cuts|changes]

* outage: a path of 20 Mbit/s and 600 ms RTT is gone for 120 s. The file must arrive without a hand.
* cuts: the path is cut for ever at 100 instants around the answer. `not stored` must never be said
  of a file that is stored, nor `stored` of one that is not.
* changes: the source changes at 100 instants while it is sent. The copy must be the new content, or
  the command must fail.

The first two need root or user namespaces. Exit status 1 if anything was wrong.
"""

import argparse
import concurrent.futures
import filecmp
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

FAR = "10.77.0.2"
RTT = 0.1
# Paths that are cut at the same time: their senders wait for half a minute each.
AT_ONCE = 10


def result(output):
    """The object that `send --json` printed."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


def write(path, size, seed):
    path.write_bytes(random.Random(seed).randbytes(size))


def over_link(whimbrel, folder, path, send):
    """Sends `file` over a path. Returns the command's result, and the seconds it took."""
    (folder / "in").mkdir(exist_ok=True)
    serve = f"exec {whimbrel} serve in --identity id > served.txt 2>&1"
    command = [whimbrel, "link", "--quiet", *path, "--far", serve, "--"]
    command += [whimbrel, "send", "file", FAR, "--identity", "id", "--json", *send]
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return result(done.stdout), time.monotonic() - began


def outage(whimbrel, folder):
    """A path that is gone for two minutes."""
    write(folder / "file", 20_000_000, 1)
    path = ["--rate", "20 Mbit/s", "--rtt", "600 ms", "--outage", "5 s..125 s"]
    found, seconds = over_link(whimbrel, folder, path, ["--retry-for", "300 s"])
    good = found.get("outcome") == "stored"
    good = good and filecmp.cmp(folder / "file", folder / "in" / "file", shallow=False)
    print(
        f"120 s of outage at 600 ms: {found.get('outcome')} after {seconds:.1f} s, "
        f"{found.get('retries')} new connections, "
        f"{found.get('sent_bytes', 0) - 20_000_000} bytes twice"
    )
    return good


def cuts(whimbrel, folder, number):
    """Paths that are cut around the answer."""
    path = ["--rate", "50 Mbit/s", "--rtt", f"{RTT * 1e3:.0f} ms"]
    first = folder / "first"
    first.mkdir()
    write(first / "file", 300_000, 2)
    found, _ = over_link(whimbrel, first, path, ["--retry-for", "5 s"])
    # The link and the command need some milliseconds to start.
    usual = found["connect_seconds"] + found["seconds"]

    def cut(n):
        place = folder / str(n)
        place.mkdir()
        write(place / "file", 300_000, n)
        at = usual + RTT * random.Random(n).uniform(-2, 0.5)
        outage = ["--outage", f"{at:.4f} s..1000 s"]
        found, _ = over_link(whimbrel, place, path + outage, ["--no-retry"])
        stored = place / "in" / "file"
        there = stored.exists() and filecmp.cmp(place / "file", stored, shallow=False)
        shutil.rmtree(place)
        return found.get("outcome"), there

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(cut, range(number)))
    kinds = {kind: outcomes.count(kind) for kind in sorted(set(outcomes), key=str)}
    for (said, there), count in kinds.items():
        print(f"cut around the answer, {count} times: said `{said}`, {'is' if there else 'is not'} there")
    wrong = kinds.get(("not stored", True), 0) + kinds.get(("stored", False), 0)
    print(f"cut around the answer: wrong {wrong} of {number}")
    return wrong == 0 and None not in {said for said, _ in outcomes}


def changes(whimbrel, folder, number):
    """Sources that change while they are sent, over loopback."""
    (folder / "in").mkdir()
    serve = [whimbrel, "serve", "in", "--json", "--listen", "127.0.0.1:0", "--identity", "id"]
    again = failed = wrong = 0
    with subprocess.Popen(serve, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = json.loads(server.stdout.readline())["address"]
            threading.Thread(target=server.stdout.read, daemon=True).start()
            for n in range(number):
                name = f"file-{n}"
                source = folder / name
                write(source, 5_000_000, n)
                send = [whimbrel, "send", name, address, "--identity", "id", "--json"]
                send += ["--bwlimit", "100 Mbit/s", "--retry-for", "20 s"]
                process = subprocess.Popen(send, cwd=folder, stdout=subprocess.PIPE, text=True)
                draw = random.Random(n)
                time.sleep(draw.uniform(0.15, 0.35))
                with open(source, "r+b") as file:
                    file.seek(draw.randrange(4_990_000))
                    file.write(draw.randbytes(10_000))
                in_time = process.poll() is None
                output, _ = process.communicate()
                stored = folder / "in" / name
                if process.returncode != 0:
                    failed += 1
                elif filecmp.cmp(source, stored, shallow=False):
                    again += result(output)["sent_bytes"] > 5_000_000
                elif in_time:
                    wrong += 1
                source.unlink()
                stored.unlink(missing_ok=True)
        finally:
            server.terminate()
    print(
        f"changed sources: {wrong} of {number} wrong; in {again} a part was sent again, in "
        f"{failed} the command failed, in the others the change came before its part was read"
    )
    return wrong == 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--whimbrel", required=True)
    parser.add_argument("--only", choices=("outage", "cuts", "changes"))
    parser.add_argument("--number", type=int, default=100, help="of cuts, and of changes")
    options = parser.parse_args()
    whimbrel = os.path.abspath(options.whimbrel)
    parts = {
        "changes": lambda folder: changes(whimbrel, folder, options.number),
        "cuts": lambda folder: cuts(whimbrel, folder, options.number),
        "outage": lambda folder: outage(whimbrel, folder),
    }
    good = True
    for name, part in parts.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory(prefix="whimbrel-") as folder:
                good &= part(pathlib.Path(folder))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
