#!/usr/bin/env python3
"""The papers' tables on our kernels: LEAP table 1, TPLAY tables II to V, AggrePlay tables 3 to 5, RacX tables 2 to 4 and
figure 6.

Every cell is measured, on the kernels of bench/programs, with the number of threads that the paper had; what is printed
in the papers stands in published.py, and report.py puts both side by side. Variants take turns and the median of the
rounds counts; times are CPU time of everything that a variant started, less what a run of no rounds takes. A cell that
cannot be measured is null, with its reason beside it.
"""
import argparse
import concurrent.futures
import functools
import glob
import json
import os
import statistics
import subprocess
import sys
import threading

import hooked
from harness import RACES
from hooked import NATIVE, ROOT, Diverged, Hooked, TooLong

# Builds of a kernel. raw: what RacX's figure 6 instruments, all that locks do not order.
SELECTS = {'all': ['--select=all'], 'escape': ['--select=escape'], 'none': ['--select=none'], 'races': ['--select=races'],
           'raw': ['--select=races', *(f'--without={step}' for step in ('threads', 'phases', 'partitions', 'initialisation'))]}
OF = 50         # replays of one recording, as the papers have it
# CPU seconds that the native program should take at least, start-up not counted. What costs a hundredfold is told by
# short runs; what costs little is not: there what a scheme learns at first, and how much start-up varies, would count
# most.
SHORTLY, LONG = 0.008, 0.2
LONGEST = 1.5   # times that: a kernel of which one round takes longer is made smaller
STILL = 10      # seconds after which a replay counts as standing still, and a recording as too slow
QUICK = 'chain,raytrace,scan,store'
SMALL = ('4', '2', '1')     # percent: size of what is replayed that often; smaller if one replay takes longer than this
SHORT = 0.3     # seconds
LOOKED = 30     # seconds for a replay that looks at every access
SLOW = f'more than {STILL} s to record'
NO_REPLAY = f'no replay was exact and over in {STILL} s'


class Row(dict):
    """Cells of a kernel, and why some are empty."""

    def put(self, column, value, reason=SLOW):
        self[column] = value
        if value is None:
            self.setdefault('why', {})[column] = reason


class Papers(Hooked):
    """Kernels in a build for each selection, and the figures of one variant of one of them."""

    def __init__(self, settings):
        settings.orders = None
        super().__init__(settings)
        self.whole, self.rounds, self.of = settings.percent, settings.rounds, settings.replays
        self.spreads = []       # of each variant: largest less smallest over the median
        self.sizes = []         # percent, of the tables with short runs and of those with long ones

    def make(self, table, program):
        function, part, long = table
        self.choose_size(program, part, long)
        return function(self, program)

    def choose_size(self, program, part, long):
        self.long = long * self.whole / 100
        self.percent = self.size_for(program, max(1, round(self.whole * part)), self.long)

    @functools.lru_cache(None)
    def size_for(self, program, percent, long):
        """Once for each program: tables of one size are comparable."""
        self.percent = percent
        while self.percent > 1 and statistics.median(self.busy(program, 4, 1) for _ in range(3)) > LONGEST * long:
            self.percent //= 2
        self.sizes.append(self.percent)
        return self.percent

    @functools.lru_cache(1)
    def cheap(self, program):
        """Figures of what costs little, from longer runs: {NATIVE, region x races, region x none}, 8 threads."""
        before = self.percent, self.long
        self.choose_size(program, 1, LONG)
        found = self.figures(program, 8, [NATIVE, ('region', 'races'), ('region', 'none')], timed=[('region', 'races')])
        self.percent, self.long = before
        return found

    def build_all(self, source):
        name = os.path.join(self.out, os.path.splitext(os.path.basename(source))[0])
        flags = ['-O2', '-g', '-pthread', source, '-lm']
        subprocess.run(['clang-19', '-flto', '-fuse-ld=lld-19', '-o', name, *flags], check=True)
        for select, options in SELECTS.items():
            subprocess.run([os.path.join(self.build, 'bin', 'heddle-cc'), *options, '-o', f'{name}-{select}', *flags], check=True)
        return name

    def argv(self, program, variant, threads, rounds, percent=None):
        """variant: native, or (order, selection)."""
        args = [str(threads), str(rounds), str(percent or self.percent)]
        if variant == NATIVE:
            return [program, *args]
        self.trace = os.path.join(self.work, f'trace-{variant[0]}-{variant[1]}')
        subprocess.run(['rm', '-rf', self.trace], check=True)
        return [self.heddle, 'record', '-q', '-o', self.trace, f'--order={variant[0]}', '--', f'{program}-{variant[1]}', *args]

    def figures(self, program, threads, variants, replays=0, timed=None, checked=None):
        """{variant: {cpu, idle, busy, raw, packed, logged, replay, same, output, tried}} of those that end in time; replay:
        of `timed`, or all; same, output and tried: of `checked`, or all, if replays are wanted."""
        found, rounds = {}, self.rounds_for(program, threads)
        for variant in variants * self.rounds:
            if found.get(variant, {}) is None:
                continue
            try:
                run = self.run(self.argv(program, variant, threads, rounds), STILL)
            except TooLong:
                found[variant] = None
                continue
            f = found.setdefault(variant, {'cpus': [], 'idles': [], 'replays': []})
            f['cpus'].append(run.cpu)
            if variant != NATIVE:
                f['raw'], f['packed'] = self.log_bytes()
                f['logged'] = self.stat().get('logged', {})
                if None not in f['replays'] and (timed is None or variant in timed):    # one that stood still or left the recording is not waited for again
                    f['replays'].append(self.replays(run.out, 1)['replay'])
            f['idles'].append(self.run(self.argv(program, variant, threads, 0)).cpu)
            if variant != NATIVE:       # what is in the log of a run that does nothing is no part of what it does
                f['raw'], f['packed'] = (max(1, a - b) for a, b in zip((f['raw'], f['packed']), self.log_bytes()))
        for variant in [v for v in found if found[v] and v != NATIVE and replays and (checked is None or v in checked)]:
            found[variant].update(self.many_replays(program, variant, threads, replays))
        return {v: self.medians(f) for v, f in found.items() if f}

    def many_replays(self, program, variant, threads, replays):
        for percent in SMALL:
            try:
                small = self.run(self.argv(program, variant, threads, 1, percent), STILL)
            except TooLong:
                continue
            if self.is_short() or percent == SMALL[-1]:
                again = self.replays(small.out, replays)
                return {k: again[k] for k in ('same', 'output', 'tried')}
        return {'same': None, 'output': None, 'tried': 0}

    def medians(self, f):
        """With how far the rounds are apart."""
        cpu, idle = statistics.median(f['cpus']), statistics.median(f['idles'])
        busy = max(1e-4, cpu - idle)
        if len(f['cpus']) > 1:
            self.spreads.append((max(f['cpus']) - min(f['cpus'])) / cpu)
        replay = None if None in f['replays'] or not f['replays'] else statistics.median(f['replays'])
        return dict(f, cpu=cpu, idle=idle, busy=busy, replay=replay)

    def rounds_for(self, program, threads):
        """As many that the native program takes long enough."""
        rounds = 1
        while self.busy(program, threads, rounds) < self.long and rounds < 1024:
            rounds *= 2
        return rounds

    def busy(self, program, threads, rounds):
        """CPU seconds of the native program, start-up not counted."""
        return self.run(self.argv(program, NATIVE, threads, rounds)).cpu - self.run(self.argv(program, NATIVE, threads, 0)).cpu

    def stat(self):
        return json.loads(subprocess.run([self.heddle, 'stat', '--json', self.trace], check=True, capture_output=True, text=True).stdout)

    def replay(self):
        """(its Run, or None if it left the recording; what it printed)"""
        try:
            run = self.run([self.heddle, 'replay', self.trace], STILL)
            return run, run.out
        except Diverged as end:
            return None, end.out
        except SystemExit:
            return None, None

    def is_short(self):
        try:
            run, _ = self.replay()
        except TooLong:
            return False
        return run is None or run.wall < SHORT

    def replays(self, out, count):
        """How many printed the same, how many of them followed the recording to its end, and the least time of one of
        these; if there are many, which are not timed, on all cores at once."""
        times, printed, still = [], [], threading.Event()

        def one(_):
            try:
                run, text = (None, None) if still.is_set() else self.replay()
                if text == out:
                    printed.append(text)
                    times.extend([run.cpu] if run else [])
            except TooLong:
                still.set()         # an order that is not exact may stand still: it would again
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() if count > 1 else 1) as pool:
            list(pool.map(one, range(count)))
        return {'same': len(times), 'output': len(printed), 'tried': count, 'replay': min(times, default=None)}

    def hooked_sites(self, program):
        """Rows of a build's table of sites."""
        text = subprocess.run([self.heddle, 'dump', '--sites', '--json', program], check=True, capture_output=True, text=True).stdout
        rows = [json.loads(line) for line in text.splitlines() if line]
        return [r for r in rows if r.get('hooked') and r['kind'] in ('load', 'store', 'rmw', 'range')]

    def sites(self, program):
        """(hooked accesses of a build, variables that they are of: leap's names for them)"""
        rows = self.hooked_sites(program)
        return len(rows), len({r['element'] for r in rows})

    def lines(self, program):
        return len({(r.get('file'), r['line']) for r in self.hooked_sites(program)})

    def events(self):
        """Reads, writes and locks of the last recording, counted by a replay that looks at each; None: it took too
        long."""
        try:
            return json.loads(self.run([self.heddle, 'replay', '--races', '--json', self.trace], LOOKED, (0, RACES)).out)['looked_at']
        except (TooLong, Diverged):
            return None


def over(found, variant):
    """Overhead over native in percent; None if it did not end in time."""
    return round((found[variant]['busy'] / found[NATIVE]['busy'] - 1) * 100, 1) if variant in found else None


def leap(papers, program):
    """Table 1, and JaRec of 5.1.3, which records no accesses."""
    orders = ('leap', 'lamport', 'crew', 'global')
    found, cheap = papers.figures(program, 8, [NATIVE, *((o, 'escape') for o in orders)], timed=()), papers.cheap(program)
    row = Row(total=papers.sites(program + '-all')[0])
    row['spe'], row['spe size'] = papers.sites(program + '-escape')
    for o in orders:
        row.put(o, over(found, (o, 'escape')))
    row.put('region x races', over(cheap, ('region', 'races')))
    row.put('JaRec', over(cheap, ('region', 'none')))
    for o in orders:
        f = found.get((o, 'escape'))
        row.put(f'{o} KB/s', round(f['packed'] / 1e3 / found[NATIVE]['busy']) if f else None)
    return row


def tplay_events(papers, program):
    papers.run(papers.argv(program, ('region', 'all'), 4, papers.rounds_for(program, 4)))
    events, row = papers.events(), Row()
    for column in ('reads', 'writes', 'locks'):
        row.put(column, events[column] if events else None, f'no replay that looks at each was over in {LOOKED} s')
    return row


def put_replays(row, name, f, of):
    row.put(f'{name} of {of}', f['same'] if f else None, SLOW if not f else f'even the smallest took {SLOW}')


def tplay(papers, program):
    variants = {'tplay': ('tplay', 'all'), 'light': ('light', 'all'), 'region': ('region', 'races')}
    found = papers.figures(program, 4, [NATIVE, *variants.values()], papers.of, timed=[variants['tplay']])
    row = Row()
    for name, variant in variants.items():
        f = found.get(variant)
        row.put(f'{name} MB', round(f['raw'] / 1e6, 4) if f else None)
        put_replays(row, name, f, papers.of)
    t, light, region = (found.get(v) for v in variants.values())
    row.put('light/tplay', round(light['busy'] / t['busy'], 2) if t and light else None)
    row.put('transactions', t['logged'].get('transactions', 0) if t else None)
    row.put('interleavings', t['logged'].get('interleavings', 0) + t['logged'].get('read counts', 0) if t else None)
    row.put('violations', t['logged'].get('violations', 0) if t else None)
    row.put('light pairs', light['logged'].get('flows', 0) if light else None)
    row.put('region edges', region['logged'].get('edges', 0) if region else None)
    row.put('replay/record', round(t['replay'] / t['cpu'], 2) if t and t['replay'] else None, NO_REPLAY if t else SLOW)
    return row


# What each of them logs of how threads interleave (table 4).
SETS = {'aggreplay': ('versions', 'read counts'), 'light': ('flows',), 'stride': ('versions of writes', 'versions of reads', 'values')}


def aggreplay(papers, program):
    ours = ('region', 'races')
    found = papers.figures(program, 8, [NATIVE, *((o, 'all') for o in SETS), ours], papers.of, timed=[(o, 'all') for o in SETS])
    cheap = papers.cheap(program)
    row = Row()
    for name, variant, timed in [*((o, (o, 'all'), found) for o in SETS), ('region x races', ours, cheap)]:
        f, native = found.get(variant), timed[NATIVE]
        row.put(f'{name} MB', round(f['packed'] / 1e6, 4) if f else None)
        put_replays(row, name, f, papers.of)
        if name == 'stride':
            put_replays(row, 'stride output', f and dict(f, same=f['output']), papers.of)
        f = timed.get(variant)
        row.put(name, round(f['busy'] / native['busy'], 2) if f else None)
        row.put(f'{name} replay', round(f['replay'] / native['cpu'], 2) if f and f['replay'] else None, NO_REPLAY if f else SLOW)
        for kind in SETS.get(name, ()):
            row.put(f'{name}: {kind}', f['logged'].get(kind, 0) if f else None)
    return row


def racx_sites(papers, program):
    """Sites are lines, as RacX counts them; of the steps: accesses, of which a line that was inlined or unrolled has
    many."""
    text = subprocess.run([papers.heddle, 'races', '--json', program + '-races'], check=True, capture_output=True, text=True).stdout
    steps = json.loads(text)['steps']
    return {'warnings': steps[0]['warnings'], 'pairs': steps[0]['pairs'], 'raw sites': papers.lines(program + '-raw'),
            'refined sites': papers.lines(program + '-races'), 'steps': {s['name']: s['sites'] for s in steps}}


def racx_overhead(papers, program):
    """Recording and replay over native in percent, by threads; and recording with all raw warnings (figure 6)."""
    row, ours, raw = {}, ('region', 'races'), ('region', 'raw')
    for threads in (1, 2, 4, 8, 16):
        found = papers.figures(program, threads, [NATIVE, ours, raw], 2, timed=[ours], checked=[ours])
        f, cell = found.get(ours, {'same': None, 'tried': 0, 'replay': None}), Row()
        cell.put('record', over(found, ours))
        cell.put('raw', over(found, raw))
        cell.update(same=f['same'], tried=f['tried'])
        cell.put('replay', round((f['replay'] / found[NATIVE]['cpu'] - 1) * 100, 1) if f['replay'] else None, NO_REPLAY if ours in found else SLOW)
        row[str(threads)] = cell
    return row


# with the part of the size that is enough
TABLES = {'LEAP table 1': (leap, 0.2, SHORTLY), 'TPLAY table II': (tplay_events, 0.2, SHORTLY), 'TPLAY tables III-V': (tplay, 0.2, SHORTLY),
          'AggrePlay tables 3-5': (aggreplay, 0.2, SHORTLY), 'RacX tables 2, 3': (racx_sites, 1, LONG),
          'RacX table 4': (racx_overhead, 1, LONG)}


def options():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--rounds', type=int, help='3; quick: 1')
    parser.add_argument('--replays', type=int, help=f'of each recording ({OF}; quick: 2)')
    parser.add_argument('--percent', type=int, help='size of the kernels (100; quick: 10)')
    parser.add_argument('--quick', action='store_true', help='small, two replays: to see that it works')
    parser.add_argument('--kernels', metavar='NAME,NAME', help=f'only these (all; quick: {QUICK})')
    parser.add_argument('--tables', metavar='PAPER,PAPER', help='only those whose name begins so')
    hooked.kept.add_option(parser)
    settings = parser.parse_args()
    settings.rounds = settings.rounds or (1 if settings.quick else 3)
    settings.replays = settings.replays or (2 if settings.quick else OF)
    settings.percent = settings.percent or (10 if settings.quick else 100)
    settings.kernels = settings.kernels or (QUICK if settings.quick else None)
    return settings


def main():
    settings = options()
    papers = Papers(settings)
    sources = sorted(glob.glob(f'{ROOT}/bench/programs/*.c'))
    if settings.kernels:
        sources = [s for s in sources if os.path.basename(s)[:-2] in settings.kernels.split(',')]
    tables = {name: table for name, table in TABLES.items() if not settings.tables or name.startswith(tuple(settings.tables.split(',')))}
    found, spread, sizes = {name: {} for name in tables}, {}, {}
    try:
        for number, source in enumerate(sources, 1):
            kernel = os.path.basename(source)[:-2]
            program, papers.spreads, papers.sizes = papers.build_all(source), [], []
            for name, table in tables.items():
                found[name][kernel] = papers.make(table, program)
                print(f'[{number}/{len(sources)}] {kernel}, {name}: {json.dumps(found[name][kernel])}', flush=True)
            spread[kernel], sizes[kernel] = round(statistics.median(papers.spreads), 3) if papers.spreads else None, papers.sizes
    finally:
        papers.clean()
    results = {'tables': found, 'replays': settings.replays, 'percent': settings.percent, 'sizes': sizes, 'spread': spread}
    hooked.kept.keep(settings, results)
    return 0


if __name__ == '__main__':
    sys.exit(main())
