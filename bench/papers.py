#!/usr/bin/env python3
"""The papers' tables on our kernels: LEAP table 1, TPLAY tables III to V, AggrePlay tables 3 and 5, RacX tables 2 to 4.

Every cell is measured, on the kernels of bench/programs, with the number of threads that the paper had; what is printed
in the papers stands in published.py, and report.py puts both side by side. Variants take turns and the median of the
rounds counts; times are CPU time of everything that a variant started, less what a run of no rounds takes. A cell that
cannot be measured is null, with its reason beside it.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import statistics
import subprocess
import sys
import threading

import hooked
from hooked import NATIVE, ROOT, Diverged, Hooked, TooLong

SELECTS = ('all', 'escape', 'races', 'none')
OF = 50         # replays of one recording, as the papers have it
# CPU seconds that the native program should take at least, start-up not counted. What costs a hundredfold is told by
# short runs; what costs little is not: there what a scheme learns at first would count most.
SHORTLY, LONG = 0.012, 0.25
STILL = 10      # seconds after which a replay counts as standing still, and a recording as too slow
QUICK = 'chain,raytrace,scan,store'
SMALL = ('4', '2', '1')     # percent: size of what is replayed that often; smaller if one replay takes longer than this
SHORT = 0.3     # seconds


class Papers(Hooked):
    """Kernels in a build for each selection, and the figures of one variant of one of them."""

    def __init__(self, settings):
        settings.orders = None
        super().__init__(settings)
        self.whole, self.rounds, self.of = settings.percent, settings.rounds, settings.replays
        self.spreads = []       # of each variant: largest less smallest over the median

    def make(self, table, program):
        function, part, long = table
        self.percent, self.long = str(max(1, round(self.whole * part))), long * self.whole / 100
        return function(self, program)

    def build_all(self, source):
        name = os.path.join(self.out, os.path.splitext(os.path.basename(source))[0])
        flags = ['-O2', '-g', '-pthread', source, '-lm']
        subprocess.run(['clang-19', '-flto', '-fuse-ld=lld-19', '-o', name, *flags], check=True)
        for select in SELECTS:
            subprocess.run([os.path.join(self.build, 'bin', 'heddle-cc'), f'--select={select}', '-o', f'{name}-{select}', *flags], check=True)
        return name

    def argv(self, program, variant, threads, rounds, percent=None):
        """variant: native, or (order, selection)."""
        args = [str(threads), str(rounds), percent or self.percent]
        if variant == NATIVE:
            return [program, *args]
        self.trace = os.path.join(self.work, f'trace-{variant[0]}-{variant[1]}')
        subprocess.run(['rm', '-rf', self.trace], check=True)
        return [self.heddle, 'record', '-q', '-o', self.trace, f'--order={variant[0]}', '--', f'{program}-{variant[1]}', *args]

    def figures(self, program, threads, variants, replays=0, timed=None):
        """{variant: {cpu, idle, busy, raw, packed, logged, replay, same, tried}} of those that end in time; replay: of
        `timed`, or all."""
        found, rounds = {}, self.rounds_for(program, threads)
        for _ in range(self.rounds):
            for variant in variants:
                try:
                    run = self.run(self.argv(program, variant, threads, rounds), STILL)
                except TooLong:
                    found[variant] = None
                if found.get(variant, {}) is None:
                    continue
                f = found.setdefault(variant, {'cpus': [], 'idles': []})
                f['cpus'].append(run.cpu)
                if variant != NATIVE:
                    f['raw'], f['packed'] = self.log_bytes()
                    f['logged'] = self.stat().get('logged', {})
                    if f.get('replay') != 1e99 and (timed is None or variant in timed):     # one that stood still or left the recording is not waited for again
                        f['replay'] = min(f.get('replay', 1e99), self.replays(run.out, 1)['replay'] or 1e99)
                f['idles'].append(self.run(self.argv(program, variant, threads, 0)).cpu)
                if variant != NATIVE:       # what is in the log of a run that does nothing is no part of what it does
                    f['raw'], f['packed'] = (max(1, a - b) for a, b in zip((f['raw'], f['packed']), self.log_bytes()))
        for variant in [v for v in found if found[v] and v != NATIVE and replays]:
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
                return {'same': again['same'], 'tried': again['tried']}
        return {'same': None, 'tried': 0}

    def medians(self, f):
        """With how far the rounds are apart."""
        cpu, idle = statistics.median(f['cpus']), statistics.median(f['idles'])
        busy = max(1e-4, cpu - idle)
        self.spreads.append((max(f['cpus']) - min(f['cpus'])) / cpu)
        return dict(f, cpu=cpu, idle=idle, busy=busy)

    def rounds_for(self, program, threads):
        """As many that the native program takes long enough."""
        rounds, idle = 1, self.run(self.argv(program, NATIVE, threads, 0)).cpu
        while self.run(self.argv(program, NATIVE, threads, rounds)).cpu - idle < self.long and rounds < 1024:
            rounds *= 2
        return rounds

    def stat(self):
        return json.loads(subprocess.run([self.heddle, 'stat', '--json', self.trace], check=True, capture_output=True, text=True).stdout)

    def replay(self):
        """None: it left the recording."""
        try:
            return self.run([self.heddle, 'replay', self.trace], STILL)
        except (Diverged, SystemExit):
            return None

    def is_short(self):
        try:
            run = self.replay()
        except TooLong:
            return False
        return run is None or run.wall < SHORT

    def replays(self, out, count):
        """How many printed the same, and the least time of one; if there are many, which are not timed, on all cores at
        once."""
        times, still = [], threading.Event()

        def one(_):
            try:
                run = None if still.is_set() else self.replay()
                if run and run.out == out:
                    times.append(run.cpu)
            except TooLong:
                still.set()         # an order that is not exact may stand still: it would again
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() if count > 1 else 1) as pool:
            list(pool.map(one, range(count)))
        return {'same': len(times), 'tried': count, 'replay': min(times, default=None)}

    def sites(self, program):
        """Hooked accesses of a build, from its table of sites."""
        text = subprocess.run([self.heddle, 'dump', '--sites', program], check=True, capture_output=True, text=True).stdout
        return sum(line.split()[-2] in ('load', 'store', 'rmw', 'range') for line in text.splitlines() if len(line.split()) > 2)


def over(found, variant):
    """Overhead over native in percent; None if it did not end in time."""
    return round((found[variant]['busy'] / found[NATIVE]['busy'] - 1) * 100, 1) if variant in found else None


def leap(papers, program):
    """Table 1, and JaRec of 5.1.3, which records no accesses."""
    orders = ('leap', 'lamport', 'crew', 'global')
    found = papers.figures(program, 8, [NATIVE, *((o, 'escape') for o in orders), ('region', 'races'), ('region', 'none')], timed=())
    row = {'total': papers.sites(program + '-all'), 'spe': papers.sites(program + '-escape'),
           **{o: over(found, (o, 'escape')) for o in orders}, 'region x races': over(found, ('region', 'races')),
           'JaRec': over(found, ('region', 'none'))}
    for o in orders:
        f = found.get((o, 'escape'))
        row[f'{o} KB/s'] = round(f['packed'] / 1e3 / found[NATIVE]['busy']) if f else None
    return row


def tplay(papers, program):
    variants = [('tplay', 'all'), ('light', 'all'), ('region', 'races')]
    found = papers.figures(program, 4, [NATIVE, *variants], papers.of, timed=variants[:1])
    row = {}
    for (order, _), name in zip(variants, ('tplay', 'light', 'region')):
        f = found.get((order, 'races' if order == 'region' else 'all'))
        row[f'{name} MB'] = round(f['raw'] / 1e6, 4) if f else None
        row[f'{name} of {papers.of}'] = f['same'] if f else None
    t, light = found.get(variants[0]), found.get(variants[1])
    row['light/tplay'] = round(light['busy'] / t['busy'], 2) if t and light else None
    row['transactions'] = t['logged'].get('transactions', 0) if t else None
    row['interleavings'] = t['logged'].get('interleavings', 0) + t['logged'].get('read counts', 0) if t else None
    row['violations'] = t['logged'].get('violations', 0) if t else None
    row['light pairs'] = light['logged'].get('flows', 0) if light else None
    row['region edges'] = found[variants[2]]['logged'].get('edges', 0) if variants[2] in found else None
    row['replay/record'] = round(t['replay'] / t['cpu'], 2) if t and t['replay'] < 1e99 else None
    return row


def aggreplay(papers, program):
    orders = ('aggreplay', 'light', 'stride')
    found = papers.figures(program, 8, [NATIVE, *((o, 'all') for o in orders), ('region', 'races')], papers.of)
    row = {}
    for name, variant in [*((o, (o, 'all')) for o in orders), ('region x races', ('region', 'races'))]:
        f = found.get(variant)
        row[f'{name} MB'] = round(f['packed'] / 1e6, 4) if f else None
        row[name] = round(f['busy'] / found[NATIVE]['busy'], 2) if f else None
        row[f'{name} of {papers.of}'] = f['same'] if f else None
        row[f'{name} replay'] = round(f['replay'] / found[NATIVE]['cpu'], 2) if f and f['replay'] < 1e99 else None
    return row


def racx_sites(papers, program):
    text = subprocess.run([papers.heddle, 'races', '--json', program + '-races'], check=True, capture_output=True, text=True).stdout
    steps = json.loads(text)['steps']
    return {'warnings': steps[0]['warnings'], 'pairs': steps[0]['pairs'], 'raw sites': steps[0]['sites'],
            'refined sites': steps[-1]['sites'], 'steps': {s['name']: s['sites'] for s in steps}}


def racx_overhead(papers, program):
    """Recording and replay over native in percent, by threads."""
    row = {}
    for threads in (1, 2, 4, 8, 16):
        found = papers.figures(program, threads, [NATIVE, ('region', 'races')], 2)
        f, native = found.get(('region', 'races')), found[NATIVE]
        if not f:
            row[str(threads)] = {'record': None, 'same': None, 'tried': 0, 'replay': None}
            continue
        row[str(threads)] = {'record': over(found, ('region', 'races')), 'same': f['same'], 'tried': f['tried'],
                             'replay': round((f['replay'] / native['cpu'] - 1) * 100, 1) if f['replay'] < 1e99 else None}
    return row


# with the part of the size that is enough
TABLES = {'LEAP table 1': (leap, 0.2, SHORTLY), 'TPLAY tables III-V': (tplay, 0.2, SHORTLY),
          'AggrePlay tables 3, 5': (aggreplay, 0.2, SHORTLY), 'RacX tables 2, 3': (racx_sites, 1, LONG),
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
    found, spread = {name: {} for name in tables}, {}
    try:
        for number, source in enumerate(sources, 1):
            kernel = os.path.basename(source)[:-2]
            program, papers.spreads = papers.build_all(source), []
            for name, table in tables.items():
                found[name][kernel] = papers.make(table, program)
                print(f'[{number}/{len(sources)}] {kernel}, {name}: {json.dumps(found[name][kernel])}', flush=True)
            spread[kernel] = round(statistics.median(papers.spreads), 3) if papers.spreads else None
    finally:
        papers.clean()
    results = {'tables': found, 'replays': settings.replays, 'percent': settings.percent, 'spread': spread}
    hooked.kept.keep(settings, results)
    return 0


if __name__ == '__main__':
    sys.exit(main())
