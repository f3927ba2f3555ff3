"""A page of tables and plots: HTML without anything from outside, and the same as Markdown."""
import html
import os
import re
import tempfile

import plot

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
    """A table of our kernels, each with what the paper has of the same kind below it (published.py); then the rest of the
    paper's rows, and why cells of ours are empty. limit(column, value): is it missed?"""
    def printed(kernel):
        return [[Cell(f'  {label}, in print', 'theirs')] + [Cell(cells.get(c), 'theirs') for c in columns]
                for label, (kind, cells) in theirs.items() if kind == kernel or (kernel is None and kind not in ours)]
    rows = []
    for kernel, row in ours.items():
        rows.append([Cell(kernel)] + [Cell(row.get(c), 'missed' if limit and limit(c, row.get(c)) else '') for c in columns])
        rows += printed(kernel)
    page.table(name, ['kernel', *columns], rows + printed(None))
    say_why(page, {kernel: row.get('why', {}) for kernel, row in ours.items()})


def say_why(page, reasons):
    """reasons: {row: {column: why it is empty}}"""
    by_reason = {}
    for row, columns in reasons.items():
        for column, reason in columns.items():
            by_reason.setdefault(reason, {}).setdefault(row, []).append(column)
    for reason, rows in by_reason.items():
        page.words(f'Empty, {reason}: ' + '; '.join(f'{row}: {", ".join(columns)}' for row, columns in rows.items()) + '.', 'why')
