"""The last section of docs/enhanced-aatp.md and its pictures: the result of aatp.py for people."""

import datetime
import os
import platform
import subprocess
import textwrap

WIDTH = 100

# What precedes this line in the page is written by hand.
BEGIN = (
    "<!-- From here on written by `referee/aatp.py --write docs/enhanced-aatp.md`; do not edit. -->"
)

HEAD = """
`whimbrel send --controller enhanced-aatp` sends files over QUIC ([send-files.md](send-files.md)),
`whimbrel link` emulates the path ([emulate.md](emulate.md)), and the simulator runs the same
algorithm over the same path. Path and algorithm are the same code on both sides. The transport is
not: clocks, sockets, encryption and the scheduler of a real machine are on one side only, and the
simulator has AATP's own packets (1429 of 1500 bytes are the file's; on QUIC about 1414 of 1480).
"""

FACTS = """
**Machine**: kernel {kernel}, {cores} cores, {date}, {version}. Everything (both ends and the path)
runs on it.

**Verdicts**: *holds* or *does not hold* for what the row states; *spoiled*: 1 packet in 100 left
the emulator later than 5 % of the RTT (at least 1 ms), or the emulator missed packets, so the
figures are not those of the path; *not measured*: the run failed.
"""

# Colours that can be distinguished without hue.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#000000")


def table(heads, rows):
    """A table in Markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def text_table(heads, rows):
    """The same for a terminal."""
    columns = list(zip(heads, *rows)) if rows else [(head,) for head in heads]
    widths = [max(len(cell) for cell in column) for column in columns]
    pad = lambda row: "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
    return "\n".join([pad(heads), *(pad(row) for row in rows)])


def page(sections, options):
    """The page with these results. `sections`: objects with title, text, heads, rows, notes, pictures."""
    version = subprocess.run(
        [options.whimbrel, "--version"], stdout=subprocess.PIPE, check=True, text=True
    ).stdout.strip()
    facts = dict(
        kernel=platform.release(),
        cores=os.cpu_count(),
        date=datetime.date.today().isoformat(),
        version=version,
    )
    paragraphs = FACTS.format(**facts).strip().split("\n\n")
    by_hand, begin, _ = options.write.read_text().partition(BEGIN)
    if not begin:
        raise SystemExit(f"{options.write} does not have the line\n{BEGIN}")
    lines = [by_hand + BEGIN, "", HEAD.strip(), ""]
    lines += [textwrap.fill(f"* {text}", WIDTH, subsequent_indent="  ") for text in paragraphs]
    for section in sections:
        lines += ["", f"### {section.title}", "", textwrap.fill(section.text, WIDTH), ""]
        lines += table(section.heads, section.rows)
        for note in section.notes:
            lines += ["", textwrap.fill(note, WIDTH)]
        for name, caption in section.pictures:
            lines += ["", f"![{caption}]({name})"]
    return "\n".join(lines) + "\n"


def picture(title, panels, end):
    """An SVG with panels one below the other. A panel: (label, maximum, lines); a line: (name,
    colour's number, dashed, [[s, value], ...])."""
    width, height, left, right, top, gap = 760, 190, 60, 150, 34, 46
    total = top + len(panels) * (height + gap)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{total}" fill="#fff"/>',
        f'<text x="{left}" y="20" font-size="14">{title}</text>',
    ]
    inner = width - left - right
    for number, (label, most, lines) in enumerate(panels):
        y0 = top + number * (height + gap)
        place = lambda t, v: (
            f"{left + inner * min(t, end) / end:.1f},{y0 + height * (1 - min(v, most) / most):.1f}"
        )
        out.append(
            f'<rect x="{left}" y="{y0}" width="{inner}" height="{height}" fill="none" '
            'stroke="#bbb"/>'
        )
        for part in (0, 0.5, 1):
            y = y0 + height * (1 - part)
            out.append(
                f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{most * part:g}</text>'
            )
        out.append(
            f'<text x="14" y="{y0 + height / 2}" text-anchor="middle" '
            f'transform="rotate(-90 14 {y0 + height / 2})">{label}</text>'
        )
        for at in range(0, int(end) + 1, 5 if end <= 40 else 10):
            x = left + inner * at / end
            out.append(
                f'<text x="{x:.1f}" y="{y0 + height + 15}" text-anchor="middle">{at}</text>'
            )
        for row, (name, colour, dashed, points) in enumerate(lines):
            stroke = COLOURS[colour % len(COLOURS)]
            dash = ' stroke-dasharray="5 3"' if dashed else ""
            shown = " ".join(place(t, v) for t, v in points if t <= end)
            out.append(
                f'<polyline points="{shown}" fill="none" stroke="{stroke}" stroke-width="1.3"'
                f"{dash}/>"
            )
            y = y0 + 12 + 16 * row
            x = width - right + 8
            out.append(
                f'<line x1="{x}" y1="{y - 4}" x2="{x + 18}" y2="{y - 4}" stroke="{stroke}" '
                f'stroke-width="1.6"{dash}/><text x="{x + 23}" y="{y}">{name}</text>'
            )
    out.append(f'<text x="{left + inner / 2}" y="{total - 8}" text-anchor="middle">time, s</text>')
    return "\n".join(out) + "\n</svg>\n"
