#!/usr/bin/env python3
"""Programs from Debian's sources under load: native, and recorded with every access hooked and with those that may
race; replayed.

Built by tests/debian.py: natively by clang, linked as heddle-cc links. Variants take turns; the best of several rounds
counts, for throughput and CPU time each by itself. The last recording of each is replayed, and how many of these
replays were exact is told.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys

import threads
from threads import Run, kept, per_second, row, times
from debian import built
from harness import Failure, Skip, Trial
from servers import APACHE_ENDS, Server, start_apache, start_memcached, start_redis

SELECTS = ('all', 'races')
INPUT = 24 << 20    # bytes for a compressor: its recording must last longer than its start
LONG = 300          # seconds: a replay that needs more counts as one that did not end


class Sources(threads.Bench):
    def __init__(self, settings):
        super().__init__(settings)
        self.replays = settings.replays
        self.trial = Trial('bench', os.path.join(self.work, 'trial'), settings)
        self.input = os.path.join(self.work, 'input')

    def alone(self, package, *options):
        """once(select): (Run, runs per second)"""
        def once(select):
            shutil.rmtree(os.path.join(self.work, 'store'), ignore_errors=True)
            run = self.run('native' if select == 'native' else 'recorded', [built(self.trial, package, select), *options])
            return run, 1 / run.wall
        return once

    def served(self, package, start, load, ends=(0,)):
        """once(select): (Run, requests per second)"""
        def once(select):
            server = Server(package, [], start(built(self.trial, package, select)), load, ends)
            return self.serve(server, load, 'native' if select == 'native' else 'recorded')
        return once

    def compressed(self, package, *options):
        """once(select): (Run, bytes per second)"""
        size = INPUT // (10 if self.quick else 1)
        if not os.path.exists(self.input):
            threads.text(self.input, size)

        def once(select):
            argv = [built(self.trial, package, select), *options, '-c', 'input']
            run = self.run('native' if select == 'native' else 'recorded', argv)
            return run, size / run.wall
        return once

    def programs(self):
        n = 10 if self.quick else 1

        def redis(port, requests=100000 // n):
            out = threads.output(['redis-benchmark', '-p', str(port), '-n', str(requests), '-c', '50', '-t', 'set,get,incr,lpush', '--csv'])
            rates = [float(line.split(',')[1].strip('"')) for line in out.splitlines()[1:]]
            return len(rates) / sum(1 / r for r in rates)

        def apache(port):
            return self.loads()['apache2'](port)

        yield 'pbzip2 -p2', lambda: self.compressed('pbzip2', '-p2', '-k')
        yield 'pigz -p2', lambda: self.compressed('pigz', '-p2', '-k')
        yield 'zstd -T2', lambda: self.compressed('libzstd', '-T2', '-B1MiB', '-q')
        yield 'sqlite3, 4 threads', lambda: self.alone('sqlite3')
        yield 'leveldb, 4 threads', lambda: self.alone('leveldb', '--benchmarks=fillrandom,readwhilewriting,readrandom,compact,deleterandom', '--threads=4',
                                                       f'--num={20000 // n}', '--write_buffer_size=200000', '--db=store')
        yield 'apache2, worker', lambda: self.served('apache2', lambda p: start_apache(p, modules=''), apache, APACHE_ENDS)
        yield 'memcached, 4 workers', lambda: self.served('memcached', lambda p: start_memcached(program=p), self.loads()['memcached'])
        yield 'redis', lambda: self.served('redis', lambda p: start_redis(1, program=p), redis)
        # Its threads spin: on few cores there is little else.
        yield 'redis, 4 io-threads', lambda: self.served('redis', lambda p: start_redis(4, program=p), lambda port: redis(port, 2000 // n))

    def replay(self):
        """Run, or None if it was not exact."""
        end = subprocess.run(self.command('replayed', []), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env=self.env, cwd='/', timeout=LONG)
        return Run(f'{self.work}/usage') if end.returncode == self.ended else None

    def exact_replays(self):
        """Those that were; one that does not end is not waited for again."""
        found = []
        for _ in range(self.replays):
            try:
                run = self.replay()
            except subprocess.TimeoutExpired:
                break
            found += [run] if run else []
        return found

    def measure(self, once):
        """{select: figures}"""
        found = {s: {'rate': 0, 'cpu': 1e99, 'memory': 0} for s in ('native', *SELECTS)}
        self.ended = 0
        for _ in range(self.rounds):
            for select, f in found.items():
                self.trace = os.path.join(self.work, f'trace-{select}')
                run, rate = once(select)
                f.update(rate=max(f['rate'], rate), cpu=min(f['cpu'], run.cpu), memory=max(f['memory'], run.memory), wall=run.wall, ended=self.ended)
        for select in SELECTS:
            self.trace, self.ended = os.path.join(self.work, f'trace-{select}'), found[select]['ended']
            again = self.exact_replays()
            found[select].update(bytes=threads.base.stream_bytes(self.trace)[1], exact=len(again), replays=self.replays,
                                 replay=min((r.wall for r in again), default=None))
        return found


def print_program(name, found):
    native = found['native']
    row(name, f'{native["rate"]:.4g}', '', '', '', '', f'{native["memory"] / 1024:.1f}')
    for select in SELECTS:
        f = found[select]
        row(f'  --select={select}', f'{f["rate"]:.4g}', times(f['rate'], native['rate']), times(f['cpu'], native['cpu']),
            times(f['replay'], f['wall']), per_second(f['bytes'], f['wall']), f'{f["memory"] / 1024:.1f}', f'{f["exact"]} of {f["replays"]}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', default=os.path.join(threads.ROOT, 'build'))
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--replays', type=int, default=20)
    parser.add_argument('--quick', action='store_true', help='a tenth of the load, one round: to see that it works')
    parser.add_argument('--only', default='', metavar='REGEX', help='only these programs')
    kept.add_option(parser)
    settings = parser.parse_args()
    settings.build = os.path.abspath(settings.build)
    if settings.quick:
        settings.rounds = 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # so that servers are ended, too
    bench, results, why = Sources(settings), {}, {}
    try:
        print('Requests (compressors: bytes; others: runs) per second, over native; CPU time over native, heddle included; replay over record in wall time.')
        row('', '1/s', 'over native', 'CPU', 'replay/rec', 'log', 'MiB', 'exact')
        for name, prepare in bench.programs():
            if re.search(settings.only, name):
                try:
                    results[name] = bench.measure(prepare())
                    print_program(name, results[name])
                except (Failure, Skip) as reason:
                    why[name] = str(reason)
                    print(f'{name:34}{reason}')
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    kept.keep(settings, {'programs': results, 'why not': why})
    return 0


if __name__ == '__main__':
    sys.exit(main())
