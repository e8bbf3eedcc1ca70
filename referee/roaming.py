#!/usr/bin/env python3
"""Transfers that survive changes of the client's address, on the real kernel.

Two network namespaces are joined by two links, as a laptop is by Wi-Fi and a cell network. While
`whimbrel send` runs, the client's address changes again and again: another address on the same
link (DHCP), the other link (one goes down, the other comes up), a VPN that comes and goes (a route
with another source address), an outage. The transfer must go on, and the file arrive.

Needs root and `ip`. Nothing stays behind.
"""

import argparse
import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

CLIENT, SERVER = "whimbrel-roam-c", "whimbrel-roam-s"
ADDRESS = "10.90.0.1"
LINKS = {"wifi": "10.81.1", "cell": "10.81.2"}


def run(*args, check=True):
    """Runs a command without output."""
    return subprocess.run(args, check=check, capture_output=True, text=True)


def ip(where, *args, check=True):
    return run("ip", "-n", where, *args, check=check)


def shape(where, device, rate, delay):
    """Limits what leaves a device. A kernel without netem adds no delay."""
    add = ["tc", "-n", where, "qdisc", "add", "dev", device, "root"]
    netem = ["netem", "delay", f"{delay}ms", "rate", f"{rate}mbit", "limit", "1000"]
    if run(*add, *netem, check=False).returncode != 0:
        run(*add, "tbf", "rate", f"{rate}mbit", "burst", "50kb", "latency", "50ms")


class Network:
    """The client's host, the server's host, and two links between them."""

    def __init__(self, rate, delay):
        self.close()
        for name in (CLIENT, SERVER):
            run("ip", "netns", "add", name)
            ip(name, "link", "set", "lo", "up")
        ip(SERVER, "addr", "add", f"{ADDRESS}/32", "dev", "lo")
        for name, net in LINKS.items():
            ip(CLIENT, "link", "add", name, "type", "veth", "peer", "name", name, "netns", SERVER)
            ip(SERVER, "addr", "add", f"{net}.1/24", "dev", name)
            ip(SERVER, "link", "set", name, "up")
            for where in (CLIENT, SERVER):
                shape(where, name, rate, delay)
        self.host = 2
        self.link = None
        self.use("wifi")

    def use(self, link):
        """Moves the client to a link, with a new address."""
        self.leave()
        self.link = link
        self.host = 2 + (self.host - 1) % 200
        net = LINKS[link]
        ip(CLIENT, "link", "set", link, "up")
        ip(CLIENT, "addr", "add", f"{net}.{self.host}/24", "dev", link)
        ip(CLIENT, "route", "add", "default", "via", f"{net}.1")

    def leave(self):
        """The client has no network any more."""
        if self.link:
            ip(CLIENT, "addr", "flush", "dev", self.link)
            ip(CLIENT, "link", "set", self.link, "down")
            self.link = None

    def vpn(self):
        """A VPN comes: a route to the server with another source address."""
        net, self.host = LINKS[self.link], 2 + (self.host - 1) % 200
        source = f"{net}.{self.host}"
        ip(CLIENT, "addr", "add", f"{source}/24", "dev", self.link)
        ip(CLIENT, "route", "replace", f"{ADDRESS}/32", "via", f"{net}.1", "src", source)

    def no_vpn(self):
        """The VPN goes, and its address with it."""
        ip(CLIENT, "route", "del", f"{ADDRESS}/32", check=False)
        ip(CLIENT, "addr", "del", f"{LINKS[self.link]}.{self.host}/24", "dev", self.link)

    def close(self):
        for name in (CLIENT, SERVER):
            run("ip", "netns", "del", name, check=False)


def other(link):
    return next(name for name in LINKS if name != link)


def change(network, kind, outage):
    """Changes the client's network once."""
    if kind == "address":
        network.use(network.link)
    elif kind == "link":
        network.use(other(network.link))
    elif kind == "vpn":
        network.vpn()
        time.sleep(0.5)
        network.no_vpn()
    else:
        link = network.link
        network.leave()
        time.sleep(outage)
        network.use(other(link))


def stalls(trace):
    """The longest time without progress, s."""
    with open(trace, newline="") as file:
        rows = [(float(r["t_s"]), int(r["delivered_bytes"])) for r in csv.DictReader(file)]
    longest, last = 0.0, rows[0]
    for row in rows:
        if row[1] > last[1]:
            longest, last = max(longest, row[0] - last[0]), row
    return longest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--whimbrel", default="target/release/whimbrel")
    parser.add_argument("--changes", type=int, default=20, help="changes of each kind")
    parser.add_argument("--kinds", default="address,link,vpn,outage")
    parser.add_argument("--outage", type=float, default=3, help="length of an outage, s")
    parser.add_argument("--rate", type=int, default=40, help="rate of both links, Mbit/s")
    parser.add_argument("--delay", type=int, default=20, help="one-way delay, ms")
    parser.add_argument("--controller", default="cubic")
    args = parser.parse_args()
    whimbrel = os.path.abspath(args.whimbrel)
    failed = 0
    print(f"{args.rate} Mbit/s, one-way delay {args.delay} ms (0 without netem), {args.controller}")
    print("kind     changes  survived     s  longest stall, s")
    for kind in args.kinds.split(","):
        survived, took, longest = transfer(whimbrel, args, kind)
        failed += args.changes - survived
        print(f"{kind:<8} {args.changes:>7} {survived:>9} {took:>5.1f} {longest:>17.2f}", flush=True)
    sys.exit(failed > 0)


def transfer(whimbrel, args, kind):
    """One transfer with all changes of a kind. Returns how many it survived."""
    pause = 1.0
    seconds = args.changes * (pause + (args.outage if kind == "outage" else 0.6)) + 3
    size = int(seconds * args.rate * 1e6 / 8)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("in")
        with open("data", "wb") as file:
            file.write(random.Random(1).randbytes(size))
        network = Network(args.rate, args.delay)
        serve = [whimbrel, "serve", "in", "--json", "--identity", "id", "--listen"]
        server = subprocess.Popen(
            ["ip", "netns", "exec", SERVER, *serve, f"{ADDRESS}:4440"],
            stdout=subprocess.PIPE,
            text=True,
        )
        client = None
        try:
            json.loads(server.stdout.readline())
            send = [whimbrel, "send", "data", ADDRESS, "--identity", "id", "--trace", "trace.csv"]
            client = subprocess.Popen(
                ["ip", "netns", "exec", CLIENT, *send, "--controller", args.controller],
                stdout=subprocess.DEVNULL,
            )
            started, survived = time.monotonic(), 0
            for _ in range(args.changes):
                time.sleep(pause)
                if client.poll() is not None:
                    break
                change(network, kind, args.outage)
                survived += 1
            status = client.wait(timeout=120)
            took = time.monotonic() - started
            if status != 0:
                return max(0, survived - 1), took, float("nan")
            with open("data", "rb") as sent, open("in/data", "rb") as stored:
                assert sent.read() == stored.read(), "the file differs"
            return survived, took, stalls("trace.csv")
        finally:
            if client and client.poll() is None:
                client.kill()
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=20)
            network.close()
            os.chdir("/")


if __name__ == "__main__":
    main()
