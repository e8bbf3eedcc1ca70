"""The page docs/linux-referee.md: the result of linux.py for people."""

import datetime
import os
import platform
import subprocess
import textwrap

from linux_ends import WINDOW
from linux_reasons import PAIRS, REASONS, reason
from linux_runs import LATE_MS

HEAD = """# All algorithms on Linux TCP, beside the simulator

<!-- Written by `referee/linux.py --write docs/linux-referee.md`; do not edit. -->

Each algorithm ran on the Linux kernel's TCP ([linux-tcp.md](linux-tcp.md)) over paths that
`whimbrel link` emulates ([emulate.md](emulate.md)), and in the simulator over the same paths. Path
and algorithm are the same code on both sides. TCP is not: loss detection, retransmission, RTT
measurement and the application are the kernel's on one side and the simulator's on the other. So a
difference is one of TCP or of timing, or an error in one of them.

Paths with fades, noise and neighbours under `whimbrel`, over QUIC too:
[whimbrel.md](whimbrel.md#over-quic-and-on-linux-tcp).

Linux 6.1's own algorithms in virtual time, where neither the machine nor the emulator matters:
[referee/README.md](../referee/README.md#a-short-path-with-much-loss).

"""

# One paragraph each, wrapped when the page is written.
FACTS = """
**Linux**: {kernel}, {cores} cores, {date}, {version}. Goodput is what the receiver got in order in
the first {seconds:g} s, handshake included. Delayed ACKs, SACK, RACK and timestamps as the kernel
has them; initial window 10; minimum RTO 200 ms. Pacing only where the algorithm sets a rate.

**Simulator**: `recovery = "rack"`, `min_rto = "200 ms"`, else the defaults; {predictions} seeds, 2
without loss. The receive window is {window:g} MiB on both sides.

**±** is the standard deviation of single runs. The losses are random, and each side draws its own.

**Verdict**: *within 10 %*: the means; *within one sd*: the means differ by at most the standard
deviation of a run (root mean square of both sides); else *differs*.

A run is repeated, and then left out, if 1 packet in 100 left the emulator later than 5 % of the
RTT (at least {tolerated:g} ms), or if it missed a packet. Left out here: {spoiled} of {runs} runs.
The worst of the others has 1 in 100 packets {late:.2f} ms late.

No run fell back to a kernel algorithm or lost an event, unless the last section says so.
"""


def rate(value):
    """`46.9`, `6.09`, `0.854`: three digits."""
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def name(contestant):
    return f"the kernel's `{contestant.name}`" if contestant.kernel else f"`{contestant.name}`"


def reason_of(point, row):
    """The reason for a row that differs, if there is one."""
    if row.verdict() != "differs":
        return None
    return reason(row.contestant, point.loss, row.ratio())


def why(table):
    """The reasons that rows refer to, and the algorithms of those rows."""
    paragraphs = []
    for one in REASONS:
        found = {
            name(row.contestant): None
            for point, rows in table
            for row in rows
            if reason_of(point, row) is one
        }
        if found:
            paragraphs.append(f"* **{one.name}** ({', '.join(found)}): {one.text}")
    return paragraphs


def wrapped(paragraphs):
    return [textwrap.fill(text, 100, subsequent_indent="  ") for text in paragraphs]


def summary(table, everyone):
    """How many algorithms agree, by point."""
    lines = [
        "| path | within 10 % | within one sd | differs, reason known | differs | not measured |",
        "|---|---|---|---|---|---|",
    ]
    for point, rows in table:
        if not everyone(point):
            continue
        ours = [row for row in rows if not row.contestant.kernel]
        verdicts = [row.verdict() for row in ours]
        kinds = ["within 10 %", "within one sd", "differs", "not measured"]
        counts = [verdicts.count(kind) for kind in kinds]
        known = sum(1 for row in ours if reason_of(point, row))
        counts[2:3] = [known, counts[2] - known]
        counts = " | ".join(map(str, counts))
        lines.append(f"| {point.title()} | {counts} |")
    return lines


def same_algorithm(table, pairs):
    """The kernel's own algorithms beside Whimbrel's of the same name."""
    lines = [
        "| path | kernel's | Whimbrel's | kernel's Mbit/s | Whimbrel's Mbit/s | ratio | pairs |",
        "|---|---|---|---|---|---|---|",
    ]
    for point, rows in table:
        for pair in pairs(rows):
            ours, kernel = pair.ours, pair.kernel
            lines.append(
                f"| {point.title()} | {kernel.contestant.name} | {ours.contestant.name} "
                f"| {rate(kernel.measured()[0])} | {rate(ours.measured()[0])} "
                f"| {pair.ratio():.3f} ± {pair.error():.3f} | {len(pair.both)} |"
            )
    return lines


def decisions(table):
    """The decisions of loss classifiers beside the truth."""
    lines = [
        "| path | algorithm | congestion classified as such | random loss classified as such |",
        "|---|---|---|---|",
    ]
    for point, rows in table:
        for row in rows:
            total = row.correct()
            cells = [f"{right} of {all}" for right, all in total.values()]
            if any(all for _, all in total.values()):
                lines.append(f"| {point.title()} | {name(row.contestant)} | {' | '.join(cells)} |")
    return lines if len(lines) > 2 else []


def rows_of(point, rows):
    lines = [
        "| algorithm | Linux Mbit/s | simulator Mbit/s | ratio | verdict |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        expected, expected_sd = row.predicted
        prediction = f"{rate(expected)} ± {rate(expected_sd)}"
        if row.verdict() == "not measured":
            lines.append(f"| {name(row.contestant)} | - | {prediction} | - | not measured |")
            continue
        mean, sd = row.measured()
        note = f" ({len(row.spoiled)} runs left out)" if row.spoiled else ""
        if row.verdict() == "differs":
            found = reason_of(point, row)
            note = f": {found.name if found else 'no reason known'}{note}"
        lines.append(
            f"| {name(row.contestant)} | {rate(mean)} ± {rate(sd)} | {prediction} "
            f"| {row.ratio():.2f} | {row.verdict()}{note} |"
        )
    return lines


def page(table, pairs, complaints, options, predictions):
    """The page's text."""
    version = subprocess.run(
        [options.whimbrel, "--version"], stdout=subprocess.PIPE, check=True, text=True
    ).stdout.strip()
    rows = [row for _, rows in table for row in rows]
    facts = dict(
        kernel=f"kernel {platform.release()}",
        cores=os.cpu_count(),
        date=datetime.date.today().isoformat(),
        version=version,
        seconds=options.seconds,
        predictions=predictions,
        window=WINDOW / (1 << 20),
        tolerated=LATE_MS,
        spoiled=sum(len(row.spoiled) for row in rows),
        runs=sum(row.made for row in rows),
        late=max((row.late_ms for row in rows if row.values), default=0),
    )
    paragraphs = FACTS.format(**facts).strip().split("\n\n")
    bullets = wrapped(f"* {text}" for text in paragraphs)

    all_of_ours = max(sum(not row.contestant.kernel for row in rows) for _, rows in table)

    def everyone(point):
        of = next(rows for other, rows in table if other is point)
        return sum(not row.contestant.kernel for row in of) == all_of_ours

    lines = [HEAD.strip(), "", *bullets, ""]
    lines += ["## Summary", "", "Number of algorithms by verdict:", ""]
    lines += summary(table, everyone)
    lines += [
        "",
        "The equations of `d-tcp` are this project's own and those of `jtcp` are second-hand,",
        "because only the papers' abstracts were available: their rows say nothing about those",
        "papers.",
    ]
    lines += ["", "## The same algorithm in the kernel and in Whimbrel", ""]
    lines += [
        "Both ran on the kernel's TCP with the same seeds of the path: the same packets are lost",
        "as long as both send the same. The ratio is Whimbrel's over the kernel's, ± its",
        "standard error from the differences of the pairs.",
        "",
    ]
    lines += same_algorithm(table, pairs)
    lines += ["", *wrapped(f"* {one.text}" for one in PAIRS)]
    if found := why(table):
        lines += ["", "## Why they differ", ""]
        lines += ["Linux and the simulator, by the name of the reason in the tables below.", ""]
        lines += wrapped(found)
    if found := decisions(table):
        lines += ["", "## Decisions of loss classifiers", ""]
        lines += [
            "One decision for each episode of loss, beside the reason for which the path dropped",
            "the segment: a full queue is congestion. All runs together.",
            "",
        ]
        lines += found
    for point, rows in table:
        lines += ["", f"## {point.title()}", ""]
        fewest, most = min(r.made for r in rows), max(r.made for r in rows)
        runs = f"{most}" if fewest == most else f"{fewest} to {most}"
        lines += [f"{point.seconds:g} s, {runs} runs each.", ""]
        lines += rows_of(point, rows)
    lines += ["", "## What was wrong", ""]
    lines += [f"* {text}" for text in complaints] or ["Nothing."]
    return "\n".join(lines) + "\n"
