#!/usr/bin/env python3
"""Writes the results of `whimbrel rank --controllers all --json` into docs/ranking.md.

tools/ranking.py ranking.json --version "whimbrel 0.1.0" [--command TEXT]
"""

import argparse
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUBJECTS = dict(A='random loss', B='fades', C='changing paths', D='sharing', E='corruption',
                F='noise', G='short transfers')


def row(cells):
    return '| ' + ' | '.join(cells) + ' |'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('ranking', type=pathlib.Path)
    parser.add_argument('--version', required=True)
    parser.add_argument('--command', default='make rank', help='what was run')
    args = parser.parse_args()
    data = json.loads(args.ranking.read_text())
    classes = sorted({point['class'] for point in data['points']})
    seeds = sorted({s['seed_count'] for s in data['scores']})
    lines = [
        '# The ranking',
        '',
        f'{len(data["table"])} algorithms at {len(data["points"])} points of matrix version '
        f'{data["version"]}, scored from 0 to 1 (the',
        'goal is met). [The method](#the-method) states the points and the formulas.',
        '`tools/ranking.py` writes this page from `whimbrel rank --json`; `make rank` does it for all',
        'algorithms.',
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
        row(['', 'algorithm', 'all'] + [f'{c}: {SUBJECTS[c]}' for c in classes]),
        row(['---:', '---', '---:'] + ['---:' for _ in classes]),
    ]
    best = {c: max(t['classes'][c] for t in data['table']) for c in classes}
    for place, entry in enumerate(data['table'], 1):
        cells = []
        for c in classes:
            text = f'{entry["classes"][c]:.3f}'
            cells.append(f'**{text}**' if entry['classes'][c] == best[c] else text)
        lines.append(row([str(place), f'`{entry["algorithm"]}`', f'{entry["all"]:.3f}', *cells]))
    oracle = {}
    for point in data['points']:
        of = [s['score'] for s in data['scores'] if s['point'] == point['id']]
        oracle.setdefault(point['class'], []).append(max(of))
    means = {c: sum(oracle[c]) / len(oracle[c]) for c in classes}
    lines.append(row(['', 'best at each point', f'{sum(means.values()) / len(means):.3f}',
                      *(f'{means[c]:.3f}' for c in classes)]))
    lines += ['', 'Bold: best in its class.', '', '## The best at each point', '',
              row(['point', 'a good algorithm', 'best', 'score', 'next', 'score']),
              row(['---', '---', '---', '---:', '---', '---:'])]
    for point in data['points']:
        of = sorted((s for s in data['scores'] if s['point'] == point['id']),
                    key=lambda s: -s['score'])
        cells = [f'[{point["id"]}](../experiments/matrix/{point["id"]}.toml)', point['claim']]
        for s in of[:2]:
            cells += [f'`{s["algorithm"]}`', f'{s["score"]:.3f}']
        lines.append(row(cells))
    page = ROOT / 'docs/ranking.md'
    # Version 2 of the matrix and the method are written by hand.
    _, heading, rest = page.read_text().partition('## Matrix version 2')
    page.write_text('\n'.join(lines) + '\n' + (f'\n{heading}{rest}' if heading else ''))


if __name__ == '__main__':
    main()
