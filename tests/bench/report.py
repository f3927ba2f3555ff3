"""bench/papers.py, gallery.py, leap.py, and the page that report.py makes of them: every table and plot is there, and has figures."""
import os
import sys

from harness import ROOT

sys.path.insert(0, os.path.join(ROOT, 'tests', 'debug', 'parts'))
from browser import Browser  # noqa: E402

BENCH = os.path.join(ROOT, 'bench')
TABLES = ('leap-figure-4', 'leap-figure-5', 'racx-sites', 'racx-steps', 'racx-table-4', 'gallery')
SLOWER = ('leap-table-1', 'tplay-tables', 'aggreplay-tables')       # under all orders: in soak
PLOTS = ('leap-figure-4-plot', 'leap-figure-5-plot', 'racx-figure-6')


def results(t, name, *options):
    path = t.path(f'{name}.json')
    t.run_well([sys.executable, os.path.join(BENCH, f'{name}.py'), f'--build={t.settings.build}', '--quick', f'--json={path}', *options],
               timeout=900)
    return f'{name}={path}'


def case_report(t):
    """In a browser. The figures themselves are not looked at: they are of a short run."""
    soak = t.settings.level == 'soak'
    tables = TABLES + SLOWER if soak else TABLES
    files = [results(t, 'papers', '--kernels=chain', *([] if soak else ['--tables=RacX'])), results(t, 'gallery', '--only=aget_progress'),
             results(t, 'leap', '--rounds=1', '--orders=region')]
    page = t.path('report.html')
    t.run_well([sys.executable, os.path.join(BENCH, 'report.py'), f'--output={page}', *files])
    with Browser(t.folder('home')) as browser:
        browser.open(page)
        for table in tables:
            cells = browser.run('return [...document.querySelectorAll(arguments[0])].map(c => c.innerText)', f'table#{table} tbody td')
            t.check(any(c and c[0].isdigit() for c in cells), f'table {table} is missing, or has no figure: {cells}')
        for name in PLOTS:
            points = browser.run('return document.querySelectorAll(arguments[0]).length', f'figure#{name} svg circle')
            t.check(points >= 3, f'plot {name} is missing, or has {points} points')
        t.check(not browser.errors(), f'{browser.errors()}')
    with open(t.path('report.md')) as file:
        t.check(file.read().count('|---|') >= len(tables), 'tables are missing in the Markdown')


def case_report_without_results(t):
    done = t.run([sys.executable, os.path.join(BENCH, 'report.py'), f'--results={t.folder("empty")}'])
    t.check(done.status == 1 and b'no results' in done.err, f'{done}')
