#!/usr/bin/env python3
"""Every order over six workloads, without loader and compiler: build/tests/order-stress --bench.

ns of CPU time per access natively and recorded (both take turns), log bytes per 1,000 accesses before and after zstd,
ns per event at replay, how many replays were the same run, and the peak of memory, log included, natively and recorded.
As tables, and as a plot for each workload. Medians of the rounds: the quickest ones are those in which the threads
hardly met.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kept     # noqa: E402
import plot     # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# How many accesses, of all threads together: enough for some time slices each, or threads run one after the other.
ACCESSES = {'pingpong': 200000}
OTHERWISE = 4000000
COUNTS = ('same', 'tried')
WORKLOADS = {'updates': 'random shared updates', 'private': 'mostly private arrays, one access of a thousand anywhere',
             'visited': 'the same, one of ten', 'table': 'read-mostly table',
             'locks': 'lock-protected counters', 'pingpong': 'ping-pong of pairs'}


def program(settings):
    return os.path.join(os.path.abspath(settings.build), 'tests', 'order-stress')


def schemes(settings):
    text = subprocess.run([program(settings), '--list'], check=True, capture_output=True, text=True).stdout
    return [line.split('\t')[0] for line in text.splitlines()]


def measure_cell(settings, scheme, workload, threads):
    """The row of a scheme; None: it failed. Each round is a process of its own."""
    argv = [program(settings), scheme, '--bench', f'--workload={workload}', f'--threads={threads}', '--rounds=1',
            f'--accesses={settings.accesses or ACCESSES.get(workload, OTHERWISE)}']
    rows = []
    for _ in range(settings.rounds):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=settings.limit)
        if done.returncode:
            print(done.stderr.strip(), file=sys.stderr)
            return None
        rows.append(json.loads(done.stdout))
    return {key: sum(row[key] for row in rows) if key in COUNTS else middle([row[key] for row in rows]) for key in rows[0]}


def middle(values):
    return statistics.median(values) if isinstance(values[0], (int, float)) else values[0]


def measure(settings):
    """{workload: {threads: {scheme: row}}}, and what did not end; a scheme that cannot do a workload in time has no
    row."""
    found, starved = {w: {n: {} for n in settings.threads} for w in WORKLOADS}, []
    for scheme in settings.schemes or schemes(settings):
        for workload in WORKLOADS:
            for threads in settings.threads:
                if workload == 'pingpong' and threads % 2:
                    continue
                try:
                    row = measure_cell(settings, scheme, workload, threads)
                except subprocess.TimeoutExpired:
                    print(f'{scheme} {workload} {threads} threads: STARVES: no end after {settings.limit} s', file=sys.stderr)
                    starved.append((scheme, workload, threads))
                    continue
                if row:
                    found[workload][threads][scheme] = row
    return found, starved


def print_workload(name, by_threads):
    print(f'\n{WORKLOADS[name]} ({name})')
    print(f'{"order":22}{"threads":>8}{"native":>9}{"record":>9}{"ratio":>8}{"bytes":>10}{"zstd":>9}{"replay":>9}{"same":>7}{"MiB":>14}')
    print(f'{"":22}{"":8}{"ns":>9}{"ns":>9}{"":8}{"/1000":>10}{"/1000":>9}{"ns":>9}{"":7}{"native, rec.":>14}')
    for threads, rows in by_threads.items():
        for scheme, r in rows.items():
            replay = f'{r["replay"]:9.1f}' if r['replay'] else '        -'
            print(f'{scheme:22}{threads:8}{r["native"]:9.2f}{r["record"]:9.2f}{r["record"] / max(r["native"], 1e-9):8.1f}'
                  f'{r["bytes"]:10.1f}{r["zstd"]:9.1f}{replay}{r["same"]:5}/{r["tried"]}{r["native_kib"] / 1024:7.1f}{r["record_kib"] / 1024:7.1f}')


def print_rates(found):
    """Of orders that do not promise to be exact: how many replays were the same run."""
    sums = {}
    for by_threads in found.values():
        for rows in by_threads.values():
            for scheme, r in rows.items():
                same, tried = sums.get(scheme, (0, 0))
                sums[scheme] = same + r['same'], tried + r['tried']
    print('\nreplays that were the same run:')
    for scheme, (same, tried) in sums.items():
        print(f'  {scheme:22}{same:5} of {tried}')


def draw(name, by_threads, directory):
    series = {}
    for threads, rows in by_threads.items():
        for scheme, r in rows.items():
            series.setdefault('native', {})[threads] = min(r['native'], series.get('native', {}).get(threads, 1e9))
            series.setdefault(scheme, {})[threads] = r['record']
    path = os.path.join(directory, f'orders-{name}.svg')
    plot.lines(path, WORKLOADS[name], 'threads', 'ns of CPU time per access',
               {scheme: sorted(points.items()) for scheme, points in series.items()})
    print(f'plot: {path}')


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--threads', type=lambda text: [int(n) for n in text.split(',')], default=[1, 2, 4, 8])
    parser.add_argument('--rounds', type=int, help='5; quick: 1')
    parser.add_argument('--accesses', type=int, help='of all threads together (4000000, of ping-pong 200000; quick: 20000)')
    parser.add_argument('--quick', action='store_true', help='short loops, to see that it works')
    parser.add_argument('--limit', type=int, default=120, help='seconds for one cell')
    kept.add_option(parser)
    parser.add_argument('schemes', nargs='*', help='only these')
    settings = parser.parse_args()
    settings.rounds = settings.rounds or (1 if settings.quick else 5)
    settings.accesses = settings.accesses or (20000 if settings.quick else None)
    return settings


def main():
    settings = options()
    directory = os.path.join(os.path.abspath(settings.build), 'bench')
    os.makedirs(directory, exist_ok=True)
    found, starved = measure(settings)
    for name, by_threads in found.items():
        print_workload(name, by_threads)
    print_rates(found)
    print('\nno end: ' + (', '.join(f'{s} {w} {n}' for s, w, n in starved) or 'none; no order starves'))
    for name, by_threads in found.items():
        draw(name, by_threads, directory)
    kept.keep(settings, {'workloads': found})


if __name__ == '__main__':
    main()
