#!/usr/bin/env python3
"""Writes the results of `whimbrel rank --controllers all --matrix 2 --json` into docs/ranking.md:
the tables of version 2, of version 1, whose classes version 2 contains, and the best at each point.
In the table of version 1 the rows of algorithms that were not run stay, with a mark.

tools/ranking.py ranking.json --version "whimbrel 0.1.0" [--command TEXT]
"""

import argparse
import json
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUBJECTS = dict(A='random loss', B='fades', C='changing paths', D='sharing', E='corruption',
                F='noise', G='short transfers', H='cellular paths both ways',
                I='several bottlenecks', J='traffic on the way back', K='churn of short transfers',
                L='outages that flicker', M='mixtures of three algorithms')
FIRST_VERSION = 'ABCDEFG'


def row(cells):
    return '| ' + ' | '.join(cells) + ' |'


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def earlier(page, classes):
    """The rows of version 1 of a page that this program wrote: entries by name."""
    rows = {}
    for name, cells in re.findall(r'^\| \d+ \| `([^`]+)`†? \|(.*)\|$', page, re.M):
        scores = [float(cell.strip(' *')) for cell in cells.split('|')][1:]
        if len(scores) == len(classes):
            rows[name] = dict(algorithm=name, classes=dict(zip(classes, scores)), earlier=True)
    return rows


def table(data, classes, kept=()):
    """The algorithms by their mean over these classes, with entries of an earlier run, or else with
    the best at each point."""
    oracle = {c: [] for c in classes}
    for point in data['points']:
        if point['class'] in oracle:
            scores = [s['score'] for s in data['scores'] if s['point'] == point['id']]
            oracle[point['class']].append(max(scores))
    rows = data['table'] + list(kept)
    best = {c: max(entry['classes'][c] for entry in rows) for c in classes}
    entries = [(mean(entry['classes'][c] for c in classes), entry) for entry in rows]
    entries.sort(key=lambda it: -it[0])
    lines = [row(['', 'algorithm', 'all', *classes]),
             row(['---:', '---', '---:'] + ['---:' for _ in classes])]
    for place, (score, entry) in enumerate(entries, 1):
        cells = []
        for c in classes:
            text = f'{entry["classes"][c]:.3f}'
            cells.append(f'**{text}**' if entry['classes'][c] == best[c] else text)
        name = f'`{entry["algorithm"]}`' + ('†' if 'earlier' in entry else '')
        lines.append(row([str(place), name, f'{score:.3f}', *cells]))
    if kept:
        return lines
    means = {c: mean(oracle[c]) for c in classes}
    lines.append(row(['', 'best at each point', f'{mean(means.values()):.3f}',
                      *(f'{means[c]:.3f}' for c in classes)]))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('ranking', type=pathlib.Path)
    parser.add_argument('--version', required=True)
    parser.add_argument('--command', default='make rank', help='what was run')
    args = parser.parse_args()
    data = json.loads(args.ranking.read_text())
    classes = sorted({point['class'] for point in data['points']})
    seeds = sorted({s['seed_count'] for s in data['scores']})
    first = [c for c in classes if c in FIRST_VERSION]
    page = ROOT / 'docs/ranking.md'
    known = earlier(page.read_text(), first)
    ran = {entry['algorithm'] for entry in data['table']}
    kept = [entry for name, entry in known.items() if name not in ran]
    subjects = [f'{c}: {SUBJECTS[c]}' for c in classes]
    lines = [
        '# The ranking',
        '',
        f'{len(data["table"])} algorithms at {len(data["points"])} points of matrix version '
        f'{data["version"]}, scored from 0 to 1 (the',
        'goal is met). [The method](#the-method) states the points and the formulas.',
        '`tools/ranking.py` writes these tables from `whimbrel rank --json`; `make rank` does it',
        'for all algorithms.',
        '',
        f'*{args.version}; seeds of each algorithm at each point: {" or ".join(map(str, seeds))}. '
        'Measured with:*',
        '',
        '```',
        args.command,
        '```',
        '',
        "The equations of `d-tcp` are this project's own and those of `jtcp` are second-hand, "
        'because only',
        "the papers' abstracts were available: their rows say nothing about those papers.",
        '',
        *textwrap.wrap(f'{"; ".join(subjects)}.', 100),
        'Bold: best in its class.',
        '',
        *table(data, classes),
        '',
        '## Matrix version 1',
        '',
        'The classes A to G alone.' + (' †: scores of an earlier run.' if kept else ''),
        '',
        *table(data, first, kept),
        '',
        '## The best at each point',
        '',
        row(['point', 'a good algorithm', 'best', 'score', 'next', 'score']),
        row(['---', '---', '---', '---:', '---', '---:']),
    ]
    for point in data['points']:
        of = sorted((s for s in data['scores'] if s['point'] == point['id']),
                    key=lambda s: -s['score'])
        folder = 'matrix' if point['class'] in FIRST_VERSION else 'matrix2'
        cells = [f'[{point["id"]}](../experiments/{folder}/{point["id"]}.toml)', point['claim']]
        for s in of[:2]:
            cells += [f'`{s["algorithm"]}`', f'{s["score"]:.3f}']
        lines.append(row(cells))
    # The method is written by hand.
    _, heading, rest = page.read_text().partition('## The method')
    page.write_text('\n'.join(lines) + '\n' + (f'\n{heading}{rest}' if heading else ''))


if __name__ == '__main__':
    main()
