#!/usr/bin/env python3
"""The bug gallery (tests/bugs): how often each fails, natively, recorded, and recorded with --chaos; and how many
replays fail alike.

Each program is built with --select=races and recorded under the default order. A run that fails is replayed; a replay
succeeds if it prints the same and ends the same. With --orders, also with every access hooked under each of these: in
which run it failed, and how many replays of that were the same.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import hooked
from hooked import ROOT
from harness import CANNOT, DIVERGED, USAGE

LIMIT = 60
NATIVE = 3          # seconds of native runs: some bugs stand still for a second each time


def run(argv):
    """(status, output); None if it does not end."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, b''
    return done.returncode, done.stdout


def fails(status):
    if status in (USAGE, CANNOT, DIVERGED):
        sys.exit(f'bench: heddle itself ended with {status}')
    return status != 0


class Gallery:
    def __init__(self, settings, work):
        self.settings, self.work = settings, work
        self.heddle = os.path.join(os.path.abspath(settings.build), 'bin', 'heddle')

    def record(self, program, seed, *options):
        """seed: of --chaos; 0: without"""
        trace = os.path.join(self.work, 'trace')
        subprocess.run(['rm', '-rf', trace], check=True)
        chaos = [f'--chaos={seed}'] if seed else []
        return (*run([self.heddle, 'record', '-q', '-o', trace, *options, *chaos, '--', program, *self.settings.threads.split()]), trace)

    def same(self, status, out, trace):
        """Of that many replays. One that stands still, as under an order that is not exact, would again."""
        same = 0
        for _ in range(self.settings.replays):
            again = run([self.heddle, 'replay', trace])
            if again[0] is None:
                break
            same += again == (status, out)
        return same

    def recorded(self, program, chaos):
        """How many of the recordings fail; the first that does is replayed: its number, and how many of its replays were
        the same."""
        failed = same = first = 0
        for n in range(1, self.settings.recordings + 1):
            status, out, trace = self.record(program, n if chaos else 0)
            failed += fails(status)
            if fails(status) and status is not None and not first:
                first, same = n, self.same(status, out, trace)
        return failed, first, same

    def under(self, program, order):
        """In which run it failed, every second with --chaos; of how many replays were the same. None: it did not fail."""
        for n in range(1, self.settings.recordings + 1):
            status, out, trace = self.record(program, n * (n % 2 == 0), f'--order={order}')
            if fails(status) and status is not None:
                return {'run': n, 'same': self.same(status, out, trace), 'replays': self.settings.replays}
        return None

    def program(self, source, select):
        program = os.path.join(self.work, f'{os.path.basename(source)[:-2]}-{select}')
        subprocess.run([os.path.join(os.path.abspath(self.settings.build), 'bin', 'heddle-cc'), f'--select={select}', '-O2', '-g', '-o', program,
                        source, '-pthread'], check=True)
        return program

    def native(self, program):
        """How many of how many runs fail."""
        failed, runs, end = 0, 0, time.monotonic() + NATIVE
        while runs < self.settings.runs and time.monotonic() < end:
            failed += fails(run([program, *self.settings.threads.split()])[0])
            runs += 1
        return failed, runs

    def row(self, source):
        program = self.program(source, 'races')
        failed, runs = self.native(program)
        plain, first, same = self.recorded(program, False)
        chaos, first_chaos, same_chaos = self.recorded(program, True)
        row = {'native': f'{failed} of {runs}', f'recorded, of {self.settings.recordings}': plain, 'first': first or None,
               f'--chaos, of {self.settings.recordings}': chaos, '--chaos: first': first_chaos or None, 'replays that failed alike': same + same_chaos,
               'replays': self.settings.replays * (bool(first) + bool(first_chaos))}
        if self.settings.orders:
            hooked_all = self.program(source, 'all')
            row['orders'] = {order: self.under(hooked_all, order) for order in self.settings.orders}
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--threads', default='4')
    parser.add_argument('--runs', type=int, help='native, at most (500; quick: 5)')
    parser.add_argument('--recordings', type=int, help='20; quick: 3')
    parser.add_argument('--replays', type=int, help='of one failing run (100; quick: 2)')
    parser.add_argument('--quick', action='store_true', help='to see that it works')
    parser.add_argument('--only', metavar='NAME,NAME')
    parser.add_argument('--orders', metavar='NAME,NAME', help='also under these, or all')
    hooked.kept.add_option(parser)
    settings = parser.parse_args()
    settings.runs = settings.runs or (5 if settings.quick else 500)
    settings.recordings = settings.recordings or (3 if settings.quick else 20)
    settings.replays = settings.replays or (2 if settings.quick else 100)
    build = os.path.abspath(settings.build)
    names = [name for name, _ in hooked.cells.orders(build) if not hooked.cells.refusal(build, name)]
    settings.orders = names if settings.orders == 'all' else settings.orders.split(',') if settings.orders else []
    sources = [s for s in sorted(glob.glob(f'{ROOT}/tests/bugs/*.c')) if hooked.cells.is_gallery(s)]
    if settings.only:
        sources = [s for s in sources if os.path.basename(s)[:-2] in settings.only.split(',')]
    rows = {}
    with tempfile.TemporaryDirectory(prefix='heddle-bench-') as work:
        gallery = Gallery(settings, work)
        for number, source in enumerate(sources, 1):
            name = os.path.basename(source)[:-2]
            rows[name] = gallery.row(source)
            print(f'[{number}/{len(sources)}] {name}: {json.dumps(rows[name])}', flush=True)
    hooked.kept.keep(settings, {'bugs': rows})
    return 0


if __name__ == '__main__':
    sys.exit(main())
