#!/usr/bin/env python3
"""What a server uses with many connections.

    cargo build --release -p whimbrel-transfer --example connections
    bench/connections.py --whimbrel target/release/whimbrel \\
        --client target/release/examples/connections [--count 1000] [--seconds 60]

Opens connections to a server on loopback, over QUIC and then over TLS, and keeps them idle. Prints
one line for each: memory per connection, open files, threads, and the processor time of the idle
server. Fails if a connection is lost.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time


def state(pid):
    """MB, open files, threads and seconds of processor time of a process."""
    proc = pathlib.Path(f"/proc/{pid}")
    status = dict(
        line.split(":", 1) for line in (proc / "status").read_text().splitlines() if ":" in line
    )
    fields = (proc / "stat").read_text().rsplit(")", 1)[1].split()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    rss = int(status["RssAnon"].split()[0]) / 1000
    return rss, len(os.listdir(proc / "fd")), int(status["Threads"]), cpu


def measure(args, folder, transport):
    """One line of the result."""
    serve = [args.whimbrel, "serve", "in", "--json", "--listen", "127.0.0.1:0", "--identity", "id"]
    with subprocess.Popen(serve, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            listening = json.loads(server.stdout.readline())
            rss, _, _, cpu = state(server.pid)
            command = [args.client, listening["address"], listening["fingerprint"]]
            command += [str(args.count), transport]
            token = (folder / "id" / "token").read_text().strip()
            began = time.monotonic()
            client = subprocess.Popen(
                command,
                env=dict(os.environ, WHIMBREL_TOKEN=token),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            if not client.stdout.readline().startswith(f"{args.count} "):
                raise SystemExit("not all connections were made")
            took = time.monotonic() - began
            connected = state(server.pid)
            time.sleep(args.seconds)
            idle = state(server.pid)
            lost, _ = client.communicate("")
        finally:
            server.terminate()
    each = 1000 * (idle[0] - rss) / args.count
    print(
        f"{transport}: {args.count} connections in {took:.1f} s with {connected[3] - cpu:.1f} s of "
        f"CPU; {idle[0]:.0f} MB, {each:.0f} kB each; {idle[1]} files, {idle[2]} threads; idle "
        f"{100 * (idle[3] - connected[3]) / args.seconds:.1f} % of a core; {lost.strip()}"
    )
    if not lost.startswith("0 "):
        raise SystemExit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whimbrel", required=True, type=os.path.abspath)
    parser.add_argument("--client", required=True, type=os.path.abspath)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    args = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "in").mkdir()
        for transport in ("quic", "tls"):
            measure(args, folder, transport)


if __name__ == "__main__":
    main()
