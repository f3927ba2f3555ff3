#!/usr/bin/env python3
"""LEAP's micro-benchmark (its figures 4 and 5) for the native program and every order: random updates of shared
variables.

Variants take turns and the smallest of several rounds counts. Nanoseconds are CPU time of the program's threads over
all accesses (an update is a read and a write); the log is told before and after packing.
"""
import argparse
import functools
import os
import sys

import hooked
import plot
from hooked import EMPTY, NATIVE, Hooked, TooLong

# what, threads, variables
FIGURE_4 = [(10, variables) for variables in (1, 2, 5, 10, 20, 50, 100, 200, 500)]
FIGURE_5 = [(threads, 1000) for threads in (1, 2, 5, 10, 20, 40, 80)]
UPDATES = 1000000
CLAIMS = {'global': 10, 'crew': 5, 'lamport': 2}     # LEAP's abstract: leap is so many times faster, from 10 variables on


def measure(bench, program, points, rounds, updates):
    """{(threads, variables): {variant: {...}}}"""
    results = {point: {} for point in points}
    slow = set()        # an order that took too long once is not asked again
    for point in points:
        for variant in bench.variants * rounds:
            if variant in slow:
                continue
            count = updates * 10 if variant in (NATIVE, EMPTY) else updates
            try:
                out = bench.run(bench.command(variant, program, str(point[0]), str(point[1]), str(count))).out
            except TooLong:
                slow.add(variant)
                results[point].pop(variant, None)
                continue
            cpu, wall, accesses = map(int, out.split())
            cell = results[point].setdefault(variant, {'ns': 1e99, 'wall_ns': 1e99, 'raw': 0, 'packed': 0})
            cell['ns'] = min(cell['ns'], cpu / accesses)
            cell['wall_ns'] = min(cell['wall_ns'], wall / accesses)
            if variant not in (NATIVE, EMPTY):
                cell['raw'], cell['packed'] = (max(0, a - b) / accesses for a, b in zip(bench.log_bytes(), start_up(bench, program, point)))
    return results


@functools.lru_cache(None)
def start_up(bench, program, point):
    """Log bytes of a recording that does next to nothing with so many threads: no part of an access."""
    kept = bench.trace
    bench.trace += '-empty'
    bench.run(bench.command(bench.orders[0], program, str(point[0]), str(point[1]), str(point[0])))
    size = bench.log_bytes()
    bench.trace = kept
    return size


def print_table(title, results, variants, key, form):
    print(f'\n{title}')
    print(f'{"threads":>20}' + ''.join(f'{threads:8}' for threads, _ in results))
    print(f'{"variables":>20}' + ''.join(f'{variables:8}' for _, variables in results))
    for variant in variants:
        print(f'{variant:20}' + ''.join((format(cells[variant][key], form) if variant in cells else '-').rjust(8)
                                        for cells in results.values()), flush=True)


def draw(bench, name, title, x_label, results, index):
    series = {v: [(point[index], cells[v]['ns']) for point, cells in results.items() if v in cells] for v in bench.variants}
    path = os.path.join(bench.build, 'bench', name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    plot.lines(path, title, x_label, 'ns of CPU time per access', series)
    print(f'plot: {path}')


def print_claims(results):
    """LEAP's claim as measured here."""
    points = [p for p in results if p[1] >= 10]
    print('\nLEAP says that it is faster than others; here, over 10 variables and more (the others\' time over leap\'s, least and most):')
    for other, factor in CLAIMS.items():
        ratios = [results[p][other]['ns'] / results[p]['leap']['ns'] for p in points if other in results[p] and 'leap' in results[p]]
        if ratios:
            print(f'  {other:10}{min(ratios):6.2f} to {max(ratios):.2f}   (in print: more than {factor})')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    hooked.add_options(parser)
    settings = hooked.options(parser)
    bench = Hooked(settings)
    four, five = (FIGURE_4[::4], FIGURE_5[::3]) if settings.quick else (FIGURE_4, FIGURE_5)
    updates = UPDATES // 10 if settings.quick else UPDATES
    try:
        program = bench.compile(os.path.join(hooked.ROOT, 'bench', 'leap_micro.c'))
        results = {'figure 4': measure(bench, program, four, settings.rounds, updates)}
        print('LEAP\'s micro-benchmark: threads that update shared variables at random. CPU time, ns per access.')
        print_table('Figure 4: 10 threads', results['figure 4'], bench.variants, 'ns', '.1f')
        results['figure 5'] = measure(bench, program, five, settings.rounds, updates)
        print_table('Figure 5: 1,000 variables', results['figure 5'], bench.variants, 'ns', '.1f')
        both = {**results['figure 4'], **results['figure 5']}
        print_table('Log bytes per access before packing', both, bench.orders, 'raw', '.2f')
        print_table('... and after', both, bench.orders, 'packed', '.2f')
        print_claims(both)
        draw(bench, 'leap-figure-4.svg', 'LEAP figure 4: 10 threads', 'shared variables', results['figure 4'], 1)
        draw(bench, 'leap-figure-5.svg', 'LEAP figure 5: 1,000 shared variables', 'threads', results['figure 5'], 0)
    finally:
        bench.clean()
    hooked.kept.keep(settings, {name: {f'{t} threads, {v} variables': cells for (t, v), cells in r.items()} for name, r in results.items()})
    return 0


if __name__ == '__main__':
    sys.exit(main())
