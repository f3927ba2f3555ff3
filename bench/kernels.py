#!/usr/bin/env python3
"""The kernels (bench/programs) with every access hooked: native, with empty hooks, recorded under every order,
replayed.

Variants take turns and the median of several runs counts. CPU time is of everything that a variant started, heddle's
packing included, without what start-up takes: each kernel is run with many rounds and with none. All variants make as
many rounds as the native program makes in a fifth of a second, except those that would take much longer: an order must
not look better or worse because what it learns in the first rounds counts more.
"""
import argparse
import math
import os
import statistics
import sys

import hooked
from hooked import EMPTY, NATIVE, Diverged, Hooked, TooLong

LONG = 0.2          # CPU seconds that the native program should take
LONGEST = 0.7       # and others, if they have more than one round to do
ROUNDS_MAX = 4096
LIMIT = 8           # seconds: an order that needs more is left out of a kernel


class Variant:
    """One variant of one kernel: how many rounds fit into a run, and what the runs took."""

    def __init__(self, rounds):
        self.rounds, self.exact, self.memory, self.bytes = rounds, True, 0, (0, 0)
        self.cpus, self.idles, self.walls, self.replays = [], [], [], []

    def add(self, run, idle):
        self.cpus.append(run.cpu)
        self.walls.append(run.wall)
        self.idles.append(idle.cpu)
        self.memory = max(self.memory, run.memory)

    def per_round(self):
        return max(1e-9, statistics.median(self.cpus) - statistics.median(self.idles)) / self.rounds

    def spread(self):
        """How far the runs are apart, as a part of the median; None: there is one."""
        return (max(self.cpus) - min(self.cpus)) / statistics.median(self.cpus) if len(self.cpus) > 1 else None

    def replay_over_record(self):
        return statistics.median(self.replays) / statistics.median(self.walls) if self.exact and self.replays else None

    def figures(self, native):
        return {'ms': self.per_round() * 1e3, 'ratio': self.per_round() / native.per_round(), 'packed KB/ms': self.bytes[1] / self.rounds / native.per_round() / 1e6,
                'memory': self.memory / native.memory, 'replay/record': self.replay_over_record(), 'spread': self.spread()}


def once(bench, name, program, threads, rounds):
    return bench.run(bench.command(name, program, str(threads), str(rounds), bench.percent), LIMIT)


def replay(bench):
    """Seconds; 0 if it was not exact."""
    try:
        return bench.run([bench.heddle, 'replay', '-q', bench.trace], LIMIT).wall
    except (Diverged, TooLong):
        return 0


def choose_rounds(bench, program, threads):
    """As many that the native program takes LONG seconds."""
    rounds = 1
    while True:
        cpu = once(bench, NATIVE, program, threads, rounds).cpu
        if cpu >= LONG / 2 or rounds >= ROUNDS_MAX:
            return max(1, min(ROUNDS_MAX, round(rounds * LONG / cpu)))
        rounds *= 4


def fewer_rounds(bench, name, program, threads, rounds):
    """Those that fit into LONGEST, found by ever more of them."""
    some = 1
    while some < rounds:
        cpu = once(bench, name, program, threads, some).cpu
        if cpu >= LONGEST / 8:
            return max(1, min(rounds, int(some * LONGEST / cpu)))
        some *= 4
    return rounds


def variants_with_rounds(bench, program, threads, names):
    """{name: Variant} of those that can make one round in time."""
    found, rounds = {}, choose_rounds(bench, program, threads)
    for name in names:
        try:
            some = rounds if name == NATIVE else fewer_rounds(bench, name, program, threads, rounds)
        except TooLong:
            continue
        found[name] = Variant(some)
    return found


def measure(bench, program, threads, times):
    found = variants_with_rounds(bench, program, threads, bench.variants)
    for _ in range(times):
        for name, v in list(found.items()):
            try:
                measure_once(bench, name, v, program, threads)
            except TooLong:
                del found[name]
    return found


def measure_once(bench, name, v, program, threads):
    run = once(bench, name, program, threads, v.rounds)
    if name not in (NATIVE, EMPTY):
        v.bytes = bench.log_bytes()
        seconds = replay(bench)
        v.replays.append(seconds)
        v.exact = v.exact and bool(seconds)
    v.add(run, once(bench, name, program, threads, 0))


def print_kernel(kernel, found, variants):
    native = found[NATIVE]
    print(f'{kernel:10}{native.per_round() * 1e3:10.2f} ms', end='')
    for name in variants[1:]:
        print(f'{found[name].per_round() / native.per_round():{width(name)}.2f}' if name in found else '-'.rjust(width(name)), end='')
    print(flush=True)


def width(name):
    return max(9, len(name) + 2)


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else float('nan')


def print_means(kernels, variants):
    print(f'{"mean":10}{"":13}', end='')
    for name in variants[1:]:
        ratios = [k[name].per_round() / k[NATIVE].per_round() for k in kernels.values() if name in k]
        print(f'{geometric_mean(ratios):{width(name)}.2f}' if len(ratios) == len(kernels) else '-'.rjust(width(name)), end='')
    print('\n')


def print_rest(title, kernels, orders, cell):
    print(title)
    print(' ' * 23 + ''.join(o.rjust(width(o)) for o in orders))
    for kernel, found in kernels.items():
        print(f'{kernel:23}' + ''.join((cell(found[o], found[NATIVE]) if o in found else '-').rjust(width(o)) for o in orders))
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    hooked.add_options(parser)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--only', default='', metavar='REGEX', help='only these kernels')
    parser.add_argument('--percent', type=int, default=100, help='size of the kernels (100; quick: 10)')
    settings = hooked.options(parser)
    bench = Hooked(settings)
    bench.percent = '10' if settings.quick else str(settings.percent)
    kernels = {}
    try:
        print(f'Kernels with {settings.threads} threads, every access hooked. CPU time of a round, native in ms, others as ratio.')
        print(' ' * 23 + ''.join(v.rjust(width(v)) for v in bench.variants[1:]))
        for source in hooked.kernels(settings.only):
            kernel = os.path.splitext(os.path.basename(source))[0]
            kernels[kernel] = measure(bench, bench.compile(source), settings.threads, settings.rounds)
            print_kernel(kernel, kernels[kernel], bench.variants)
        print_means(kernels, bench.variants)
        print_rest('Log, KB packed for each native ms', kernels, bench.orders,
                   lambda v, n: f'{v.bytes[1] / v.rounds / (n.per_round() * 1e3) / 1e3:.1f}')
        print_rest('Peak memory over native', kernels, bench.orders, lambda v, n: f'{v.memory / n.memory:.2f}')
        print_rest('Replay over record, wall time', kernels, bench.orders, lambda v, n: f'{v.replay_over_record():.2f}' if v.exact else 'wrong')
    finally:
        bench.clean()
    hooked.kept.keep(settings, {'threads': settings.threads, 'kernels': {k: {name: v.figures(found[NATIVE]) for name, v in found.items()} for k, found in kernels.items()}})
    return 0


if __name__ == '__main__':
    sys.exit(main())
