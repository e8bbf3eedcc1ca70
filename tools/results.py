#!/usr/bin/env python3
"""Writes the results of `whimbrel reproduce --json` into docs and experiments.

The files are docs/results.md, the summary in README.md, experiments/seconds.toml, and the verdicts
in the tables of the papers' pages in docs.

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
        and (result["verdict"] == VERDICTS[-1] or LIVE in row["label"])
        for result in of_papers
        for row in result["rows"]
    )
    lines = [
        f"Of the papers' numbers {numbers} came out, and of their orders (one is above another)",
        f"{orders}; {undecided} more are undecided. Of the numbers that did not, {cannot} cannot: "
        "they belong to",
        "claims that contradict themselves, or were measured on live paths. Settings are those of "
        "the",
        "papers' own simulators where a paper names one, and are stated in each experiment.",
        "",
        "| paper | claims | hold | in part | do not hold | contradict themselves | numbers "
        "| orders | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
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


def with_verdicts(text, results):
    """A paper's page with the present verdicts: those of a line belong to its links to experiments,
    in order.
    """
    present = {}
    for result in results:
        decided = [row["right"] for row in result["rows"] if row["right"] is not None]
        present[result["id"]] = f"{result['verdict']} ({sum(decided)} of {len(decided)})"
    known = "|".join([*VERDICTS, "undecided"])
    verdict = re.compile(rf"\b(?:{known}) \(\d+ of \d+\)")

    def line_with(line):
        ids = re.findall(r"\]\(\.\./experiments/(\S+?)\.toml\)", line)
        ids = [name for name in ids if name in present]
        if not line.startswith("|") or len(verdict.findall(line)) != len(ids):
            return line
        return verdict.sub(lambda _: present[ids.pop(0)], line)

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
    for page_of_paper in [ROOT / "docs" / PAGES.get(name, f"{name}.md") for name in folders]:
        if page_of_paper.exists():
            text = page_of_paper.read_text()
            page_of_paper.write_text(with_verdicts(text, results))


if __name__ == "__main__":
    main()
