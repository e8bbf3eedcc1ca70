#!/usr/bin/env python3
"""One file over two emulated links at once: `whimbrel send --via`, the kernel's MPTCP, one link.

    bench/several_links.py --whimbrel target/release/whimbrel [--only TEXT] [--cuts N]
                           [--shared MB] [--controller cubic] [--json FILE]

Each row is a pair of links between the two namespaces of `whimbrel link`. `better` is the better
link alone and `sum` what the links carry alone, added, both under `whimbrel send` with one
controller; `both` is one file over both. MPTCP is the kernel's with its default scheduler and
CUBIC, between two small programs that this script starts. The prediction is `whimbrel sim` with
`scheduler = "ecf"`. --cuts pulls a link at N random instants instead, and prints the longest time
in which nothing was acknowledged. --shared sends a file of so many MB from a host whose two
interfaces lead to one bottleneck, beside a flow of the kernel's TCP with CUBIC: over one interface,
and over both. Needs root and `ip`.
"""

import argparse
import filecmp
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

FAR, PORT = "10.77.0.2", 5201
MPTCP = 262  # IPPROTO_MPTCP of linux/in.h
MB = 1_000_000
# Rate, delay each way, and what else a link has.
PAIRS = {
    "20 + 20 Mbit/s with fades": [
        ("20 Mbit/s", "20 ms", 'loss = { outages = [["3 s", "3.4 s"], ["7 s", "8 s"]] }'),
        ("20 Mbit/s", "25 ms", 'loss = { outages = [["5 s", "5.6 s"], ["10 s", "10.3 s"]] }'),
    ],
    "50 Mbit/s x 30 ms, 20 Mbit/s x 600 ms": [
        ("50 Mbit/s", "15 ms", ""),
        ("20 Mbit/s", "300 ms", ""),
    ],
    "100 and 5 Mbit/s": [("100 Mbit/s", "10 ms", ""), ("5 Mbit/s", "20 ms", "")],
    "1 % loss on one": [
        ("20 Mbit/s", "20 ms", ""),
        ("20 Mbit/s", "30 ms", 'loss = { random = "1 %" }'),
    ],
}
SECONDS = 15  # What both links carry in this time is sent.

# Bytes that arrive, and the answer when all have.
RECEIVE = f"""
import socket
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {MPTCP})
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("{FAR}", {PORT}))
listener.listen()
peer, _ = listener.accept()
while peer.recv(1 << 20):
    pass
peer.sendall(b"x")
peer.recv(1)
"""
SEND = f"""
import socket, sys, time
data, left, begun = bytes(1 << 20), int(sys.argv[1]), time.monotonic()
peer = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {MPTCP})
peer.connect(("{FAR}", {PORT}))
while left > 0:
    left -= peer.send(data[: min(left, len(data))])
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
print(time.monotonic() - begun)
"""
# A host with two interfaces behind the near end, which forwards. The process that keeps its network
# is $host.
HOST = """
echo 1 > /proc/sys/net/ipv4/ip_forward
unshare --net sleep 100000 & host=$!
sleep 0.5
for n in 0 1; do
    ip link add near$n type veth peer name c$n netns $host
    ip address add 10.80.$n.1/24 dev near$n
    ip link set near$n up
    nsenter --net=/proc/$host/ns/net ip address add 10.80.$n.2/24 dev c$n
    nsenter --net=/proc/$host/ns/net ip link set c$n up
    nsenter --net=/proc/$host/ns/net ip route add default via 10.80.$n.1 metric 10$n
done
"""
# Data for whoever connects, and bytes that arrive until the end.
CUBIC = f"""
import socket, sys
near = sys.argv[1] == "near"
peer = socket.socket()
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
if near:
    peer.connect(("{FAR}", {PORT}))
    while True:
        peer.sendall(bytes(1 << 16))
peer.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
peer.bind(("{FAR}", {PORT}))
peer.listen()
data, _ = peer.accept()
while data.recv(1 << 20):
    pass
"""


def mbps(text):
    return float(text.split()[0])


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.whimbrel = os.path.abspath(args.whimbrel)
        self.inbox = folder / "inbox"
        self.inbox.mkdir()
        (folder / "receive.py").write_text(RECEIVE)
        (folder / "send.py").write_text(SEND)
        (folder / "cubic.py").write_text(CUBIC)

    def scenario(self, links, more=""):
        text = ""
        for name, (rate, delay, extra) in zip("ab", links):
            text += f'[link.{name}]\nrate = "{rate}"\ndelay = "{delay}"\nqueue = "1 bdp"\n{extra}\n'
        routes = ", ".join(f'["{name}"]' for name, _ in zip("ab", links))
        text += f'[[flow]]\ncontroller = "{self.args.controller}"\nroutes = [{routes}]\n' + more
        file = self.folder / "links.toml"
        file.write_text(text)
        return file

    def over(self, links, near, far, seed=1):
        """Runs both commands over these links; returns the output of `near`."""
        command = [self.whimbrel, "link", "--quiet", "--seed", str(seed)]
        command += ["--scenario", str(self.scenario(links))]
        for name, _ in zip("ab", links):
            command += ["--link", name]
        command += ["--far", far, "--", "sh", "-c", near]
        with open(self.folder / "log.txt", "a") as log:
            done = subprocess.run(
                command, cwd=self.folder, stdout=subprocess.PIPE, stderr=log, text=True
            )
        return done.stdout

    def send(self, links, size, seed=1, more=""):
        """`whimbrel send` of a file of this size; returns what --json says."""
        file = self.folder / "file"
        with open(file, "wb") as out:
            out.write(random.Random(seed).randbytes(size))
        for old in self.inbox.iterdir():
            old.unlink()
        via = "--via all" if len(links) > 1 else ""
        near = f"sleep 1; {self.whimbrel} send file {FAR} {via} --identity id --json --quiet "
        near += f"--controller {self.args.controller} --no-resume-rate --transport quic {more}"
        far = f"exec {self.whimbrel} serve inbox --identity id > served.txt"
        output = self.over(links, near, far, seed)
        found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        arrived = self.inbox / "file"
        if not found or not filecmp.cmp(file, arrived, shallow=False):
            sys.exit(f"the file did not arrive over {links}; see {self.folder}/log.txt")
        return found[-1]

    def mptcp(self, links, size):
        """Bits per second of the kernel's MPTCP with CUBIC, which uses the second link, too."""
        near = "ip mptcp limits set subflows 4 add_addr_accepted 4; "
        near += "ip mptcp endpoint add 10.77.1.1 dev whimbrel1 subflow; "
        near += f"sleep 1; {sys.executable} send.py {size}"
        far = f"ip mptcp limits set subflows 4 add_addr_accepted 4; {sys.executable} receive.py"
        output = self.over(links, near, far)
        return size * 8 / float(output) if output.strip() else 0.0

    def predicted(self, links, size):
        """Bits per second of the simulator."""
        more = f'size = "{size} B"\n[run]\nduration = "600 s"\nscheduler = "ecf"\n'
        more += 'mss = "1414 B"\nheader = "66 B"\nack_delay = "25 ms"\nmin_rto = "200 ms"\n'
        more += "pacing = 1.25\n"
        command = [self.whimbrel, "sim", str(self.scenario(links, more)), "--json"]
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        run = json.loads(output)["runs"][0]
        return size * 8 / run["duration_s"]

    def row(self, name, links):
        size = int(sum(mbps(rate) for rate, _, _ in links) * MB / 8 * SECONDS)
        alone = []
        for link in links:
            part = int(size * mbps(link[0]) / sum(mbps(rate) for rate, _, _ in links))
            alone.append(self.send([link], part)["goodput_bps"])
        both = self.send(links, size)
        return {
            "name": name,
            "bytes": size,
            "alone_bps": alone,
            "both_bps": both["goodput_bps"],
            "paths": both["paths"],
            "mptcp_bps": self.mptcp(links, size),
            "predicted_bps": self.predicted(links, size),
        }

    def shared(self, size, via):
        """One file over these interfaces of a host, which lead to one link, beside a flow of the
        kernel's CUBIC there; returns what --json says."""
        link = [("20 Mbit/s", "18 ms", "")]
        with open(self.folder / "file", "wb") as out:
            out.write(random.Random(1).randbytes(size))
        for old in self.inbox.iterdir():
            old.unlink()
        near = HOST + f"{sys.executable} cubic.py near & flow=$!; sleep 1; "
        near += f"nsenter --net=/proc/$host/ns/net {self.whimbrel} send file {FAR} {via} "
        near += "--identity id --json --quiet --interval 1s --no-resume-rate --transport quic "
        near += f"--controller {self.args.controller}; kill $flow $host"
        far = f"ip route add 10.80.0.0/16 via 10.77.0.1; {sys.executable} cubic.py far & "
        far += f"exec {self.whimbrel} serve inbox --identity id > served.txt"
        output = self.over(link, near, far)
        found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        if not found or not filecmp.cmp(self.folder / "file", self.inbox / "file", shallow=False):
            sys.exit(f"the file did not arrive; see {self.folder}/log.txt")
        return found[-1]

    def cut(self, number):
        """Pulls one of two links at a random instant; the longest time without new data, s."""
        draw = random.Random(number)
        links = [("20 Mbit/s", "20 ms", ""), ("20 Mbit/s", "30 ms", "")]
        pulled, size = draw.randrange(2), 12 * MB
        # The transfer begins after a second and takes about 2.6 s over both.
        at = 1.2 + draw.random() * 2.0
        rate, delay, _ = links[pulled]
        outage = f'loss = {{ outages = [["{at:.3f} s", "1000 s"]] }}'
        links[pulled] = (rate, delay, outage)
        report = self.send(links, size, number, more="--samples --interval 5ms")
        return at, pulled, longest_stall(report)


def longest_stall(report):
    """The longest time in which nothing was acknowledged, seconds."""
    last, longest, acknowledged = 0.0, 0.0, 0
    for sample in report["samples"]:
        if sample["delivered_bytes"] > acknowledged:
            if acknowledged > 0:
                longest = max(longest, sample["t_s"] - last)
            last, acknowledged = sample["t_s"], sample["delivered_bytes"]
    return longest


def show(row):
    alone, both = row["alone_bps"], row["both_bps"]
    cells = [max(alone), sum(alone), both, row["mptcp_bps"], row["predicted_bps"]]
    cells = [f"{value / 1e6:8.2f}" for value in cells]
    shares = [both / sum(alone), both / max(alone), both / row["predicted_bps"]]
    cells += [f"{share:8.2f}" for share in shares]
    print(f"{row['name']:40}" + " ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--whimbrel", required=True)
    parser.add_argument("--only", help="pairs whose name contains this text")
    parser.add_argument("--cuts", type=int, help="pull a link so many times instead")
    parser.add_argument(
        "--shared", type=int, metavar="MB", help="two interfaces over one bottleneck instead"
    )
    parser.add_argument("--controller", default="cubic")
    parser.add_argument("--json", help="write the results to this file")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, pathlib.Path(folder))
        load = os.getloadavg()[0]
        print(f"load of this machine at the start: {load:.1f} on {os.cpu_count()} processors")
        if args.cuts:
            stalls = []
            for number in range(args.cuts):
                at, pulled, stall = bench.cut(number)
                stalls.append(stall)
                print(f"link {pulled} at {at:.2f} s: {stall * 1e3:.0f} ms", flush=True)
            print(
                f"{len(stalls)} cuts, every file verified; longest stall: median "
                f"{statistics.median(stalls) * 1e3:.0f} ms, most {max(stalls) * 1e3:.0f} ms"
            )
            results = stalls
        elif args.shared:
            results = [bench.shared(args.shared * MB, via) for via in ["--via c0", "--via all"]]
            one, both = [result["goodput_bps"] / 1e6 for result in results]
            print(
                f"beside CUBIC on 20 Mbit/s: {one:.2f} Mbit/s over one interface, {both:.2f} over "
                f"two, {both / one:.2f} of it"
            )
        else:
            columns = ["better", "sum", "both", "MPTCP", "sim", "/sum", "/better", "/sim"]
            print(f"{'Mbit/s':40}" + " ".join(f"{name:>8}" for name in columns))
            results = []
            for name, links in PAIRS.items():
                if args.only is None or args.only in name:
                    results.append(bench.row(name, links))
                    show(results[-1])
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
