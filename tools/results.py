#!/usr/bin/env python3
"""Writes the results of `whimbrel reproduce --json` into docs and experiments.

The files are docs/results.md, the summary in README.md, and experiments/seconds.toml.

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

# A paper's page in docs/, if its name differs from that of the paper's folder.
PAGES = {"rta": "tcp-rta.md"}


def groups(results):
    """Groups results by folder and paper, in order; experiments beyond a paper form a group."""
    found = {}
    for result in results:
        found.setdefault((result["id"].split("/")[0], result["paper"]), []).append(result)
    return found


def seconds_by_scenario(results):
    """Seconds of each scenario; experiments with the same scenario share its runs."""
    return {result["scenario"]: result["seconds"] for result in results}


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def summary_line(first, results):
    counts = [sum(result["verdict"] == verdict for result in results) for verdict in VERDICTS]
    seconds = sum(seconds_by_scenario(results).values())
    return (
        "| "
        + " | ".join([cell(first), str(len(results)), *map(str, counts), f"{seconds:.0f}"])
        + " |"
    )


def short(paper):
    """Authors and title; the paper's page has the place of publication."""
    if paper.startswith("None"):
        return "beyond the paper"
    title = re.match(r'[^"]*"[^"]*"', paper)
    return title.group() if title else paper


def summary(results, folder):
    """A table with a line for each paper. `folder` is the prefix of links to docs/."""
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
        f"The results of `whimbrel reproduce` for every experiment: {version}, "
        f"{os.cpu_count()} cores, {sum(seconds_by_scenario(results).values()) / 60:.0f} minutes",
        "in all. `make results` writes this page; [reproducing.md](reproducing.md) describes the "
        "command.",
        "",
        BEGIN,
        summary(results, ""),
        END,
    ]
    for (name, paper), group in groups(results).items():
        lines += [
            "",
            f"## {name}: {paper.removeprefix('None: ')}",
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


if __name__ == "__main__":
    main()
