#!/usr/bin/env python3
"""`whimbrel send` beside rsync over ssh, scp, and rsync over `whimbrel pipe`, over emulated paths.

    bench/transfers.py --whimbrel target/release/whimbrel [--quick | --whole] [--only TEXT]

All run between the two namespaces of `whimbrel link`, into an empty directory at the far end. TCP
is the kernel's CUBIC, what Linux uses unless told otherwise, but for `rsync (BBR)`. Every copy is
compared with its source. The time is that of the whole command: start, handshakes, and for
`whimbrel send` the flush to disk. A program that would take too long gets less data, and its rate
or time is scaled to the row's: these cells have a `~`. With --whole all programs get all data,
which takes two and a half hours. An asterisk marks a run whose emulator was late. Results are kept
in --folder, so an interrupted command goes on where it was; --again measures anew. Needs root,
openssh-server and rsync.
"""

import argparse
import filecmp
import getpass
import json
import os
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass

from content import file_of, tree_of
from over_link import FAR, Link

PORT = 2222


@dataclass(frozen=True)
class Row:
    """A path, what is sent over it, and how much of that each slow program gets."""

    name: str
    path: dict
    # Bytes of one file, or a number of small files.
    size: int = 0
    files: int = 0
    # By program: another size or number of files.
    less: tuple = ()
    # A row over the same path with another size: what is more takes as long for each byte.
    beside: str = ""

    @property
    def everything(self):
        """Bytes, or files, of the whole row."""
        return self.files or self.size

    def amount(self, program, extent):
        """How much a program sends: `extent` is "quick", "less" or "whole"."""
        if extent == "whole":
            return self.everything
        amount = dict(self.less).get(program, self.everything)
        return amount // 10 if extent == "quick" else amount


def path(rate, rtt, loss="0 %", **more):
    return {"rate": rate, "rtt": rtt, "loss": loss, **more}


MB = 1_000_000
FADES = ["3 s..4 s", "7 s..9 s", "12 s..12.5 s", "15 s..18 s", "22 s..24 s"]
FADES += ["30 s..31 s", "36 s..38 s", "45 s..48 s", "60 s..62 s"]
# Programs over the kernel's TCP, and its algorithm.
TCP = {"rsync": "cubic", "scp": "cubic", "rsync (BBR)": "bbr"}


def slow(amount):
    """Less for those that take minutes where packets are lost."""
    return (("rsync", amount), ("scp", amount))


ROWS = [
    Row("50 Mbit/s, 100 ms", path("50 Mbit/s", "100 ms"), 100 * MB),
    Row("with 0.1 % loss", path("50 Mbit/s", "100 ms", "0.1 %"), 100 * MB, less=slow(30 * MB)),
    Row("with 1 % loss", path("50 Mbit/s", "100 ms", "1 %"), 100 * MB, less=slow(6 * MB)),
    Row("20 Mbit/s, 600 ms", path("20 Mbit/s", "600 ms"), 50 * MB),
    Row("with 1 % loss, 600 ms", path("20 Mbit/s", "600 ms", "1 %"), 50 * MB, less=slow(MB)),
    Row("50 Mbit/s, 100 ms, fades", path("50 Mbit/s", "100 ms", outage=FADES), 100 * MB),
    Row(
        "10,000 files of 4 KiB",
        path("50 Mbit/s", "100 ms"),
        files=10_000,
        less=(("scp", 200),),
    ),
    Row(
        "one file of 1 GB",
        path("50 Mbit/s", "100 ms"),
        1000 * MB,
        less=tuple((program, 200 * MB) for program in ("whimbrel pipe + rsync", *TCP)),
        beside="50 Mbit/s, 100 ms",
    ),
]
PROGRAMS = ("whimbrel send", "whimbrel pipe + rsync", "rsync", "scp", "rsync (BBR)")


class Ends:
    """Files that the ends need: keys and configurations of ssh, and what is sent."""

    def __init__(self, folder):
        self.folder = folder
        if not (folder / "user_key").exists():
            for key in ("host_key", "user_key"):
                make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
                subprocess.run(make, check=True)
            shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
        (folder / "sshd_config").write_text(
            f"HostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\n"
            f"ListenAddress 0.0.0.0:{PORT}\nStrictModes no\nUsePAM no\nPidFile none\nUseDNS no\n"
            "PasswordAuthentication no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n"
        )
        (folder / "ssh_config").write_text(
            f"Host {FAR}\nPort {PORT}\nUser {getpass.getuser()}\nIdentityFile {folder}/user_key\n"
            "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
            "Compression no\nControlPath none\nIdentitiesOnly yes\n"
        )

    def source(self, row, amount):
        """The name of what is sent: a file or a directory of small files."""
        name = f"tree-{amount}" if row.files else f"file-{amount}"
        place = self.folder / name
        if place.exists():
            return name
        if row.files:
            tree_of(place, amount)
        else:
            file_of(place, amount)
        return name

    def same(self, name):
        """Whether the far end has the same."""
        one, other = self.folder / name, self.folder / "in" / name
        if one.is_file():
            return other.is_file() and filecmp.cmp(one, other, shallow=False)
        names = [str(file.relative_to(one)) for file in one.rglob("*") if file.is_file()]
        _, wrong, missing = filecmp.cmpfiles(one, other, names, shallow=False)
        return not wrong and not missing


def command(program, whimbrel, folder, source):
    """The command at the near end."""
    ssh = f"ssh -F {folder}/ssh_config"
    if program == "whimbrel send":
        return f"{whimbrel} send {source} {FAR} --identity id --json --retry-for 60s >> sent.txt"
    if program == "scp":
        return f"scp -q -r -F {folder}/ssh_config {source} {FAR}:{folder}/in/"
    if program == "whimbrel pipe + rsync":
        ssh += f' -o "ProxyCommand={whimbrel} pipe %h --identity {folder}/id"'
    return f"rsync -a -e '{ssh}' {source} {FAR}:{folder}/in/"


def measure(link, ends, row, program, amount, limit):
    folder = link.folder
    source = ends.source(row, amount)
    shutil.rmtree(folder / "in", ignore_errors=True)
    (folder / "in").mkdir()
    (folder / "time.txt").unlink(missing_ok=True)
    far = f"/usr/sbin/sshd -D -e -f {folder}/sshd_config & exec {link.whimbrel} serve in "
    far += f"--identity id --allow-connect 127.0.0.1:{PORT} > served.txt"
    # The far end has time to start.
    near = "sleep 1; date +%s.%N > time.txt; "
    near += command(program, link.whimbrel, folder, source)
    near += "; status=$?; date +%s.%N >> time.txt; exit $status"
    path = {**row.path, "tcp": TCP.get(program, "cubic")}
    _, status, _, good = link.run(path, near, far, limit)
    if status != 0:
        return {"seconds": None, "why": "too slow" if status is None else f"status {status}"}
    if not ends.same(source):
        return {"seconds": None, "why": "WRONG DATA"}
    began, ended = map(float, (folder / "time.txt").read_text().split())
    return {"seconds": ended - began, "amount": amount, "good": good}


def cell(row, program, kept, extent, markdown):
    """A program's result: of all data if there is one, otherwise scaled."""
    whole = row.everything // 10 if extent == "quick" else row.everything
    measured = [kept.get(f"{row.name}|{program}|{n}") for n in (whole, row.amount(program, extent))]
    found = next((one for one in measured if one), None)
    if found is None:
        return "-"
    if found["seconds"] is None:
        return found["why"]
    amount = found["amount"]
    seconds = found["seconds"] * whole / amount
    small = next((one for one in ROWS if one.name == row.beside), None)
    if small and amount < whole:
        less = small.amount(program, extent)
        other = kept.get(f"{small.name}|{program}|{less}", {}).get("seconds")
        if not other:
            return "-"
        slope = (found["seconds"] - other) / (amount - less)
        seconds = found["seconds"] + (whole - amount) * slope
    scaled = "~" if amount < whole else ""
    late = "" if found["good"] else ("\\*" if markdown else "*")
    if row.files:
        return f"{scaled}{seconds:.1f} s{late}"
    return f"{scaled}{whole * 8e-6 / seconds:.1f}{late}"


def table(kept, rows, extent, markdown):
    lines = [["Mbit/s, or seconds", *PROGRAMS]]
    for row in rows:
        cells = []
        for program in PROGRAMS:
            cells.append(cell(row, program, kept, extent, markdown))
        lines.append([row.name, *cells])
    if markdown:
        lines.insert(1, ["---", *["---:"] * len(PROGRAMS)])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = []
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [value.rjust(width) for value, width in zip(line[1:], widths[1:])]
        text.append("  ".join(cells))
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--whimbrel", required=True)
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="a tenth of the data, without 1 GB")
    extent.add_argument("--whole", action="store_true", help="all data for slow programs, too")
    parser.add_argument("--only", action="append", help="rows whose name contains this text")
    parser.add_argument("--programs", help="some of: " + ", ".join(PROGRAMS))
    parser.add_argument("--limit", type=float, help="seconds of a run, at most [400]")
    parser.add_argument("--folder", default="target/transfers", help="where to work")
    parser.add_argument("--again", action="store_true", help="forget what was measured")
    parser.add_argument("--markdown", action="store_true", help="print the table for a document")
    options = parser.parse_args()
    for needed in ("/usr/sbin/sshd", shutil.which("rsync"), shutil.which("scp")):
        if not needed or not os.path.exists(needed):
            parser.error("install openssh-server, openssh-client and rsync")
    allowed = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
    missing = set(TCP.values()) - set(pathlib.Path(allowed).read_text().split())
    if missing:
        names = " ".join(sorted(missing | set(pathlib.Path(allowed).read_text().split())))
        parser.error(f"run `sysctl net.ipv4.tcp_allowed_congestion_control='{names}'` first")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    folder = pathlib.Path(options.folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    link, ends = Link(options.whimbrel, folder), Ends(folder)
    results = folder / "results.json"
    kept = {}
    if results.exists() and not options.again:
        kept = json.loads(results.read_text())
    extent = "quick" if options.quick else "whole" if options.whole else "less"
    limit = options.limit or (7200 if options.whole else 400)
    rows = [row for row in ROWS if not (options.quick and row.size >= 1000 * MB)]
    if options.only:
        rows = [row for row in rows if any(text in row.name for text in options.only)]
    programs = options.programs.split(", ") if options.programs else PROGRAMS
    for row in rows:
        for program in programs:
            amount = row.amount(program, extent)
            key = f"{row.name}|{program}|{amount}"
            if key in kept:
                continue
            kept[key] = measure(link, ends, row, program, amount, limit)
            print(f"{key} {json.dumps(kept[key])}", file=sys.stderr, flush=True)
            results.write_text(json.dumps(kept, indent=1))
    print(table(kept, rows, extent, options.markdown))


if __name__ == "__main__":
    main()
