#!/usr/bin/env python3
"""Writes what `whimbrel reproduce --json` says into docs/results.md, README.md and experiments/seconds.toml.

    tools/results.py results.json --version "whimbrel 0.1.0" [--only-seconds]
"""

import argparse
import json
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- summary: written by `make results` -->", "<!-- /summary -->"
VERDICTS = ["holds", "in part", "does not hold"]

# A paper's page in docs/, where its name is not that of the paper's folder.
PAGES = {"rta": "tcp-rta.md"}


def groups(results):
    """Those of the same folder and paper, in order; what is asked beyond a paper is a group of its own."""
    found = {}
    for result in results:
        found.setdefault((result["id"].split("/")[0], result["paper"]), []).append(result)
    return found


def seconds_by_scenario(results):
    """Experiments with the same scenario share its runs."""
    return {result["scenario"]: result["seconds"] for result in results}


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def summary_line(first, results):
    counts = [sum(result["verdict"] == verdict for result in results) for verdict in VERDICTS]
    seconds = sum(seconds_by_scenario(results).values())
    return "| " + " | ".join([cell(first), str(len(results)), *map(str, counts), f"{seconds:.0f}"]) + " |"


def short(paper):
    """Who wrote it and what it is called; where it was published is in its page."""
    if paper.startswith("None"):
        return "beyond the paper"
    title = re.match(r'[^"]*"[^"]*"', paper)
    return title.group() if title else paper


def summary(results, folder):
    """A table with a line for each paper. `folder` is what leads to docs/."""
    lines = [
        "| paper | experiments | hold | in part | do not hold | seconds |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for (name, paper), group in groups(results).items():
        page = PAGES.get(name, f"{name}.md")
        link = f"[{name}]({folder}{page})" if (ROOT / "docs" / page).exists() else name
        lines.append(summary_line(f"{link}: {short(paper)}", group))
    lines.append(summary_line("all", results))
    return "\n".join(lines)


def page(results, version):
    lines = [
        "# Results",
        "",
        f"What `whimbrel reproduce` said of every experiment: {version}, {os.cpu_count()} cores, all of them in "
        f"{sum(seconds_by_scenario(results).values()) / 60:.0f} minutes. Written by `make results`, not by hand;",
        "[reproducing.md](reproducing.md) says how to run them.",
        "",
        BEGIN,
        summary(results, ""),
        END,
    ]
    for (name, paper), group in groups(results).items():
        lines += ["", f"## {name}: {paper.removeprefix('None: ')}", "", "| experiment | where | claim | verdict | why |", "|---|---|---|---|---|"]
        for result in group:
            link = f"[{result['id']}](../experiments/{result['id']}.toml)"
            texts = [link, *(cell(result[key]) for key in ["place", "claim", "verdict", "reason"])]
            lines.append("| " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def seconds_file(results):
    lines = [
        "# How many seconds each scenario takes on two cores, by its id; experiments that share a scenario share its runs.",
        "# Written by `make seconds`.",
    ]
    times = seconds_by_scenario(results)
    lines += [f'"{scenario}" = {max(times[scenario], 0.1):.1f}' for scenario in sorted(times)]
    return "\n".join(lines) + "\n"


def replace_summary(text, table):
    pattern = re.escape(BEGIN) + ".*?" + re.escape(END)
    if not re.search(pattern, text, re.S):
        raise SystemExit(f"README.md has no place for the summary: {BEGIN} and below it {END}")
    return re.sub(pattern, lambda _: f"{BEGIN}\n{table}\n{END}", text, flags=re.S)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("results", type=pathlib.Path)
    arguments.add_argument("--version", required=True)
    arguments.add_argument("--only-seconds", action="store_true")
    asked = arguments.parse_args()
    results = json.loads(asked.results.read_text())
    (ROOT / "experiments" / "seconds.toml").write_text(seconds_file(results))
    if asked.only_seconds:
        return
    readme = ROOT / "README.md"
    readme.write_text(replace_summary(readme.read_text(), summary(results, "docs/")))
    (ROOT / "docs" / "results.md").write_text(page(results, asked.version))


if __name__ == "__main__":
    main()
