#!/usr/bin/env python3
"""The bug gallery (tests/bugs): how often each fails, natively, recorded, and recorded with --chaos; and how many
replays fail alike.

Each program is built with --select=races and recorded under the default order. A run that fails is replayed; a replay
succeeds if it prints the same and ends the same.
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
    return status is None or status not in (0, USAGE, CANNOT, DIVERGED)


class Gallery:
    def __init__(self, settings, work):
        self.settings, self.work = settings, work
        self.heddle = os.path.join(os.path.abspath(settings.build), 'bin', 'heddle')

    def record(self, program, seed):
        trace = os.path.join(self.work, 'trace')
        subprocess.run(['rm', '-rf', trace], check=True)
        chaos = [f'--chaos={seed}'] if seed else []
        return (*run([self.heddle, 'record', '-q', '-o', trace, *chaos, '--', program, *self.settings.threads.split()]), trace)

    def recorded(self, program, chaos):
        """How many of the recordings fail; the first that does is replayed: how many of its replays were the same."""
        failed = same = tried = 0
        for n in range(1, self.settings.recordings + 1):
            status, out, trace = self.record(program, n if chaos else 0)
            failed += fails(status)
            if fails(status) and status is not None and not tried:
                tried = self.settings.replays
                same = sum(run([self.heddle, 'replay', trace]) == (status, out) for _ in range(tried))
        return failed, same, tried

    def program(self, source):
        program = os.path.join(self.work, os.path.basename(source)[:-2])
        subprocess.run([os.path.join(os.path.abspath(self.settings.build), 'bin', 'heddle-cc'), '--select=races', '-O2', '-g', '-o', program,
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
        program = self.program(source)
        failed, runs = self.native(program)
        plain, same, tried = self.recorded(program, False)
        chaos, same_chaos, tried_chaos = self.recorded(program, True)
        return {'native': f'{failed} of {runs}', f'recorded, of {self.settings.recordings}': plain,
                f'--chaos, of {self.settings.recordings}': chaos, 'replays that failed alike': same + same_chaos,
                'replays': tried + tried_chaos}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--threads', default='4')
    parser.add_argument('--runs', type=int, help='native, at most (500; quick: 5)')
    parser.add_argument('--recordings', type=int, help='20; quick: 3')
    parser.add_argument('--replays', type=int, help='of one failing run (100; quick: 2)')
    parser.add_argument('--quick', action='store_true', help='to see that it works')
    parser.add_argument('--only', metavar='NAME,NAME')
    hooked.kept.add_option(parser)
    settings = parser.parse_args()
    settings.runs = settings.runs or (5 if settings.quick else 500)
    settings.recordings = settings.recordings or (3 if settings.quick else 20)
    settings.replays = settings.replays or (2 if settings.quick else 100)
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
