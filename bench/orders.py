#!/usr/bin/env python3
"""Every order over five workloads, without loader and compiler: build/tests/order-stress --bench.

ns of CPU time per access natively and recorded (both take turns, the smallest of all rounds counts), log bytes per 1,000
accesses before and after zstd (medians), and ns per event at replay. As tables, and as a plot for each workload.
"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plot     # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKLOADS = {'updates': 'random shared updates', 'private': 'mostly private arrays', 'table': 'read-mostly table',
             'locks': 'lock-protected counters', 'pingpong': 'ping-pong of pairs'}


def program(settings):
    return os.path.join(os.path.abspath(settings.build), 'tests', 'order-stress')


def schemes(settings):
    text = subprocess.run([program(settings), '--list'], check=True, capture_output=True, text=True).stdout
    return [line.split('\t')[0] for line in text.splitlines()]


def measure(settings):
    """{workload: {threads: {scheme: row}}}; a scheme that cannot do a workload in time has no row."""
    found = {w: {n: {} for n in settings.threads} for w in WORKLOADS}
    for scheme in settings.schemes or schemes(settings):
        for workload in WORKLOADS:
            for threads in settings.threads:
                if workload == 'pingpong' and threads % 2:
                    continue
                argv = [program(settings), scheme, '--bench', f'--workload={workload}', f'--threads={threads}',
                        f'--rounds={settings.rounds}', f'--accesses={settings.accesses}']
                try:
                    done = subprocess.run(argv, capture_output=True, text=True, timeout=settings.limit)
                except subprocess.TimeoutExpired:
                    print(f'{scheme} {workload} {threads} threads: no end after {settings.limit} s', file=sys.stderr)
                    continue
                if done.returncode:
                    print(done.stderr.strip(), file=sys.stderr)
                    continue
                found[workload][threads][scheme] = json.loads(done.stdout)
    return found


def print_workload(name, by_threads):
    print(f'\n{WORKLOADS[name]} ({name})')
    print(f'{"order":22}{"threads":>8}{"native":>9}{"record":>9}{"ratio":>8}{"bytes":>10}{"zstd":>9}{"replay":>9}')
    print(f'{"":22}{"":8}{"ns":>9}{"ns":>9}{"":8}{"/1000":>10}{"/1000":>9}{"ns":>9}')
    for threads, rows in by_threads.items():
        for scheme, r in rows.items():
            replay = f'{r["replay"]:9.1f}' if r['replay'] else '        -'
            print(f'{scheme:22}{threads:8}{r["native"]:9.2f}{r["record"]:9.2f}{r["record"] / max(r["native"], 1e-9):8.1f}'
                  f'{r["bytes"]:10.1f}{r["zstd"]:9.1f}{replay}')


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
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--accesses', type=int, default=200000, help='of all threads together')
    parser.add_argument('--limit', type=int, default=120, help='seconds for one cell')
    parser.add_argument('--json', help='write all figures to this file')
    parser.add_argument('schemes', nargs='*', help='only these')
    return parser.parse_args()


def main():
    settings = options()
    directory = os.path.join(os.path.abspath(settings.build), 'bench')
    os.makedirs(directory, exist_ok=True)
    found = measure(settings)
    for name, by_threads in found.items():
        print_workload(name, by_threads)
    print()
    for name, by_threads in found.items():
        draw(name, by_threads, directory)
    if settings.json:
        with open(settings.json, 'w') as file:
            json.dump(found, file, indent=1)


if __name__ == '__main__':
    main()
