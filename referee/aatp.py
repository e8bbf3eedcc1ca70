#!/usr/bin/env python3
"""Compares Enhanced-AATP on QUIC, and loss classifiers on QUIC, with the simulator.

Every run sends files with `whimbrel send` to one `whimbrel serve` through `whimbrel link`; the
emulated path is the code of the simulated one. Sections, each of which runs alone (--only):

* table-5: a file of 1 GB through fades, by enhanced-aatp, cubic and bbr;
* decisions: what the algorithm takes a loss for, beside why the path dropped the packet;
* fairness: shares by priority, and the weighted fairness over time;
* long-fat: three flows on 1 Gbit/s with 130 ms of delay;
* classifiers: cubic+ltd and newreno+jitter-or-level.

Needs what `whimbrel link` needs, and only the standard library. Results are kept in
target/referee/aatp.json, so an interrupted command continues where it stopped.

Exits with 1 if a run failed. A difference from the simulator is a finding, and no error.
"""

import argparse
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import aatp_page
from aatp_runs import (
    CAUSES,
    REPORTS,
    Case,
    Flow,
    Results,
    real,
    referee_directory,
    right,
    simulate,
)

ROOT = Path(__file__).resolve().parent.parent
OC3 = "148.608 Mbit/s"
# The paper's Table 5: fades, and the periods of Enhanced-AATP and CUBIC in seconds.
TABLE_5 = [(0, 0, 54, 57), (10, 0.5, 59, 68), (10, 1, 64, 81), (5, 2, 64, 76)]
# Points by which shares and correct decisions may differ.
POINTS = 5
# Fewer decisions than this on one side are not compared.
FEW = 10


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--whimbrel", default=str(ROOT / "target/release/whimbrel"))
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        metavar="SECTION,...",
        help=f"only these sections: {', '.join(SECTIONS)}",
    )
    parser.add_argument("--again", action="store_true", help="ignore kept results")
    parser.add_argument(
        "--quick", action="store_true", help="small files and short runs: no measurement to publish"
    )
    parser.add_argument(
        "--kept", action="store_true", help="only kept results of real runs; run nothing"
    )
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="write the result as a page")
    options = parser.parse_args()
    if unknown := [name for name in options.only or [] if name not in SECTIONS]:
        parser.error(f"--only: there is no section {unknown[0]}; choose of {', '.join(SECTIONS)}")
    if options.quick and options.write:
        parser.error("--quick is no measurement to publish: omit --write")
    return options


@dataclass
class Section:
    """What a section found."""

    title: str
    text: str
    heads: list
    rows: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    # File names beside the page, and captions.
    pictures: list = field(default_factory=list)
    # The same, and the SVG.
    drawings: dict = field(default_factory=dict)


class Bench:
    """Runs cases on both sides."""

    def __init__(self, options):
        self.options = options
        name = "aatp-quick.json" if options.quick else "aatp.json"
        self.results = Results(referee_directory() / name, options.whimbrel, options.again)
        # Before other programs, but behind the emulator, whose threads have real-time priority.
        self.prefix = ["nice", "-n", "-20"] if may_hurry() else []
        self.failures = []

    def both(self, what, case):
        """A case's outcome over the path and in the simulator. The first has `failed` instead of
        the rest if it did not run."""
        simulated = simulate(self.results, case)
        print(f"{what} ...", file=sys.stderr, flush=True)
        if self.options.kept:
            measured = self.results.get("real", case) or {"failed": "it was not run"}
        else:
            measured = real(self.results, case, self.prefix)
        if why := measured.get("failed"):
            self.failures.append(f"{what}: {why}")
        return measured, simulated


def may_hurry():
    """Whether programs may have a negative nice value here. (`nice` runs them in any case.)"""
    done = subprocess.run(["nice", "-n", "-20", "nice"], capture_output=True, text=True)
    return done.stdout.strip() == "-20"


def verdict(measured, holds):
    """The word for a row. `holds` is not called if there is no measurement."""
    if "failed" in measured:
        return "not measured"
    word = "holds" if holds() else "does not hold"
    return f"{word}, but spoiled" if "spoiled" in measured else word


def fades_of(count, length, first, last, seed=1):
    """Fades at drawn times, without overlap, at least half a second apart."""
    rng = random.Random(f"{count} {length} {seed}")
    free = (last - first) - count * (length + 0.5)
    gaps = sorted(rng.uniform(0, free) for _ in range(count))
    starts = (first + gap + k * (length + 0.5) for k, gap in enumerate(gaps))
    return tuple((round(start, 3), round(start + length, 3)) for start in starts)


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def table_5(bench):
    """1 GB at OC-3 through fades."""
    quick = bench.options.quick
    size = 20_000_000 if quick else 1_000_000_000
    last = 1.4 if quick else 50
    section = Section(
        "Table 5: a file through fades",
        f"{size / 1e9:g} GB over OC-3 (148.608 Mbit/s, RTT 20 ms, buffer 1 BDP) through fades in "
        "which every packet is lost in both directions, at the same drawn times on both sides. "
        "Expected of enhanced-aatp: the time grows by the fades plus at most 1 s, and the rate "
        "outside the fades is at least 95 % of the simulator's.",
        ["fades", "controller", "real, s", "simulated, s", "paper, s"]
        + ["more, real, s", "more, sim, s", "rate outside fades, real / sim"]
        + ["lost to a full queue, real"]
        + ["bandwidth estimate, Mbit/s", "verdict"],
    )
    alone = {}
    for count, length, *paper in TABLE_5[: 2 if quick else None]:
        count = min(count, 1) if quick else count
        fades = fades_of(count, min(length, 0.3) if quick else length, 0.8, last)
        total = sum(to - since for since, to in fades)
        label = f"{count} x {length:g} s" if count else "none"
        papers = {"enhanced-aatp": paper[0], "cubic": paper[1]}
        for controller in ["enhanced-aatp", "cubic", "bbr"]:
            case = Case(OC3, 10, (Flow(controller, size=size),), fades=fades)
            measured, simulated = bench.both(f"{controller}, fades: {label}", case)
            expected = simulated["flows"][0]["seconds"]
            took = None if "failed" in measured else measured["flows"][0]["seconds"]
            if not count:
                alone[controller] = (took, expected)
            base, base_expected = alone[controller]
            bursts = measured["flows"][0]["bursts"] if took else None
            forward = measured["path"]["forward"] if took else None
            more = took - base if took and base and count else None
            # `seconds` begins with the request, after the handshake; both are of the same kind.
            outside = (expected - total) / (took - total) if took else None

            def holds():
                grown = more is None or more <= total + 1
                return grown and outside >= 0.95

            judged = controller == "enhanced-aatp"
            section.rows.append(
                [
                    label,
                    controller,
                    number(took),
                    number(expected),
                    str(papers.get(controller, "-")) if not quick else "-",
                    number(more),
                    number(expected - base_expected) if count else "-",
                    percent(outside),
                    percent(forward["dropped"]["queue"] / forward["offered"]) if took else "-",
                    number(bursts["bandwidth_bps"] / 1e6, 1) if bursts else "-",
                    verdict(measured, holds) if judged else spoiled_only(measured),
                ]
            )
            note_spoiled(section, f"{controller}, {label}", measured)
    return section


def spoiled_only(measured):
    if "failed" in measured:
        return "not measured"
    return "spoiled" if "spoiled" in measured else "-"


def note_spoiled(section, what, measured):
    if why := measured.get("spoiled"):
        section.notes.append(f"Spoiled: {what}: {why}.")
    if why := measured.get("failed"):
        section.notes.append(f"Not measured: {what}: {why}.")


DECISIONS = ["case", "true cause", "right, real", "right, simulated", "verdict"]


def matrix_rows(section, label, measured, simulated, judge=True):
    """The rows of one confusion matrix: by true cause, the part of right decisions."""
    expected = simulated["flows"][0]["truth"]
    found = None if "failed" in measured else measured["flows"][0].get("truth")
    for cause in CAUSES:
        cells = [right(m, cause) if m else None for m in (found, expected)]
        counts = [sum(m[cause]) if m else 0 for m in (found, expected)]
        if not any(counts):
            continue
        shown = [f"{percent(c)} of {n}" if c is not None else "-" for c, n in zip(cells, counts)]

        def holds():
            return None not in cells and abs(cells[0] - cells[1]) * 100 <= POINTS

        if "failed" not in measured and min(counts) < FEW:
            word = "too few to compare"
        else:
            word = verdict(measured, holds)
        section.rows.append([label, cause, *shown, word])
    if found and found["unknown"]:
        decided = sum(sum(found[cause]) for cause in CAUSES) + found["unknown"]
        section.notes.append(
            f"{label}: {found['unknown']} of {decided} decisions were on packets that the path "
            "did not drop."
        )
    note_spoiled(section, label, measured)


def decisions(bench):
    """What Enhanced-AATP takes losses for."""
    end = 4 if bench.options.quick else 20
    section = Section(
        "Decisions on losses, beside the truth",
        f"One transfer by enhanced-aatp over OC-3, RTT 20 ms, {end} s. The path knows why it "
        "dropped each packet; a burst that lost a packet to a full queue counts as congestion. "
        "Beside it, where stated, one connection of the kernel's TCP under CUBIC from the "
        "quarter of the run on. Each side draws its own losses. Holds: the parts of right "
        f"decisions differ by at most {POINTS} points.",
        DECISIONS,
    )
    fades = fades_of(2 if bench.options.quick else 5, 0.5, 0.8, end - 0.8)
    cases = [
        ("0.1 % random loss", dict(loss=0.1)),
        ("1 % random loss", dict(loss=1)),
        ("5 % random loss", dict(loss=5)),
        (f"{len(fades)} fades of 0.5 s", dict(fades=fades)),
        ("beside TCP", dict(tcp=(end / 4, end))),
        ("beside TCP, 0.1 % random loss", dict(tcp=(end / 4, end), loss=0.1)),
        ("beside TCP, 1 % random loss", dict(tcp=(end / 4, end), loss=1)),
    ]
    for label, path in cases[1:2] + cases[4:5] if bench.options.quick else cases:
        flows = (Flow("enhanced-aatp", stop=end),)
        case = Case(OC3, 10, flows, end=end, judge=True, **path)
        measured, simulated = bench.both(f"enhanced-aatp, {label}", case)
        matrix_rows(section, label, measured, simulated)
    return section


def classifiers(bench):
    """Classifiers of window algorithms, which need the receiver's times."""
    end = 5 if bench.options.quick else 20
    section = Section(
        "Classifiers that need the receiver's times",
        f"50 Mbit/s, RTT 100 ms, buffer 1 BDP, {end} s, on QUIC and in the simulator. Before this "
        "transport QUIC had no times of arrival, and these classifiers took every loss for "
        f"congestion. Holds: the parts of right decisions differ by at most {POINTS} points.",
        DECISIONS,
    )
    losses = [1] if bench.options.quick else [0, 0.1, 1]
    for controller in ("cubic+ltd", "newreno+jitter-or-level"):
        for loss in losses:
            label = f"{controller}, {loss:g} % random loss"
            flows = (Flow(controller, stop=end),)
            case = Case("50 Mbit/s", 50, flows, loss=loss, end=end, judge=True)
            measured, simulated = bench.both(label, case)
            matrix_rows(section, label, measured, simulated)
    return section


def delivered(series, end):
    """The integral of a series of [s, bit/s] up to `end`, in bits."""
    total, before = 0, 0
    for at, value in series:
        if at <= end:
            total += value * (at - before)
        before = at
    return total


def since_start(series):
    """The series with a point of its start: the interval before the first value is one report."""
    return [[series[0][0] - REPORTS, 0], *series] if series else []


def mean(series, since, to):
    """The mean of a series of [s, value] in a span; None without any value in it."""
    values = [value for at, value in series if since < at <= to]
    return sum(values) / len(values) if values else None


def fairness(bench):
    """Shares by priority."""
    quick = bench.options.quick
    end, joins = (8, 2) if quick else (30, 5)
    section = Section(
        "Shares by priority",
        f"Several transfers by enhanced-aatp to one server over OC-3, RTT 20 ms, {end} s; each "
        f"joins {joins} s after the one before. Shares are those of the file data that arrives, "
        f"and WF the server's weighted fairness, both over the last third of the run, or of the "
        f"part that is named. Holds: every share within {POINTS} points of the priorities'.",
        ["priorities", "shares, expected", "shares, real", "shares, simulated"]
        + ["WF, real", "WF, simulated", "all, Mbit/s, real / simulated", "verdict"],
    )
    groups = [((1, 1), None), ((1, 8), None), ((2, 4, 6), None), ((2, 4, 6), end / 2)]
    for priorities, leaves in groups[:1] if quick else groups:
        flows = tuple(
            Flow(
                priority=p,
                start=0 if leaves else joins * k,
                stop=leaves if leaves and k == len(priorities) - 1 else end,
            )
            for k, p in enumerate(priorities)
        )
        label = "-".join(map(str, priorities)) + (", the last leaves" if leaves else "")
        case = Case(OC3, 10, flows, end=end)
        measured, simulated = bench.both(f"priorities {label}", case)
        parts = [(label, range(len(priorities)), (end * 2 / 3, end))]
        if leaves:
            together = (label + ", before", range(len(priorities)), (leaves * 2 / 3, leaves))
            parts = [together, (label + ", after", range(len(priorities) - 1), parts[0][2])]
        for title, present, (since, to) in parts:
            weights = [priorities[k] for k in present]
            expected = [w / sum(weights) for w in weights]
            sides = []
            for side in (measured, simulated):
                series = side.get("series", {})
                rates = [mean(series.get(f"f{k}", []), since, to) or 0 for k in present]
                fair = mean(series.get("fairness", []), since, to)
                sides.append((rates, [r / (sum(rates) or 1) for r in rates], fair))
            (rates, shares, fair), (simulated_rates, simulated_shares, simulated_fair) = sides
            worst = max(abs(a - b) for a, b in zip(shares, expected)) * 100
            shown = lambda parts: ":".join(f"{100 * part:.0f}" for part in parts)
            section.rows.append(
                [
                    title,
                    shown(expected),
                    "-" if "failed" in measured else shown(shares),
                    shown(simulated_shares),
                    number(fair, 3),
                    number(simulated_fair, 3),
                    f"{sum(rates) / 1e6:.1f} / {sum(simulated_rates) / 1e6:.1f}",
                    verdict(measured, lambda: worst <= POINTS),
                ]
            )
        note_spoiled(section, label, measured)
        if "failed" not in measured:
            name = "aatp-referee-" + "-".join(map(str, priorities))
            name += "-leaving.svg" if leaves else ".svg"
            caption = f"Priorities {label}: shares and weighted fairness over time"
            section.pictures.append((name, caption))
            section.drawings[name] = shares_picture(caption, priorities, measured, simulated, end)
    return section


def shares_picture(title, priorities, measured, simulated, end):
    """Each flow's goodput and the weighted fairness over time: real, and simulated dashed."""
    rates, fair = [], []
    for side, dashed in ((measured, False), (simulated, True)):
        word = "simulated" if dashed else "real"
        for k, priority in enumerate(priorities):
            points = [[at, rate / 1e6] for at, rate in side["series"].get(f"f{k}", [])]
            # Not one more entry of the legend for each simulated flow.
            rates.append((f"priority {priority}, {word}", k, dashed, smooth(points)))
        fair.append((word, 3, dashed, side["series"].get("fairness", [])))
    panels = [("Mbit/s", 150, rates), ("weighted fairness", 1, fair)]
    return aatp_page.picture(title, panels, end)


def smooth(points, span=5):
    """A moving mean, so that bursts of the clock do not hide the line."""
    return [
        [at, sum(v for _, v in points[max(0, i - span + 1) : i + 1]) / min(i + 1, span)]
        for i, (at, _) in enumerate(points)
    ]


def long_fat(bench):
    """Three flows on a long fat path."""
    quick = bench.options.quick
    rate, end, joins = ("100 Mbit/s", 9, 2) if quick else ("1 Gbit/s", 30, 10)
    section = Section(
        f"{rate}, 130 ms one way, three flows",
        f"Three transfers of one algorithm, {joins} s apart, {end} s, buffer 1 BDP, as in section "
        "6.5 of the paper. Utilization and loss are the emulated link's. Holds: goodput within "
        "10 % of the simulator's.",
        ["controller", "goodput, Mbit/s, real", "simulated", "utilization, real", "simulated"]
        + ["lost, real", "simulated", "verdict"],
    )
    controllers = ["enhanced-aatp", "enhanced-aatp?at_once=true", "cubic", "bbr"]
    for controller in controllers[:1] if quick else controllers:
        flows = tuple(Flow(controller, start=joins * k, stop=end) for k in range(3))
        case = Case(rate, 130, flows, end=end)
        measured, simulated = bench.both(f"three flows of {controller}", case)
        goodput = []
        for side in (measured, simulated):
            series = side.get("series", {})
            all_ = sum(delivered(since_start(series.get(f"f{k}", [])), end) for k in range(3))
            goodput.append(all_ / end / 1e6)
        lost = sum(flow["lost"]["queue_overflow"] for flow in simulated["flows"])
        sent = sum(flow["sent"] for flow in simulated["flows"]) or 1
        forward = measured.get("path", {}).get("forward")
        section.rows.append(
            [
                controller,
                number(goodput[0], 1) if forward else "-",
                number(goodput[1], 1),
                percent(forward["utilisation"]) if forward else "-",
                percent(simulated["link"]["utilisation"]),
                percent(forward["dropped"]["queue"] / forward["offered"]) if forward else "-",
                percent(lost / sent),
                verdict(measured, lambda: abs(goodput[0] / goodput[1] - 1) <= 0.1),
            ]
        )
        note_spoiled(section, controller, measured)
    return section


SECTIONS = {
    "table-5": table_5,
    "decisions": decisions,
    "fairness": fairness,
    "long-fat": long_fat,
    "classifiers": classifiers,
}


def obstacle(options):
    """Why this system cannot emulate a path, if it cannot."""
    command = [options.whimbrel, "link", "--quiet", "--", "true"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    lines = done.stderr.strip().splitlines() or ["no reason given"]
    return lines[-1] if done.returncode else None


def main():
    options = arguments()
    if why := obstacle(options):
        print(f"{'skipped' if options.quick else 'aatp'}: {why}", file=sys.stderr)
        return 0 if options.quick else 1
    bench = Bench(options)
    sections = []
    for name, measure in SECTIONS.items():
        if options.only and name not in options.only:
            continue
        section = measure(bench)
        sections.append(section)
        print(f"\n{section.title}\n\n{aatp_page.text_table(section.heads, section.rows)}")
        for note in section.notes:
            print(f"note: {note}")
        sys.stdout.flush()
    if options.write:
        options.write.write_text(aatp_page.page(sections, options))
        for section in sections:
            for name, svg in section.drawings.items():
                (options.write.parent / name).write_text(svg)
    for text in bench.failures:
        print(f"wrong: {text}")
    return int(bool(bench.failures))


if __name__ == "__main__":
    sys.exit(main())
