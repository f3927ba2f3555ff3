#!/usr/bin/env python3
"""Where light's schedule stops: the size of its log against the time to find a schedule, with a limit on that time.

`windows` is what `heddle replay` does: a walk over the events, and the solver where that is wrong. `at once` gives the
whole log to the solver in one piece, as the papers do, who report that it never answers on large logs. Without loader
and compiler (build/tests/order-stress --solve). A series ends with the first log that is not solved in time.
"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kept     # noqa: E402
import plot     # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKLOADS = ('updates', 'private', 'table', 'locks')
ACCESSES = [1000, 3000, 10000, 30000, 100000, 300000, 1000000, 3000000]
WAYS = {'windows': [], 'at once': ['--at-once']}


def solve(settings, way, workload, accesses):
    program = os.path.join(os.path.abspath(settings.build), 'tests', 'order-stress')
    done = subprocess.run([program, 'light', f'--solve={settings.seconds}', *WAYS[way], f'--workload={workload}',
                           f'--threads={settings.threads}', f'--accesses={accesses}'], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def series(settings, way, workload):
    for accesses in ACCESSES[:4] if settings.quick else ACCESSES:
        row = solve(settings, way, workload, accesses)
        print(f'{way:10}{workload:10}{row["accesses"]:10}{row["entries"]:10}{row["bytes"]:10}{row["events"]:10}{row["wrongs"]:8}'
              f'{row["largest"]:9}{row["choices"]:9}{row["seconds"]:10.3f}{"" if row["solved"] else "   not solved"}', flush=True)
        yield row
        if not row['solved']:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--threads', type=int, default=8)
    parser.add_argument('--seconds', type=int, help='for one schedule (20; quick: 3)')
    parser.add_argument('--quick', action='store_true', help='small logs only')
    kept.add_option(parser)
    settings = parser.parse_args()
    settings.seconds = settings.seconds or (3 if settings.quick else 20)
    print(f'light: how long a schedule takes, {settings.threads} threads, at most {settings.seconds} s\n'
          f'{"":10}{"":10}{"accesses":>10}{"entries":>10}{"bytes":>10}{"events":>10}{"mended":>8}{"window":>9}{"choices":>9}{"seconds":>10}')
    found = {way: {workload: list(series(settings, way, workload)) for workload in WORKLOADS} for way in WAYS}
    for way, rows in found.items():
        for workload, row in rows.items():
            solved = [r['entries'] for r in row if r['solved']]
            print(f'{way}, {workload}: solved up to {max(solved, default=0)} entries'
                  + ('' if row[-1]['solved'] else f', stops at {row[-1]["entries"]}'))
    directory = os.path.join(os.path.abspath(settings.build), 'bench')
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, 'light-solve.svg')
    plot.lines(path, f'light: time to find a schedule, {settings.threads} threads', 'entries in the log', 'seconds',
               {f'{way} {workload}': [(r['entries'], max(r['seconds'], 1e-3)) for r in row if r['entries']]
                for way, rows in found.items() for workload, row in rows.items()})
    print(f'plot: {path}')
    kept.keep(settings, {'ways': found})


if __name__ == '__main__':
    main()
