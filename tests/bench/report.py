"""The benchmarks, short, and the page that bench/report.py makes of them: every table and plot is there, and has
figures; and README's."""
import glob
import json
import os
import sys

import cells
from harness import ROOT

sys.path.insert(0, os.path.join(ROOT, 'tests', 'debug', 'parts'))
from browser import Browser  # noqa: E402

BENCH = os.path.join(ROOT, 'bench')
TABLES = ('leap-figure-4', 'leap-figure-5', 'leap-table-1', 'tplay-events', 'tplay-tables', 'aggreplay-tables', 'aggreplay-table-4', 'racx-sites', 'racx-steps',
          'racx-raw', 'racx-table-4', 'gallery', 'promised', 'kernels-2', 'kernels-2-log', 'orders-updates', 'selections', 'peers')
PLOTS = ('leap-figure-4-plot', 'leap-figure-5-plot', 'racx-figure-6', 'racx-table-4-plot', 'orders-updates-plot')


def measured(t, folder, script, name, *options):
    """Figures of a short run, as bench/all.py would keep them."""
    t.run_well([sys.executable, os.path.join(BENCH, f'{script}.py'), f'--build={t.settings.build}', '--quick', f'--json={folder}/{name}.json', *options],
               timeout=900)


def case_report(t):
    """In a browser. The figures themselves are not looked at: they are of a short run."""
    folder = t.folder('figures')
    measured(t, folder, 'papers', 'papers-chain', '--kernels=chain')
    measured(t, folder, 'peers', 'peers-chain', '--only=^chain$')
    measured(t, folder, 'gallery', 'gallery', '--only=aget_progress')
    measured(t, folder, 'leap', 'leap', '--rounds=1', '--orders=region')
    measured(t, folder, 'kernels', 'kernels2-chain', '--rounds=1', '--orders=region,leap', '--only=^chain$')
    measured(t, folder, 'orders', 'orders', '--threads=1,2,4', 'region', 'leap')
    measured(t, folder, 'races', 'races-chain', '--rounds=1', '--only=^chain$')
    page = t.path('report.html')
    t.run_well([sys.executable, os.path.join(BENCH, 'report.py'), f'--results={folder}', f'--output={page}'])
    with Browser(t.folder('home')) as browser:
        browser.open(page)
        for table in TABLES:
            figures = browser.run('return [...document.querySelectorAll(arguments[0])].map(c => c.innerText)', f'table#{table} tbody td:not(.theirs)')
            t.check(any(c and c[0].isdigit() for c in figures), f'table {table} is missing, or has no figure of ours: {figures}')
        for name in PLOTS:
            points = browser.run('return document.querySelectorAll(arguments[0]).length', f'figure#{name} svg circle')
            t.check(points >= 3, f'plot {name} is missing, or has {points} points')
        t.check(not browser.errors(), f'{browser.errors()}')
    with open(t.path('report.md')) as file:
        t.check(sum(line.startswith('|---|') for line in file) >= len(TABLES), 'tables are missing in the Markdown')


def soak_figures(t, script, name, *options):
    """Figures of a longer run, kept for `bench/report.py --results=BUILD/bench/soak`."""
    folder = os.path.join(t.settings.build, 'bench', 'soak')
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f'{script}-{name}.json')
    t.run_well([sys.executable, os.path.join(BENCH, f'{script}.py'), f'--build={t.settings.build}', f'--json={path}', *options], timeout=7200)
    with open(path) as file:
        return json.load(file)


def gallery_bugs():
    return [os.path.basename(s)[:-2] for s in sorted(glob.glob(f'{ROOT}/tests/bugs/*.c')) if cells.is_gallery(s)]


def case_gallery_under_every_order(t):
    """How often each bug shows, and of 100 replays under each order how many fail alike: all of them, if it is exact."""
    bug = gallery_bugs()[t.batch % len(gallery_bugs())]
    found = soak_figures(t, 'gallery', bug, f'--only={bug}', '--orders=all', f'--replays={t.count(2, 100)}')['bugs'][bug]
    made = [figures for figures in found['orders'].values() if figures]
    t.recordings, t.replays_made = sum(f['run'] for f in made), sum(f['replays'] for f in made)
    exact = [order for order, guarantee in cells.orders(t.settings.build) if cells.is_exact(guarantee)]
    for order, figures in found['orders'].items():
        t.check(order not in exact or not figures or figures['same'] == figures['replays'], f'{bug} under {order}: {figures}')
    t.notes.append(f'{bug}: {found}')


case_gallery_under_every_order.only_soak = True
case_gallery_under_every_order.batches = len(gallery_bugs())

SOURCES = ('pbzip2', 'pigz', 'zstd', 'sqlite3', 'leveldb', 'apache2', 'memcached', 'redis$', 'redis, 4')


def case_sources(t):
    """What recording larger programs costs, and that each replay is exact."""
    name = SOURCES[t.batch % len(SOURCES)]
    measured_here = soak_figures(t, 'sources', str(t.batch), f'--only=^{name}', f'--replays={t.count(2, 20)}')
    found, why = measured_here['programs'], '; '.join(measured_here['why not'].values())
    if why:
        t.skip(why)
    t.check(found, f'{name} was not measured')
    for program, figures in found.items():
        for select in ('all', 'races'):
            t.recordings, t.replays_made = t.recordings + 1, t.replays_made + figures[select]['replays']
            t.check(figures[select]['exact'] == figures[select]['replays'], f'{program}, {select}: {figures[select]}')
        t.notes.append(f'{program}: {figures}')


case_sources.only_soak = True
case_sources.batches = len(SOURCES)


def case_goes_on(t):
    """bench/all.py does not measure again what it has, and measures again what a changed program makes old."""
    build = t.folder('build')
    for name in ('bin', 'lib', 'tests'):
        os.symlink(os.path.join(t.settings.build, name), os.path.join(build, name))
    command = [sys.executable, os.path.join(BENCH, 'all.py'), f'--build={build}', '--quick', '--only=^light$']
    first, second = (t.run_well(command, timeout=300).out.decode() for _ in range(2))
    t.check('light: done' in first and 'light: done' not in second, f'{first!r}, then {second!r}')
    with open(os.path.join(build, 'bench', 'quick', 'of'), 'w') as file:
        file.write('another state')
    third = t.run_well(command, timeout=300).out.decode()
    t.check('light: done' in third, f'figures of another state were taken: {third!r}')


def case_report_without_results(t):
    done = t.run([sys.executable, os.path.join(BENCH, 'report.py'), f'--results={t.folder("empty")}'])
    t.check(done.status == 1 and b'no results' in done.err, f'{done}')


def case_readme(t):
    """README has the figures of the newest result that is kept, and no others."""
    sys.path.insert(0, BENCH)
    import kept
    import report
    folder = kept.newest()
    t.check(folder, 'no result is kept in bench/results')
    _, figures, _ = report.readme_parts()
    t.check(figures == report.readme_table(kept.read(folder), folder), f'README does not have the figures of {folder}: python3 bench/report.py --readme')
    t.check(figures.count('|') > 20, f'README has hardly any figures: {figures}')


case_readme.quick = True
