#!/usr/bin/env python3
"""Writes the results of `whimbrel reproduce --json` into docs and experiments.

The files are docs/results.md, the summary in README.md, experiments/seconds.toml, and in the papers'
pages in docs the cells with what was measured and with the verdicts, and marked numbers.

tools/results.py results.json --version "whimbrel 0.1.0" [--only-seconds]
"""

import argparse
import json
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- summary: written by `make results` -->", "<!-- /summary -->"
VERDICTS = ["holds", "in part", "does not hold", "contradicts itself"]
CONTRADICTS, UNDECIDABLE, UNDECIDED = VERDICTS[-1], "cannot be decided", "undecided"
KINDS = ["number", "order"]
# In the label of a row whose number a paper took from measurements on the Internet.
LIVE = "(a live path)"

# A paper's page in docs/, if its name differs from that of the paper's folder.
PAGES = {"rta": "tcp-rta.md"}


def groups(results):
    """Groups results by folder and paper, in order; experiments beyond a paper form a group."""
    found = {}
    for result in results:
        key = (result["id"].split("/")[0], result["paper"], result["beyond"])
        found.setdefault(key, []).append(result)
    # What is beyond a paper stands after the paper.
    return dict(sorted(found.items(), key=lambda item: (item[0][0], item[0][2])))


def seconds_by_scenario(results):
    """Seconds of each scenario; experiments with the same scenario share its runs."""
    return {result["scenario"]: result["seconds"] for result in results}


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def right(results, kind):
    """How many rows of a kind are right, of those that are decided: `17 of 43`."""
    rows = [row["right"] for result in results for row in result["rows"] if row["asks"] == kind]
    decided = [row for row in rows if row is not None]
    return f"{sum(decided)} of {len(decided)}"


def summary_line(first, results):
    counts = [sum(result["verdict"] == verdict for result in results) for verdict in VERDICTS]
    counts.append(len(results) - sum(counts))
    seconds = sum(seconds_by_scenario(results).values())
    kinds = [right(results, kind) for kind in KINDS]
    cells = [cell(first), str(len(results)), *map(str, counts), *kinds, f"{seconds:.0f}"]
    return "| " + " | ".join(cells) + " |"


def short(paper, beyond):
    """Authors and title; the paper's page has the place of publication."""
    if beyond:
        return "beyond the paper"
    title = re.match(r'[^"]*"[^"]*"', paper)
    return title.group() if title else paper


def summary(results, folder):
    """A table with a line for each paper. `folder` is the prefix of links to docs/."""
    of_papers = [result for result in results if not result["beyond"]]
    ours = [result for result in results if result["beyond"]]
    rows = [row for result in of_papers for row in result["rows"] if row["asks"] != "nothing"]
    undecided = sum(row["seeds_to_decide"] is not None for row in rows)
    numbers, orders = (right(of_papers, kind) for kind in KINDS)
    cannot = sum(
        row["asks"] == "number"
        and row["right"] is not True
        and (result["verdict"] in (CONTRADICTS, UNDECIDABLE) or LIVE in row["label"])
        for result in of_papers
        for row in result["rows"]
    )
    lines = [
        f"Of the papers' numbers {numbers} came out, and of their orders (one is above another)",
        f"{orders}; {undecided} more are undecided. Of the numbers that did not, {cannot} cannot: "
        "they belong to",
        "claims that contradict themselves or cannot be decided, or were measured on live paths. A "
        "claim",
        "holds if every row is right and decided. Each number of a paper counts once; what a "
        "setting was",
        "fitted to does not count. Settings are those of the papers' own simulators where a paper "
        "names one;",
        "each experiment states its departures.",
        "",
        "| paper | claims | hold | in part | do not hold | contradict themselves | undecided "
        "| numbers | orders | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for (name, paper, beyond), group in groups(results).items():
        page = PAGES.get(name, f"{name}.md")
        link = f"[{name}]({folder}{page})" if (ROOT / "docs" / page).exists() else name
        lines.append(summary_line(f"{link}: {short(paper, beyond)}", group))
    lines.append(summary_line("all of the papers", of_papers))
    lines.append(summary_line("all beyond them", ours))
    return "\n".join(lines)


def page(results, version):
    lines = [
        "# Results",
        "",
        f"The results of `whimbrel reproduce` for every experiment: {version}, "
        f"{os.cpu_count()} cores, {sum(seconds_by_scenario(results).values()) / 60:.0f} minutes",
        "in all. `make results` writes this page; [reproducing.md](reproducing.md) describes the "
        "command.",
        "",
        BEGIN,
        summary(results, ""),
        END,
    ]
    for (name, paper, beyond), group in groups(results).items():
        lines += [
            "",
            f"## {name}: {'beyond the paper, ' if beyond else ''}{paper}",
            "",
            "| experiment | where | claim | verdict | why |",
            "|---|---|---|---|---|",
        ]
        for result in group:
            link = f"[{result['id']}](../experiments/{result['id']}.toml)"
            texts = [link, *(cell(result[key]) for key in ["place", "claim", "verdict", "reason"])]
            lines.append("| " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def seconds_file(results):
    lines = [
        "# Seconds that each scenario takes on two cores, by its id. Experiments that share a",
        "# scenario share its runs. Written by `make seconds`.",
    ]
    times = seconds_by_scenario(results)
    lines += [f'"{scenario}" = {max(times[scenario], 0.1):.1f}' for scenario in sorted(times)]
    return "\n".join(lines) + "\n"


def replace_summary(text, table):
    pattern = re.escape(BEGIN) + ".*?" + re.escape(END)
    if not re.search(pattern, text, re.S):
        raise SystemExit(f"README.md lacks the markers {BEGIN} and {END}")
    return re.sub(pattern, lambda _: f"{BEGIN}\n{table}\n{END}", text, flags=re.S)


def value(row):
    """A measured value, as the pages show it: about three digits."""
    if row["measured"] is None:
        return "no value"
    size = abs(row["measured"])
    decimals = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.0995 else 4
    text = f"{row['measured']:.{decimals}f}"
    return re.sub(r"\.?0+$", "", text) if "." in text else text


def common(lists):
    """How many items all lists have in common at their beginning."""
    count = 0
    while all(len(items) > count for items in lists) and len({x[count] for x in lists}) == 1:
        count += 1
    return count


def measured(result):
    """What was measured for the rows that expect something: `CERL over: a 1, b 2 %`."""
    rows = [row for row in result["rows"] if row["asks"] != "nothing"]
    groups = []
    for row in rows:
        key = (row["unit"], row["label"].split()[:2])
        if groups and groups[-1][0] == key:
            groups[-1][1].append(row)
        else:
            groups.append((key, [row]))
    parts = []
    for (unit, _), group in groups:
        labels = [row["label"].split() for row in group]
        if len(group) == 1:
            parts.append(f"{group[0]['label']}: {value(group[0])} {unit}".strip())
            continue
        first = common(labels)
        last = common([label[first:][::-1] for label in labels])
        inner = [" ".join(label[first : len(label) - last]) for label in labels]
        tail = ["…", *labels[0][len(labels[0]) - last :]] if last else []
        head = " ".join([*labels[0][:first], *tail])
        items = ", ".join(f"{i} {value(row)}".strip() for i, row in zip(inner, group))
        parts.append(f"{head}: {items} {unit}".removeprefix(": ").strip())
    return cell("; ".join(parts))


# A number that a page repeats: <!-- cerl/fig-4.2: NewReno at 1 % -->0.73<!-- /value -->. With
# `; mean` behind the label it has no deviation.
REPEATED = re.compile(r"(<!-- ([\w-]+/[\w.-]+): (.*?) -->).*?(<!-- /value -->)")


# How many numbers or orders of a paper came out: <!-- cerl: numbers -->5 of 39<!-- /value -->.
COUNTED = re.compile(r"(<!-- ([\w-]+): (number|order)s -->).*?(<!-- /value -->)")


def with_values(text, results):
    """A page in which the numbers that it repeats are those of the results."""
    rows = {(one["id"], row["label"]): row for one in results for row in one["rows"]}
    known = {one["id"] for one in results}

    def repeated(match):
        begin, name, label, end = match.groups()
        if name not in known:
            return match.group()
        label, _, form = label.partition("; ")
        if (name, label) not in rows:
            raise SystemExit(f"{name} has no row `{label}`, which a page repeats")
        row = rows[name, label]
        deviation = row["measured_stddev"]
        text = value(row)
        if deviation is not None and row["measured"] is not None and form != "mean":
            decimals = len(text.partition(".")[2])
            text += f" ± {deviation:.{decimals}f}"
        return begin + text + end

    def counted(match):
        begin, paper, kind, end = match.groups()
        of_paper = [
            one for one in results if one["id"].split("/")[0] == paper and not one["beyond"]
        ]
        return begin + right(of_paper, kind) + end if of_paper else match.group()

    return COUNTED.sub(counted, REPEATED.sub(repeated, text))


def with_results(text, results):
    """A paper's page with the present results. In a line of a table with links to experiments, the
    last cell has their verdicts, in order, and the third what was measured.
    """
    by_id = {result["id"]: result for result in results}

    def verdict(result):
        expected = [row["right"] for row in result["rows"] if row["asks"] != "nothing"]
        return f"{result['verdict']} ({sum(map(bool, expected))} of {len(expected)})"

    def line_with(line):
        ids = re.findall(r"\]\(\.\./experiments/(\S+?)\.toml\)", line)
        cells = [part.strip() for part in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
        known = ids and all(name in by_id for name in ids)
        if not line.startswith("| ") or len(cells) != 5 or not known:
            return line
        found = [by_id[name] for name in ids]
        cells[2] = ". ".join(map(measured, found))
        cells[4] = ", ".join(map(verdict, found))
        return "| " + " | ".join(cells) + " |"

    return "\n".join(map(line_with, text.split("\n")))


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("results", type=pathlib.Path)
    arguments.add_argument("--version", required=True)
    arguments.add_argument("--only-seconds", action="store_true")
    options = arguments.parse_args()
    results = json.loads(options.results.read_text())
    (ROOT / "experiments" / "seconds.toml").write_text(seconds_file(results))
    if options.only_seconds:
        return
    readme = ROOT / "README.md"
    readme.write_text(replace_summary(readme.read_text(), summary(results, "docs/")))
    (ROOT / "docs" / "results.md").write_text(page(results, options.version))
    folders = {result["id"].split("/")[0] for result in results}
    papers = {ROOT / "docs" / PAGES.get(name, f"{name}.md") for name in folders}
    for path in sorted((ROOT / "docs").glob("*.md")):
        before = path.read_text()
        text = with_results(before, results) if path in papers else before
        text = with_values(text, results)
        if text != before:
            path.write_text(text)


if __name__ == "__main__":
    main()
