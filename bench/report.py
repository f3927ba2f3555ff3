#!/usr/bin/env python3
"""Our figures beside the papers', with plots, as one page: HTML without anything from outside, and Markdown.

usage: report.py [--results=FOLDER] [--output=FILE.html]: the figures of bench/all.py; without a folder, of the newest
run in bench/results.
"""
import argparse
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kept             # noqa: E402
import published        # noqa: E402
from page import Cell, Page, beside, say_why    # noqa: E402

ROOT = kept.ROOT


def geometric(numbers):
    product = 1.0
    for n in numbers:
        product *= n ** (1 / len(numbers))
    return product


def columns_of(ours, *skipped):
    first = next(iter(ours.values()), {})
    return [c for c in first if c not in ('why', *skipped)]


CHEAP = 'What costs little (region x races, JaRec) was timed in runs of the whole kernel by themselves; the other orders in short ones of a small kernel.'


def show_leap(page, tables):
    ours = tables.get('LEAP table 1')
    if ours:
        page.heading('LEAP, table 1')
        page.words('Overhead of recording over native in percent, with the accesses that escape analysis keeps; JaRec records none. Programs in '
                   'print are of the same kind, not the same. The log column is empty in our copy of the paper.')
        page.words(CHEAP)
        beside(page, 'LEAP table 1', ours, published.LEAP_TABLE_1, columns_of(ours))


def show_events(page, tables):
    ours = tables.get('TPLAY table II')
    if ours:
        page.heading('TPLAY, table II')
        page.words('Reads, writes and locks taken, 4 threads, each counted; our kernels are as small here as in the tables that follow.')
        beside(page, 'TPLAY events', ours, published.TPLAY_EVENTS, columns_of(ours))


def show_tplay(page, tables, of):
    ours = tables.get('TPLAY tables III-V')
    if not ours:
        return
    page.heading('TPLAY, tables III to V')
    page.words('4 threads. Log before compression. Transactions are those of threads that came to their end.')
    exact = f'region of {of}'
    beside(page, 'TPLAY tables', ours, published.TPLAY, columns_of(ours), lambda c, v: c == exact and v != of)
    ratios = [r['light MB'] / r['tplay MB'] for r in ours.values() if r['light MB'] and r['tplay MB']]
    if ratios:
        page.words(f'light\'s log over tplay\'s: {geometric(ratios):.2f} (geometric mean; in print 8.6, or 13 as ratio of arithmetic means).')
    for other, target in (('tplay', 10), ('light', 100)):
        ratios = [r[f'{other} MB'] / r['region MB'] for r in ours.values() if r[f'{other} MB'] and r['region MB']]
        if ratios:
            page.words(f'{other}\'s log over that of region x races: {geometric(ratios):.2f}; wanted: {target}.',
                       '' if geometric(ratios) >= target else 'missed')


def show_aggreplay(page, tables, of):
    ours = tables.get('AggrePlay tables 3-5')
    if not ours:
        return
    columns = columns_of(ours)
    page.heading('AggrePlay, tables 3 and 5')
    page.words('8 threads. Log after compression in MB, slowdown over native, replays that printed the same and followed the recording to its end (of '
               'stride: those that printed the same, too), replay over native.')
    page.words(CHEAP)
    beside(page, 'AggrePlay tables', ours, published.AGGREPLAY, [c for c in columns if ': ' not in c],
           lambda c, v: c == f'region x races of {of}' and v != of)
    sets = [c for c in columns if ': ' in c]
    if sets:
        page.heading('AggrePlay, table 4')
        page.words('What each logs of how threads interleave, entries. The paper\'s table is not in our copy.')
        beside(page, 'AggrePlay table 4', ours, {}, sets)


def show_racx(page, tables):
    ours = tables.get('RacX tables 2, 3')
    if ours:
        page.heading('RacX, tables 2 and 3')
        page.words('Warnings, pairs and sites (lines of the source) that may race before pruning, and sites after it.')
        beside(page, 'RacX sites', ours, published.RACX_SITES, columns_of(ours, 'steps'))
        steps = columns_of({k: r['steps'] for k, r in ours.items()})
        page.heading('RacX, figure 7: what each step leaves', 3)
        page.words('Accesses, of which a line that was inlined, unrolled or vectorised has many.')
        page.table('RacX steps', ['kernel', *steps], [[Cell(k), *(Cell(r['steps'].get(s)) for s in steps)] for k, r in ours.items()])
    ours = tables.get('RacX table 4')
    if ours:
        show_raw(page, ours)
        page.heading('RacX, table 4')
        page.words('Overhead of recording and of replay in percent, by threads. The columns of replay are empty in print.')
        flat = {k: {**by_threads(r, 'record', ''), **by_threads(r, 'replay', ' replay'), 'why': reasons(r, {'record': '', 'replay': ' replay'})} for k, r in ours.items()}
        beside(page, 'RacX table 4', flat, published.RACX_OVERHEAD, columns_of(flat))
        page.plot('RacX table 4 plot', 'RacX table 4: recording over native, region x races', 'threads', 'times native',
                  {k: [(int(n), 1 + c['record'] / 100) for n, c in r.items() if c['record'] is not None] for k, r in ours.items()})


def by_threads(row, what, label):
    return {f'{n}{label}': c.get(what) for n, c in row.items()}


def reasons(row, labels):
    return {f'{n}{label}': c['why'][what] for n, c in row.items() for what, label in labels.items() if what in c.get('why', {})}


def show_raw(page, ours):
    """How much slower with all that locks do not order."""
    ours = {k: r for k, r in ours.items() if all('raw' in c for c in r.values())}
    if not ours:
        return
    page.heading('RacX, figure 6: with all raw warnings hooked', 3)
    page.words('Times native by threads, before anything but locks is looked at. In print: what the text tells of the figure.')
    flat = {k: {**{n: round(1 + c['raw'] / 100, 2) if c['raw'] is not None else None for n, c in r.items()}, 'why': reasons(r, {'raw': ''})} for k, r in ours.items()}
    beside(page, 'RacX raw', flat, published.RACX_RAW, columns_of(flat))
    page.plot('RacX figure 6', 'RacX figure 6: recording over native, all raw warnings', 'threads', 'times native',
              {k: [(int(n), c) for n, c in r.items() if n != 'why'] for k, r in flat.items()})


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
        columns = columns_of(rows, 'orders')
        page.table('gallery', ['bug', *columns], [[Cell(k), *(Cell(r.get(c)) for c in columns)] for k, r in rows.items()])
        show_gallery_orders(page, {k: r['orders'] for k, r in rows.items() if 'orders' in r})


def show_gallery_orders(page, rows):
    if rows:
        page.words('Every access hooked, under each order: replays that failed alike, and in which run it had failed. Empty: no run failed.')
        orders = columns_of(rows)
        cells = {k: [f'{c["same"]} of {c["replays"]}, run {c["run"]}' if c else None for c in map(r.get, orders)] for k, r in rows.items()}
        page.table('gallery orders', ['bug', *orders], [[Cell(k), *map(Cell, row)] for k, row in cells.items()])


def show_sources(page, results):
    """Larger programs, from bench/sources.py: `make soak` has it."""
    programs = results.get('sources', {}).get('programs')
    if programs:
        page.heading('Programs from Debian\'s sources')
        page.words('Throughput and CPU time over native, log after packing, replay over record in wall time, replays that were exact.')
        page.table('sources', ['program', 'selection', 'throughput', 'CPU', 'log MB/s', 'replay/record', 'exact'],
                   [[Cell(name), Cell(select), Cell(round(f['rate'] / found['native']['rate'], 2)), Cell(round(f['cpu'] / found['native']['cpu'], 2)),
                     Cell(round(f['bytes'] / f['wall'] / 1e6, 2)), Cell(round(f['replay'] / f['wall'], 2) if f['replay'] else None),
                     Cell(f'{f["exact"]} of {f["replays"]}')] for name, found in programs.items() for select, f in found.items() if select != 'native'])


def by_variant(page, name, kernels, of):
    """A table: kernels down, variants across."""
    variants = list(dict.fromkeys(v for row in kernels.values() for v in row))
    page.table(name, ['kernel', *variants], [[Cell(k), *(Cell(of(row[v]) if v in row else None) for v in variants)] for k, row in kernels.items()])


def show_kernels(page, results):
    for threads in (2, 8):
        kernels = results.get(f'kernels{threads}', {}).get('kernels')
        if kernels:
            page.heading(f'Every access hooked, every order, {threads} threads')
            spreads = [f['spread'] for row in kernels.values() for f in row.values() if f.get('spread') is not None]
            page.words('CPU time over native' + (f', medians; the runs of a variant are {100 * sum(spreads) / len(spreads):.0f} percent apart.' if spreads else '.'))
            by_variant(page, f'kernels {threads}', {k: {v: f for v, f in row.items() if v != 'native'} for k, row in kernels.items()}, lambda f: round(f['ratio'], 2))
            page.words('Log after packing, KB for each native ms.')
            by_variant(page, f'kernels {threads} log', {k: {v: f for v, f in row.items() if v not in ('native', 'empty hooks')} for k, row in kernels.items()},
                       lambda f: round(f['packed KB/ms'], 2))
            orders = {v for row in kernels.values() for v in row}
            say_why(page, {k: {v: 'a run took too long' for v in sorted(orders - set(row))} for k, row in kernels.items()})


def show_orders(page, results):
    """The workloads of bench/orders.py."""
    for workload, by_threads in results.get('orders', {}).get('workloads', {}).items():
        by_threads = {n: rows for n, rows in by_threads.items() if rows}      # ping-pong needs two
        schemes = list(dict.fromkeys(s for rows in by_threads.values() for s in rows))
        page.heading(f'Orders alone: {workload}', 3)
        page.words('ns of CPU time per access by number of threads; bytes per 1,000 accesses after zstd, and replays that were the same run, with the most threads.')
        last = list(by_threads)[-1]
        rows = [[Cell('native'), *(Cell(round(min(r['native'] for r in rows.values()), 2)) for rows in by_threads.values()), Cell(None), Cell(None)]]
        for s in schemes:
            end = by_threads[last].get(s)
            rows.append([Cell(s), *(Cell(round(rows_[s]['record'], 2) if s in rows_ else None) for rows_ in by_threads.values()),
                         Cell(round(end['zstd'], 1) if end else None), Cell(f'{end["same"]} of {end["tried"]}' if end else None)])
        page.table(f'orders {workload}', ['order', *by_threads, 'bytes', 'the same'], rows)
        page.plot(f'orders {workload} plot', workload, 'threads', 'ns of CPU time per access',
                  {s: [(int(n), rows_[s]['record']) for n, rows_ in by_threads.items() if s in rows_] for s in schemes})


def show_races(page, results):
    kernels = results.get('races', {}).get('kernels')
    if kernels:
        page.heading('What the selection saves: record over native by selection and threads')
        flat = {k: {f'{select} {n}': r[0] for n, row in found.get('ratios', {}).items() for select, r in row.items()} for k, found in kernels.items()}
        by_variant(page, 'selections', flat, lambda ratio: round(ratio, 2))


def show_peers(page, results):
    kernels = results.get('peers', {}).get('kernels')
    if not kernels:
        return
    page.heading('Others in the same run')
    page.words('CPU time over native, two threads; small kernels. valgrind and rr put all threads on one core: see their wall times.')
    by_variant(page, 'peers', {k: {c: v for c, v in row.items() if c != 'why empty'} for k, row in kernels.items()}, lambda value: value)
    for what, why in sorted({(what, why) for row in kernels.values() for what, why in row['why empty'].items()}):
        page.words(f'{what}: {why}', 'why')


def show_costs(page, results):
    """Of unmodified programs."""
    calls, programs = (results.get('calls', {}).get(k, {}) for k in ('calls', 'programs'))
    if programs:
        page.heading('Programs as they are: one thread')
        variants = [v for v in next(iter(programs.values())) if v != 'native']
        page.table('programs', ['CPU time over native', *variants],
                   [[Cell(label), *(Cell(round(r[v]['cpu'] / r['native']['cpu'], 2) if v in r else None) for v in variants)] for label, r in programs.items()])
        page.table('calls', ['one call', 'native ns', 'recorded', 'replayed'],
                   [[Cell(kind), Cell(round(r['native']['all'])), *(Cell(round(r[v]['all'] / r['native']['all'], 2)) for v in ('recorded', 'replayed'))]
                    for kind, r in calls.items()])
    threads = results.get('threads', {})
    if threads.get('loops'):
        page.heading('Programs as they are: threads')
        page.table('loops', ['loop, threads', 'native ns', 'recorded'],
                   [[Cell(name), Cell(round(r['native_ns'], 1)), Cell(round(r['recorded_ns'] / r['native_ns'], 2))] for name, r in threads['loops'].items()])
        page.table('servers', ['server', 'throughput', 'CPU time', 'exact'],
                   [[Cell(name), Cell(round(r['rate']['recorded'] / r['rate']['native'], 2)), Cell(round(r['cpu']['recorded'] / r['cpu']['native'], 2)),
                     Cell(f'{r["exact"]} of {r["rounds"]}')] for name, r in threads['servers'].items()])


class Figure:
    """One line of what we promise: what it is, the figure, what was wanted (at most, or at least), and why, if it is
    missed."""

    def __init__(self, what, value, most=None, least=None, form='.2f', why=''):
        self.what, self.value, self.form, self.why = what, value, form, why
        self.missed = (most is not None and value > most) or (least is not None and value < least)
        self.limit = f'at most {most}' if most is not None else f'at least {least}' if least is not None else ''

    def text(self):
        return format(self.value, self.form)

    def reason(self):
        return self.why if self.missed else ''


ARRAYS = ('fft', 'lu', 'ocean', 'radix')
ASKED = 'granules that threads share closely and pages that change hands ask the runtime at each access; what is received (fetch, store) is logged whole'


def worst(ratios, why, least=False):
    """Why a mean over kernels is missed: where it comes from."""
    names = sorted(ratios, key=ratios.get, reverse=not least)[:4]
    return f'mostly {", ".join(f"{k} {ratios[k]:.3g}" for k in names)}: {why}'


def over_kernels(what, ratios, why, most=None, least=None, form='.2f'):
    return Figure(what.format(n=len(ratios)), geometric(ratios.values()), most, least, form, worst(ratios, why, least is not None))


def promised_of_races(results):
    racx = results.get('papers', {}).get('tables', {}).get('RacX table 4', {})
    ratios = {k: 1 + r['2']['record'] / 100 for k, r in racx.items() if r['2']['record'] is not None}
    if ratios:
        yield over_kernels('recording, `races` x `region`, mean over {n} kernels, 2 threads', ratios, ASKED, most=1.10)
        yield Figure('the worst kernel', max(ratios.values()), most=1.5, why=worst(ratios, ASKED))
    kernels = results.get('races', {}).get('kernels', {})
    with_two = {k: r['ratios']['2']['races'] for k, r in kernels.items() if 'races' in r.get('ratios', {}).get('2', {})}
    beyond = {k: memory - 1.15 * native for k, (_, memory, native) in with_two.items()}
    if beyond:
        yield Figure('memory beyond 1.15 times native, MiB, `races` x `region`, the worst kernel', max(beyond.values()), most=64, form='.0f',
                     why=worst(beyond, 'tables of the runtime'))
    links = {k: r['links']['races'] / r['links']['native'] for k, r in kernels.items() if 'links' in r}
    if links:
        yield over_kernels('compiling and linking with `--select=races` over plain link-time optimisation, CPU time, mean over {n} kernels', links,
                           'small programs: the hooks\' own code is compiled with each', most=3)


def promised_of_all(results):
    kernels = results.get('kernels2', {}).get('kernels', {})
    ratios = {k: r['region']['ratio'] for k, r in kernels.items() if 'region' in r}
    if not ratios:
        return
    what = 'every access hooked, `region`, 2 threads: '
    yield over_kernels(what + 'recording, mean over {n} kernels', ratios, ASKED, most=2)
    arrays = {k: v for k, v in ratios.items() if k in ARRAYS}
    if len(arrays) == len(ARRAYS):
        yield over_kernels(what + 'recording, mean over the {n} array kernels', arrays, ASKED, most=2)
        yield Figure(what + 'recording, the best array kernel', min(arrays.values()), most=1.15,
                     why=worst(arrays, 'loops that the compiler vectorises natively, and not with hooks', least=True))
    memory = {k: r['region']['memory'] for k, r in kernels.items() if 'region' in r}
    yield over_kernels(what + 'memory over native, mean', memory, 'tables of the runtime, which small programs do not outgrow', most=2.3)
    replays = {k: r['region']['replay/record'] for k, r in kernels.items() if r.get('region', {}).get('replay/record')}
    if replays:
        yield over_kernels(what + 'replay over recording, wall time, mean', replays, 'calls that wait, made again in their order', most=1)


def promised_of_orders(results):
    """The workloads without loader and compiler."""
    workloads = results.get('orders', {}).get('workloads', {})
    for name, what, most, why in (('private', 'mostly private arrays', 2, 'who is visited asks the runtime next'),
                                  ('table', 'a table that is read', 4, 'now and then somebody writes')):
        found = workloads.get(name, {}).get('2', {}).get('region')
        if found:
            yield Figure(f'`region` alone, {what}, 2 threads: ns more than native for each access', found['record'] - found['native'], most=most, form='.1f', why=why)
    ends = {name: by_threads['8'] for name, by_threads in workloads.items() if '8' in by_threads}
    if len(ends) > 4 and all('region' in rows and len(rows) > 8 for rows in ends.values()):
        small = [name for name, rows in ends.items() if all(r['zstd'] >= rows['region']['zstd'] for o, r in rows.items() if o != 'lamport')]
        quick = [name for name, rows in ends.items() if sum(r['record'] < rows['region']['record'] for r in rows.values()) < 2]
        for what, which in (('log is the smallest but for `lamport`\'s', small), ('time is the best or the second', quick)):
            yield Figure(f'workloads of {len(ends)}, 8 threads, on which the {what}', len(which), least=len(ends), form='d', why=f'not: {", ".join(sorted(set(ends) - set(which)))}')


def promised_of_logs(results):
    papers = results.get('papers', {})
    tplay, of = papers.get('tables', {}).get('TPLAY tables III-V', {}), papers.get('replays')
    for other, least in (('tplay', 10), ('light', 100)):
        ratios = {k: r[f'{other} MB'] / r['region MB'] for k, r in tplay.items() if r[f'{other} MB'] and r['region MB']}
        if ratios:
            yield over_kernels(f'log of `{other}` over that of `races` x `region`, mean over {{n}} kernels, 4 threads', ratios,
                               f'what threads really race for costs an edge here, too; what they do not, nothing, but {other} logs little of it either', least=least, form='.0f')
    if tplay:
        yield Figure(f'replays of `races` x `region` that printed the same, percent of {len(tplay) * of}',
                     100 * sum(r[f'region of {of}'] or 0 for r in tplay.values()) / len(tplay) / of, least=100, form='.0f', why='a fault of ours: see the table of TPLAY')


def promised_of_calls(results):
    calls, threads = results.get('calls', {}).get('calls', {}), results.get('threads', {})
    if 'getppid' in calls:
        yield Figure('one system call, recorded', calls['getppid']['recorded']['all'] / calls['getppid']['native']['all'], most=1.6,
                     why='the shortest call there is; the entry in the log and its ticket cost some 90 ns, whatever the call')
    if 'lock 1' in threads.get('loops', {}):
        yield Figure('lock and unlock of a mutex, recorded', threads['loops']['lock 1']['recorded_ns'] / threads['loops']['lock 1']['native_ns'], most=1.5,
                     why='its edge is looked up and logged')
    if threads.get('start_up'):
        yield Figure('start and end of a recording, ms more than native', (threads['start_up']['recorded'] - threads['start_up']['native']) * 1e3, most=20, form='.0f')


def compared(results):
    peers = results.get('peers', {}).get('kernels', {})
    for peer in ('clang TSan', 'valgrind none'):
        ratios = {k: r[peer] for k, r in peers.items() if r[peer]}
        if ratios:
            yield over_kernels(f'for comparison: {peer}, mean over {{n}} kernels, 2 threads', ratios, '', form='.1f')


def headline(results):
    """What README quotes, and what the report begins with: a Figure each."""
    for part in (promised_of_races, promised_of_all, compared, promised_of_orders, promised_of_logs, promised_of_calls):
        yield from part(results)


def show_headline(page, results):
    figures = list(headline(results))
    if figures:
        page.heading('What was promised')
        page.table('promised', ['', 'measured', 'wanted', 'why missed'], [[Cell(f.what.replace('`', '')), Cell(f.text(), 'missed' if f.missed else ''), Cell(f.limit), Cell(f.reason())] for f in figures])


def show_machine(page, results):
    for text in sorted({f'{r.get("date")}, {m.get("cpu")}, {m.get("cores")} cores, {m.get("arch")}, Linux {m.get("kernel")}'
                        for r in results.values() for m in [r.get('machine', {})]}):
        page.words(text, 'why')
    spread = [s for s in results.get('papers', {}).get('spread', {}).values() if s is not None]
    if spread:
        page.words(f'Medians of rounds in which variants take turns; the rounds of a variant are {100 * sum(spread) / len(spread):.1f} percent apart.', 'why')


def make(results, output):
    page, papers = Page(), results.get('papers', {})
    tables, of = papers.get('tables', {}), papers.get('replays')
    page.heading('Heddle beside the papers', 1)
    show_machine(page, results)
    show_headline(page, results)
    show_figures(page, results.get('leap', {}))
    show_leap(page, tables)
    show_events(page, tables)
    show_tplay(page, tables, of)
    show_aggreplay(page, tables, of)
    show_racx(page, tables)
    show_races(page, results)
    show_kernels(page, results)
    show_orders(page, results)
    show_peers(page, results)
    show_costs(page, results)
    show_sources(page, results)
    show_gallery(page, results.get('gallery', {}))
    os.makedirs(os.path.dirname(os.path.abspath(output)), exist_ok=True)
    page.write(output, 'Heddle beside the papers')
    print(f'{output}, and the same as Markdown')


# ---- README -------------------------------------------------------------------------------------------------

BEGIN, END = '<!-- figures: python3 bench/report.py --readme -->\n', '<!-- end of figures -->\n'


def readme_table(results, folder):
    rows = ''.join(f'| {f.what} | {f"**{f.text()}**, missed" if f.missed else f.text()} | {f.limit} | {f.reason()} |\n' for f in headline(results))
    return f'{BEGIN}| | measured | wanted | why missed |\n|---|---|---|---|\n{rows}\nFrom `{os.path.relpath(folder, ROOT)}`; ratios are over the same program without Heddle.\n{END}'


def readme_parts():
    """README before the figures, the figures, and what follows."""
    with open(os.path.join(ROOT, 'README.md')) as file:
        before, rest = file.read().split(BEGIN)
    figures, after = rest.split(END)
    return before, BEGIN + figures + END, after


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--results', default=kept.newest(), help='a folder of figures; without it, the newest in bench/results')
    parser.add_argument('--output', default=os.path.join(ROOT, 'build', 'bench', 'report.html'))
    parser.add_argument('--readme', action='store_true', help='put the main figures into README.md instead')
    settings = parser.parse_args()
    results = kept.read(settings.results) if settings.results else {}
    if not results:
        sys.exit('report: no results there. Make some: make bench (or BENCH=quick)')
    if settings.readme:
        before, _, after = readme_parts()
        with open(os.path.join(ROOT, 'README.md'), 'w') as file:
            file.write(before + readme_table(results, settings.results) + after)
        return 0
    make(results, settings.output)
    return 0


if __name__ == '__main__':
    sys.exit(main())
