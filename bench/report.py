#!/usr/bin/env python3
"""The results of bench/results as one page: our figures beside the papers', with plots. HTML without anything from outside, and Markdown.

usage: report.py [--results=FOLDER] [--output=FILE.html] [FILE.json ...]: of each kind of result the newest is taken, or the files named.
"""
import argparse
import glob
import html
import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plot             # noqa: E402
import published        # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KINDS = ('papers', 'leap', 'gallery')
EMPTY = ''
STYLE = '''body{font:15px/1.45 sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0 1.6em;font-size:13px}td,th{border:1px solid #ddd;padding:3px 8px;text-align:right}
td:first-child,th:first-child{text-align:left}th{background:#f4f4f4}td.theirs{color:#777}td.missed{color:#c00;font-weight:bold}
h2{margin-top:2em}svg{max-width:760px;width:100%}p.why{color:#777}p.missed{color:#c00}'''


class Cell:
    """A value with what it means: ours, theirs (in print), or a target that was missed."""

    def __init__(self, value, kind=''):
        self.value, self.kind = value, kind

    def text(self):
        if self.value is None:
            return EMPTY
        return f'{self.value:,.4g}' if isinstance(self.value, float) else f'{self.value:,}' if isinstance(self.value, int) else str(self.value)


class Page:
    def __init__(self):
        self.html, self.markdown = [], []

    def heading(self, text, level=2):
        self.html.append(f'<h{level}>{html.escape(text)}</h{level}>')
        self.markdown.append(f'\n{"#" * level} {text}\n')

    def words(self, text, kind=''):
        self.html.append(f'<p{f" class={kind}" if kind else ""}>{html.escape(text)}</p>')
        self.markdown.append(text + '\n')

    def table(self, name, columns, rows):
        head = ''.join(f'<th>{html.escape(c)}</th>' for c in columns)
        body = ''.join('<tr>' + ''.join(f'<td{f" class={c.kind}" if c.kind else ""}>{html.escape(c.text())}</td>' for c in row) + '</tr>\n'
                       for row in rows)
        self.html.append(f'<table id="{identifier(name)}"><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>')
        self.markdown += ['| ' + ' | '.join(columns) + ' |', '|' + '---|' * len(columns)]
        self.markdown += ['| ' + ' | '.join(f'**{c.text()}**' if c.kind == 'missed' else c.text() for c in row) + ' |' for row in rows] + ['']

    def plot(self, name, title, x_label, y_label, series):
        series = {k: [(x, y) for x, y in line if x > 0 and y and y > 0] for k, line in series.items()}
        if not any(series.values()):
            return
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'plot.svg')
            plot.lines(path, title, x_label, y_label, {k: line for k, line in series.items() if line})
            with open(path) as file:
                self.html.append(f'<figure id="{identifier(name)}">{file.read()}</figure>')

    def write(self, path, title):
        with open(path, 'w') as file:
            file.write(f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
                       f'<style>{STYLE}</style></head><body>\n' + '\n'.join(self.html) + '\n</body></html>\n')
        with open(os.path.splitext(path)[0] + '.md', 'w') as file:
            file.write('\n'.join(self.markdown) + '\n')


def identifier(name):
    return re.sub(r'\W+', '-', name.lower()).strip('-')


def beside(page, name, ours, theirs, columns, limit=None):
    """A table with two rows for each kernel that the paper has: ours, and in print. limit(kernel, column, value): is it missed?"""
    rows = []
    for kernel, row in ours.items():
        rows.append([Cell(kernel)] + [Cell(row.get(c), 'missed' if limit and limit(c, row.get(c)) else '') for c in columns])
        if kernel in theirs:
            label, printed = theirs[kernel] if isinstance(theirs[kernel], tuple) else ('in print', theirs[kernel])
            rows.append([Cell(f'  {label}', 'theirs')] + [Cell(printed.get(c), 'theirs') for c in columns])
    page.table(name, ['kernel', *columns], rows)


def columns_of(ours, *skipped):
    first = next(iter(ours.values()), {})
    return [c for c in first if c not in skipped]


def show_leap(page, tables):
    ours = tables.get('LEAP table 1')
    if ours:
        page.heading('LEAP, table 1')
        page.words('Overhead of recording over native in percent, with the accesses that escape analysis keeps; JaRec records none. Programs in '
                   'print are of the same kind, not the same. The log column is empty in our copy of the paper.')
        beside(page, 'LEAP table 1', ours, published.LEAP_TABLE_1, columns_of(ours))


def show_tplay(page, tables, of):
    ours = tables.get('TPLAY tables III-V')
    if not ours:
        return
    page.heading('TPLAY, tables III to V')
    page.words('4 threads. Log before compression. Cells without a figure: ' + '; '.join(sorted({r['why empty'] for r in ours.values()})) + '.')
    exact = f'region of {of}'
    beside(page, 'TPLAY tables', ours, published.TPLAY, columns_of(ours, 'why empty'), lambda c, v: c == exact and v != of)
    ratios = [r['light MB'] / r['tplay MB'] for r in ours.values() if r['light MB'] and r['tplay MB']]
    if ratios:
        page.words(f'light\'s log over tplay\'s: {geometric(ratios):.2f} (geometric mean; in print 8.6, or 13 as ratio of arithmetic means).')
    for other, target in (('tplay', 10), ('light', 100)):
        ratios = [r[f'{other} MB'] / r['region MB'] for r in ours.values() if r[f'{other} MB'] and r['region MB']]
        if ratios:
            page.words(f'{other}\'s log over that of region x races: {geometric(ratios):.2f}; wanted: {target}.',
                       '' if geometric(ratios) >= target else 'missed')


def geometric(numbers):
    product = 1.0
    for n in numbers:
        product *= n ** (1 / len(numbers))
    return product


def show_aggreplay(page, tables, of):
    ours = tables.get('AggrePlay tables 3, 5')
    if ours:
        page.heading('AggrePlay, tables 3 and 5')
        page.words('8 threads. Log after compression in MB, slowdown over native, replays that printed the same, replay over native. '
                   'Table 4 is not in our copy of the paper.')
        beside(page, 'AggrePlay tables', ours, published.AGGREPLAY, columns_of(ours),
               lambda c, v: c == f'region x races of {of}' and v != of)


def show_racx(page, tables):
    ours = tables.get('RacX tables 2, 3')
    if ours:
        page.heading('RacX, tables 2 and 3')
        page.words('Warnings, pairs and sites that may race before pruning, and sites after it.')
        beside(page, 'RacX sites', ours, published.RACX_SITES, columns_of(ours, 'steps'))
        steps = columns_of({k: r['steps'] for k, r in ours.items()})
        page.heading('RacX, figure 7: what each step leaves', 3)
        page.table('RacX steps', ['kernel', *steps], [[Cell(k), *(Cell(r['steps'].get(s)) for s in steps)] for k, r in ours.items()])
    ours = tables.get('RacX table 4')
    if ours:
        page.heading('RacX, table 4')
        page.words('Overhead of recording and of replay in percent, by threads. The columns of replay are empty in print.')
        flat = {k: {**{f'{n}': c['record'] for n, c in r.items()}, **{f'{n} replay': c['replay'] for n, c in r.items()}} for k, r in ours.items()}
        theirs = {k: {str(n): v for n, v in r.items()} for k, r in published.RACX_OVERHEAD.items()}
        beside(page, 'RacX table 4', flat, theirs, columns_of(flat))
        page.plot('RacX figure 6', 'RacX figure 6: recording over native, region x races', 'threads', 'times native',
                  {k: [(int(n), 1 + (c['record'] or 0) / 100) for n, c in r.items()] for k, r in ours.items()})


def show_figures(page, results):
    """LEAP's figures 4 and 5, from bench/leap.py."""
    for name, index, label in (('figure 4', 1, 'shared variables'), ('figure 5', 0, 'threads')):
        points = {tuple(map(int, re.findall(r'\d+', k))): cells for k, cells in results.get(name, {}).items()}
        variants = sorted({v for cells in points.values() for v in cells})
        if points:
            page.heading(f'LEAP, {name}')
            page.table(f'LEAP {name}', ['order', *(f'{p[index]}' for p in points)],
                       [[Cell(v), *(Cell(c[v]['ns'] if v in c else None) for c in points.values())] for v in variants])
            page.plot(f'LEAP {name} plot', f'LEAP {name}', label, 'ns of CPU time per access',
                      {v: [(p[index], c[v]['ns']) for p, c in points.items() if v in c] for v in variants})


def show_gallery(page, results):
    rows = results.get('bugs', {})
    if rows:
        page.heading('The bug gallery')
        page.words('How often each bug shows: natively, recorded, and hunted with --chaos; and how many replays of a failing run failed alike.')
        columns = columns_of(rows)
        page.table('gallery', ['bug', *columns], [[Cell(k), *(Cell(r.get(c)) for c in columns)] for k, r in rows.items()])


def newest(folder):
    """{kind: results}"""
    found = {}
    for kind in KINDS:
        files = sorted(glob.glob(os.path.join(folder, f'*-{kind}.json')))
        if files:
            found[kind] = files[-1]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--results', default=os.path.join(ROOT, 'bench', 'results'))
    parser.add_argument('--output', default=os.path.join(ROOT, 'build', 'bench', 'report.html'))
    parser.add_argument('files', nargs='*', metavar='KIND=FILE.json', help=f'instead of the newest; kinds: {", ".join(KINDS)}')
    settings = parser.parse_args()
    paths = dict(f.split('=', 1) for f in settings.files) if settings.files else newest(settings.results)
    if not paths or set(paths) - set(KINDS):
        sys.exit(f'report: no results of these kinds: {", ".join(KINDS)}. Make some: python3 bench/papers.py --save')
    results = {}
    for kind, path in paths.items():
        with open(path) as file:
            results[kind] = json.load(file)
    page = Page()
    page.heading('Heddle beside the papers', 1)
    for kind, r in results.items():
        m = r.get('machine', {})
        page.words(f'{kind}: {r.get("date")}, {m.get("cpu")}, {m.get("cores")} cores, {m.get("arch")}, Linux {m.get("kernel")}', 'why')
    papers = results.get('papers', {})
    tables, of = papers.get('tables', {}), papers.get('replays')
    show_figures(page, results.get('leap', {}))
    show_leap(page, tables)
    show_tplay(page, tables, of)
    show_aggreplay(page, tables, of)
    show_racx(page, tables)
    show_gallery(page, results.get('gallery', {}))
    os.makedirs(os.path.dirname(os.path.abspath(settings.output)), exist_ok=True)
    page.write(settings.output, 'Heddle beside the papers')
    print(f'{settings.output}, and the same as Markdown')
    return 0


if __name__ == '__main__':
    sys.exit(main())
