#!/usr/bin/env python3
"""Many small files, and one file of the same size, over loopback and over an emulated path.

    bench/small_files.py --whimbrel target/release/whimbrel [--files 100000] [--bytes 4096]
                         [--link '50 Mbit/s' '600 ms'] [--get]

Without --link: loopback. With it, both ends run in the namespaces of `whimbrel link` (root). Prints
one line for the tree and one for the single file: seconds, files a second, and the ratio. --get
gets the files from the server instead of sending them.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile


def make_tree(top, files, size):
    """Writes the files, 1,000 to a directory."""
    for number in range(files):
        folder = top / f"{number // 1000:04}"
        if number % 1000 == 0:
            folder.mkdir(parents=True)
        seed = number.to_bytes(8, "big")
        (folder / f"{number:06}").write_bytes((seed * (size // 8 + 1))[:size])


def client(whimbrel, source, server, get):
    """The command that sends `source`, or gets it."""
    if get:
        return [whimbrel, "get", f"{server}:{source}", "got", "--identity", "id", "--json"]
    return [whimbrel, "send", source, server, "--identity", "id", "--json"]


def on_loopback(whimbrel, folder, source, get):
    """Sends to a server on this host, or gets. Returns the result of `--json`."""
    serve = [whimbrel, "serve", "in", "--json", "--listen", "127.0.0.1:0", "--identity", "id"]
    serve += ["--allow-read"]
    with subprocess.Popen(serve, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = json.loads(server.stdout.readline())["address"]
            command = client(whimbrel, source, address, get)
            done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        finally:
            server.terminate()
    return json.loads(done.stdout)


def over_link(whimbrel, folder, source, get, rate, rtt):
    """The same over an emulated path."""
    serve = f"exec {whimbrel} serve in --json --identity id --allow-read > served.txt"
    link = [whimbrel, "link", "--quiet", "--rate", rate, "--rtt", rtt, "--far", serve, "--"]
    command = client(whimbrel, source, "10.77.0.2", get) + ["--retry-for", "9 s"]
    done = subprocess.run(link + command, cwd=folder, check=True, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if '"seconds"' in line]
    return json.loads(lines[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whimbrel", required=True)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--bytes", type=int, default=4096)
    parser.add_argument("--link", nargs=2, metavar=("RATE", "RTT"))
    parser.add_argument("--get", action="store_true", help="get instead of send")
    parser.add_argument("--keep", help="work in this directory and keep it")
    options = parser.parse_args()
    whimbrel = os.path.abspath(options.whimbrel)
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="whimbrel-bench-"))
    try:
        (folder / "in").mkdir(parents=True, exist_ok=True)
        (folder / "got").mkdir(exist_ok=True)
        source = folder / "in" if options.get else folder
        if not (source / "tree").exists():
            make_tree(source / "tree", options.files, options.bytes)
        with open(source / "one", "wb") as one:
            one.write(os.urandom(options.files * options.bytes))
        if options.link:
            run = lambda source: over_link(whimbrel, folder, source, options.get, *options.link)
        else:
            run = lambda source: on_loopback(whimbrel, folder, source, options.get)
        tree = run("tree")
        one = run("one")
        print(f"tree  {tree['seconds']:8.2f} s  {options.files / tree['seconds']:9.0f} files/s")
        print(f"one   {one['seconds']:8.2f} s")
        print(f"ratio {tree['seconds'] / one['seconds']:8.2f}")
    finally:
        if not options.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
