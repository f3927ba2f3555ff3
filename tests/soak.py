#!/usr/bin/env python3
"""Record and replay generated racy programs (generate.py) for a time, under every exact order; go on where it was
stopped.

    python3 tests/soak.py --minutes=30                 on with the next seeds, as build/soak-random.json tells
    python3 tests/soak.py --orders=region --minutes=5  under one order
    python3 tests/soak.py --seed=17 --orders=region    this program once more
    python3 tests/soak.py --totals                     what has been done so far

A program is recorded in several ways and each recording replayed: the same output, exit status and memory, and with
--verify the same values at each read. A wrong one is kept in build/soak-failures, and made smaller: operations are
dropped as long as it fails.
"""
import argparse
import json
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cells                                                    # noqa: E402
import generate                                                 # noqa: E402
from harness import ROOT, Failure, difference, run, status_text, without_ours     # noqa: E402

PARTS = os.path.join(ROOT, 'tests', 'generated', 'parts')
BATCH = 12          # programs in one binary
LIMIT = 300         # seconds: it takes one, and on a machine with too much to do a minute
SHRINK_SECONDS = 600
# How a program is recorded. With --verify no access takes the short way that region has.
WAYS = {True: (['--chaos={}'], [], ['--verify', '--chaos={}']), False: (['--verify', '--chaos={}'],)}


class Wrong(Exception):
    """A replay that was not its recording; or a recording that went wrong."""


class Soak:
    def __init__(self, build, replays=20, say=print):
        self.build, self.replays, self.say = os.path.abspath(build), replays, say
        self.heddle = os.path.join(self.build, 'bin', 'heddle')
        self.folder = os.path.join(self.build, 'tests', f'generated-{os.getpid()}-{id(self)}')
        self.failures = os.path.join(self.build, 'soak-failures')
        self.counts = {}        # order: [programs, recordings, replays, wrong]
        os.makedirs(self.folder)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- one program

    def compile(self, programs, dropped=frozenset()):
        source, binary = os.path.join(self.folder, 'generated.c'), os.path.join(self.folder, 'generated')
        with open(source, 'w') as file:
            file.write(generate.source(programs, dropped))
        done = run([os.path.join(self.build, 'bin', 'heddle-cc'), '-O2', '-g', '-pthread', f'-I{PARTS}', '-o', binary, source], timeout=600)
        if done.status:
            raise Failure(f'{source} does not compile: {done}')
        return binary

    def record(self, binary, seed, order, options):
        trace = os.path.join(self.folder, 'trace')
        shutil.rmtree(trace, ignore_errors=True)
        recorded = run([self.heddle, 'record', '-q', '-o', trace, f'--order={order}', '--checksum', *options, '--', binary, str(seed)],
                       timeout=LIMIT)
        if not 0 <= recorded.status < 64 or not recorded.out:
            raise Wrong(f'recording: {recorded}')
        return recorded, trace

    def replay(self, recorded, trace):
        again = run([self.heddle, 'replay', trace], timeout=LIMIT)
        text = difference('stdout', recorded.out, again.out) or difference('stderr', without_ours(recorded.err), without_ours(again.err))
        if again.status != recorded.status or text:
            raise Wrong(f'expected {status_text(recorded.status)}, got {again}\n{text or ""}')
        if self.replays > 1:
            again = run([self.heddle, 'replay', '--quiet', f'--repeat={self.replays - 1}', trace], timeout=LIMIT + self.replays)
            if again.status != recorded.status:
                raise Wrong(f'one of {self.replays - 1} further replays: {again}')

    def trial(self, binary, seed, order):
        """Every way to record the program; raises Wrong."""
        count = self.counts.setdefault(order, [0, 0, 0, 0])
        count[0] += 1
        for options in WAYS[order == 'region']:
            options = [o.format(seed) for o in options]
            try:
                recorded, trace = self.record(binary, seed, order, options)
                count[1] += 1
                self.replay(recorded, trace)
                count[2] += self.replays
            except (Wrong, Failure) as failure:
                count[3] += 1
                raise Wrong(f'{order} {" ".join(options)}: {failure}') from None

    # ---- one that failed

    def fails(self, program, order, dropped, tries=4):
        binary = self.compile([program], dropped)
        for _ in range(tries):
            try:
                self.trial(binary, program.seed, order)
            except Wrong:
                return True
        return False

    def shrink(self, program, order):
        """Operations that can be left out; what is left still fails now and then."""
        dropped, left, ends = set(), generate.numbers(program), time.monotonic() + SHRINK_SECONDS
        size = len(left) // 2
        while size and time.monotonic() < ends:
            at = 0
            while at < len(left) and time.monotonic() < ends:
                less = dropped | set(left[at:at + size])
                if self.fails(program, order, less):
                    dropped, left = less, left[:at] + left[at + size:]
                else:
                    at += size
            size = min(size // 2, len(left) // 2)
        return frozenset(dropped)

    def keep(self, program, order, text, shrinks=True):
        place = os.path.join(self.failures, f'{program.seed}-{order.replace(":", "-")}')
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        for name in ('trace', 'generated'):
            if os.path.exists(os.path.join(self.folder, name)):
                os.rename(os.path.join(self.folder, name), os.path.join(place, name))
        counts = {o: list(c) for o, c in self.counts.items()}       # what shrinking does is no soak
        dropped = self.shrink(program, order) if shrinks else frozenset()
        self.counts = counts
        for name, less in (('whole.c', frozenset()), ('small.c', dropped)):
            with open(os.path.join(place, name), 'w') as file:
                file.write(generate.source([program], less))
        again = f'python3 tests/soak.py --build={self.build} --seed={program.seed} --orders={order} --replays={self.replays}'
        with open(os.path.join(place, 'failure.txt'), 'w') as file:
            file.write(f'{text}\n\nagain: {again}\nreplay: {self.heddle} replay {place}/trace\n'
                       f'{len(generate.numbers(program)) - len(dropped)} of {len(generate.numbers(program))} operations are in small.c\n')
        return f'{text}\nkept in {place}; again: {again}'

    # ---- many

    def batch(self, seeds, orders, ends=None, shrinks=True):
        """All these programs under all these orders; texts of those that failed."""
        programs = [generate.Program(seed) for seed in seeds]
        binary, failed = self.compile(programs), []
        for program in programs:
            native = run([binary, str(program.seed)], timeout=LIMIT)        # one that hangs by itself is the generator's fault
            if not 0 <= native.status < 64:
                raise Failure(f'seed {program.seed} without heddle: {native}')
            for order in orders:
                if ends and time.monotonic() > ends:
                    return failed
                try:
                    self.trial(binary, program.seed, order)
                except Wrong as wrong:
                    self.say(f'seed {program.seed}: {wrong}')
                    failed.append(self.keep(program, order, f'seed {program.seed}: {wrong}', shrinks))
                    self.say(failed[-1])
                    binary = self.compile(programs)
        return failed


class State:
    """What has been done with any build in this folder; seeds go on from there."""

    def __init__(self, build):
        self.path = os.path.join(build, 'soak-random.json')
        try:
            with open(self.path) as file:
                self.data = json.load(file)
        except (OSError, ValueError):
            self.data = {'next': 1, 'orders': {}}

    def made(self):
        """(recordings, replays)"""
        return tuple(sum(c[i] for c in self.data['orders'].values()) for i in (1, 2))

    def add(self, counts, following):
        for order, count in counts.items():
            old = self.data['orders'].get(order, [0, 0, 0, 0])
            self.data['orders'][order] = [a + b for a, b in zip(old, count)]
        self.data['next'] = max(following, self.data['next'])
        with open(self.path + '.new', 'w') as file:
            json.dump(self.data, file, indent=1)
        os.rename(self.path + '.new', self.path)

    def text(self):
        lines = [f'{"order":16}{"programs":>10}{"recordings":>12}{"replays":>10}{"wrong":>7}']
        lines += [f'{o:16}{c[0]:10}{c[1]:12}{c[2]:10}{c[3]:7}' for o, c in self.data['orders'].items()]
        return '\n'.join(lines)


def exact_orders(build, names=''):
    wanted = names.split(',') if names else None
    return [o for o, g in cells.orders(build) if (o in wanted if wanted else cells.is_exact(g))]


def run_for(build, minutes, names='', replays=20, say=print):
    """Soak for so long; (what failed, the state)."""
    state, failed, ends = State(build), [], time.monotonic() + minutes * 60
    while time.monotonic() < ends:
        soak, first = Soak(build, replays, say), state.data['next']
        try:
            failed += soak.batch(range(first, first + BATCH), exact_orders(build, names), ends)
        finally:
            soak.close()
            state.add(soak.counts, first + BATCH)
    return failed, state


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument('--orders', default='', help='names, with commas; all exact ones otherwise')
    parser.add_argument('--replays', type=int, default=20, help='of each recording')
    parser.add_argument('--seed', type=int, help='only this program')
    parser.add_argument('--totals', action='store_true')
    settings = parser.parse_args()
    build = os.path.abspath(settings.build)
    if settings.totals:
        print(State(build).text())
        return 0
    if settings.seed is None:
        failed, state = run_for(build, settings.minutes, settings.orders, settings.replays)
        print(state.text())
        return bool(failed)
    soak = Soak(build, settings.replays)
    try:
        return bool(soak.batch([settings.seed], exact_orders(build, settings.orders), shrinks=False))
    finally:
        soak.close()


if __name__ == '__main__':
    sys.exit(main())
