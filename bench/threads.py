#!/usr/bin/env python3
"""What recording threads costs: operations, allocation, compressors, servers; native, recorded, replayed.

Variants take turns, and the best of several rounds counts, so that a busy machine disturbs all alike. Whole programs
are told in wall time, since threads and heddle's packing share the cores; CPU time is kept in the results, too.
"""
import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, 'bench'), os.path.join(ROOT, 'tests')]
import kept                   # noqa: E402
import run as base            # noqa: E402
from servers import SERVERS   # noqa: E402

VARIANTS = ('native', 'recorded', 'replayed')
# thread_loop's kind, threads, operations of each thread, what it is
LOOPS = [
    ('lock', 1, 5000000, 'mutex, nobody else wants it'),
    ('lock', 2, 5000000, '... one each'),
    ('recursive', 1, 2000000, 'recursive mutex'),
    ('spin', 1, 2000000, 'spinlock'),
    ('read', 1, 2000000, 'rwlock, reading'),
    ('write', 1, 2000000, 'rwlock, writing'),
    ('sem', 1, 2000000, 'semaphore, post and wait'),
    ('signal', 1, 2000000, 'condition, signal to nobody'),
    ('once', 1, 10000000, 'once, done before'),
    ('lock-shared', 2, 500000, 'mutex, wanted by all'),
    ('lock-shared', 4, 200000, '...'),
    ('lock-shared', 8, 100000, '...'),
    ('spin-shared', 2, 300000, 'spinlock, wanted by all'),
    ('rw-shared', 2, 300000, 'rwlock, 1 of 16 writes'),
    ('rw-shared', 4, 150000, '...'),
    ('cond-turns', 2, 30000, 'condition, taking turns'),
    ('cond-turns', 4, 10000, '... with broadcast'),
    ('sem-turns', 2, 100000, 'semaphores, taking turns'),
    ('barrier', 2, 100000, 'barrier'),
    ('barrier', 4, 30000, '...'),
    ('barrier', 8, 10000, '...'),
    ('create-join', 1, 5000, 'create and join a thread'),
]
MALLOC = [('pair_64', 1), ('pair_64', 2), ('stack', 1), ('mixed', 1), ('mixed', 2), ('mixed_large', 2), ('build', 1), ('grow', 1),
          ('calloc', 1), ('handover', 2), ('handover', 4)]
COMPRESSORS = [('pbzip2', '-p2', '-k'), ('pigz', '-p2', '-k'), ('xz', '-T2', '-k', '-1'), ('zstd', '-T2', '-k', '-q')]
MEMORY_LIMIT = lambda native: 1.2 * native + 32 * 1024     # KiB  # noqa: E731


class Run:
    """One finished command: seconds, KiB, the beginning of its output."""

    def __init__(self, usage, out=b''):
        with open(usage) as file:
            self.wall, self.cpu, self.memory = map(float, file.read().split())
        self.out = out


class Bench:
    def __init__(self, settings):
        self.heddle = os.path.join(os.path.abspath(settings.build), 'bin', 'heddle')
        self.rounds, self.quick = settings.rounds, settings.quick
        self.work = tempfile.mkdtemp(prefix='heddle-bench-')
        self.out = os.path.join(self.work, 'programs')
        self.trace = os.path.join(self.work, 'trace')
        self.env = dict(os.environ, HEDDLE_TRACE_DIR=os.path.join(self.work, 'traces'), HOME=self.work)
        os.makedirs(self.out)
        for name in ('thread_loop', 'malloc_loop', 'memcached_load', 'usage'):
            subprocess.run(['gcc', '-O2', '-pthread', '-o', f'{self.out}/{name}', f'{ROOT}/bench/{name}.c'], check=True)

    def command(self, variant, argv):
        """Behind bench/usage.c. Recording leaves the trace that replaying uses."""
        if variant == 'replayed':
            argv = [self.heddle, 'replay', '-q', self.trace]
        elif variant == 'recorded':
            shutil.rmtree(self.trace, ignore_errors=True)
            argv = [self.heddle, 'record', '-q', '-o', self.trace, '--', *argv]
        return [f'{self.out}/usage', f'{self.work}/usage', *argv]

    def run(self, variant, argv):
        with tempfile.TemporaryFile() as out:
            end = subprocess.run(self.command(variant, argv), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                                 cwd=self.work, env=self.env)
            if end.returncode:
                raise SystemExit(f'bench: {variant} {" ".join(argv)}: status {end.returncode}\n{end.stderr.decode(errors="replace")}')
            out.seek(0)
            return Run(f'{self.work}/usage', out.read(200))

    def turns(self, argv, rounds):
        """{variant: [Run]}, and bytes of the last trace, raw and packed."""
        runs = {v: [] for v in VARIANTS}
        for _ in range(rounds):
            for variant in VARIANTS:
                runs[variant].append(self.run(variant, argv))
        return runs, base.stream_bytes(self.trace)

    # ---- operations: told by the program itself; replay is compared with recording from outside, start-up taken off

    def start_up(self):
        argv = [f'{self.out}/thread_loop', 'lock', '1', '1']
        runs, _ = self.turns(argv, 5)
        return {v: min(r.wall for r in runs[v]) for v in VARIANTS}

    def inside(self, argv, began):
        runs, size = self.turns(argv, self.rounds)
        result = best(runs, size)
        for variant in VARIANTS:
            result['wall'][variant] = max(0.001, result['wall'][variant] - began[variant])
        for variant in VARIANTS[:2]:
            result[variant + '_ns'] = min(float(r.out.split()[0]) for r in runs[variant])
        return result, runs

    def loops(self, began):
        for kind, threads, count, label in LOOPS:
            count //= 10 if self.quick else 1
            result, runs = self.inside([f'{self.out}/thread_loop', kind, str(threads), str(count)], began)
            result['bytes_each'] = result['bytes'][1] / float(runs['native'][0].out.split()[1])
            yield kind, threads, label, result

    def malloc(self, began):
        for loop, threads in MALLOC[:3] if self.quick else MALLOC:
            yield loop, threads, self.inside([f'{self.out}/malloc_loop', loop, str(threads)], began)[0]

    # ---- compressors

    def compressors(self):
        text(os.path.join(self.work, 'input'), (10 if self.quick else 100) << 20)
        for program, *options in COMPRESSORS:
            if not shutil.which(program):
                print(f'{program:24}not installed (tools/setup bench)')
                continue
            runs, size = self.turns([program, *options, '-c', 'input'], min(3, self.rounds))
            yield ' '.join([program, *options[:1]]), best(runs, size)

    # ---- servers

    def loads(self):
        """What to drive each with: load(port) gives requests per second."""
        n = 10 if self.quick else 1

        def memcached(port):
            return float(output([f'{self.out}/memcached_load', str(port), '50', str(300000 // n)]))

        def redis(port):
            out = output(['redis-benchmark', '-p', str(port), '-n', str(200000 // n), '-c', '50', '-t', 'set,get', '--csv'])
            rates = [float(line.split(',')[1].strip('"')) for line in out.splitlines()[1:]]
            return len(rates) / sum(1 / r for r in rates)

        def apache(port):
            time.sleep(2.5)     # files that were changed just now are kept anew each time they are mapped
            out = output(['ab', '-q', '-k', '-n', str(50000 // n), '-c', '8', f'http://127.0.0.1:{port}/page0.txt'])
            return float(re.search(r'Requests per second:\s+([\d.]+)', out).group(1))
        loads = {'memcached': memcached, 'redis': redis, 'redis, 4 io-threads': redis, 'apache2': apache}
        if os.cpu_count() < 6:
            del loads['redis, 4 io-threads']    # its threads spin: with fewer cores than threads nothing goes on, natively either
        return loads

    def serve(self, server, load, variant):
        """(Run, requests per second)"""
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            status, _, err, rate = server.run(folder, self.command(variant, []), load, env=self.env)
            if status not in [end % 256 if end >= 0 else 128 - end for end in server.ends]:      # as a shell says it
                raise SystemExit(f'bench: {server.name} {variant}: status {status}\n{err.decode(errors="replace")[-1000:]}')
            self.ended = status
            return Run(f'{self.work}/usage'), rate

    def replay_server(self):
        """Run, or None if it diverged: tests/threads/servers.py says why some do."""
        end = subprocess.run(self.command('replayed', []), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env, cwd='/')
        return Run(f'{self.work}/usage') if end.returncode == self.ended else None

    def servers(self):
        for name, load in self.loads().items():
            server = SERVERS[name]
            if server.missing():
                print(f'{name:24}{" ".join(server.missing())} not installed (tools/setup bench)')
                continue
            runs, rates = {v: [] for v in VARIANTS}, {'native': 0, 'recorded': 0}
            for _ in range(self.rounds):
                for variant in rates:
                    run, rate = self.serve(server, load, variant)
                    runs[variant].append(run)
                    rates[variant] = max(rates[variant], rate)
                size = base.stream_bytes(self.trace)
                runs['replayed'] += filter(None, [self.replay_server()])
            yield name, {'exact': len(runs['replayed']), 'rounds': self.rounds, 'rate': rates, **best(runs, size)}


def best(runs, size):
    return {'wall': {v: min((r.wall for r in runs[v]), default=None) for v in runs},
            'cpu': {v: min((r.cpu for r in runs[v]), default=None) for v in runs},
            'memory': {v: max((r.memory for r in runs[v]), default=None) for v in runs}, 'bytes': size}


def output(argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, timeout=600).stdout


def text(path, size):
    rng = random.Random(1)
    words = [bytes(rng.choices(b'abcdefghijklmnopqrstuvwxyz', k=2 + n % 9)) for n in range(3000)]
    with open(path, 'wb') as file:
        while size > 0:
            line = b' '.join(rng.choices(words, k=12)) + b'\n'
            file.write(line)
            size -= len(line)


# ---- printing -----------------------------------------------------------------------------------------------

def row(label, *cells):
    print(f'{label:34}' + ''.join(f'{c:>13}' for c in cells), flush=True)


def times(a, b):
    return f'{a / b:.2f}' if a and b else '-'


def memory(r):
    return [f'{r["memory"][v] / 1024:.1f}' for v in VARIANTS[:2]]


def print_inside(label, r, *more):
    row(label, f'{r["native_ns"]:.1f}', times(r['recorded_ns'], r['native_ns']), times(r['wall']['replayed'], r['wall']['recorded']),
        *more)


def per_second(size, seconds):
    return f'{size / seconds / 1e6:.1f} MB/s'


def plural(n):
    return f'{n} thread{"s"[:n > 1]}'


def print_loops(bench, results):
    print('One operation (a pair for locks). Of one thread CPU time, of several wall time over all operations; replay in wall time\n'
          'and, start-up included, in CPU time.')
    row('', 'native ns', 'recorded', 'replay/rec', 'its CPU', 'log B each')
    for kind, threads, label, r in bench.loops(results['start_up']):
        results['loops'][f'{kind} {threads}'] = r
        print_inside(f'{label}, {plural(threads)}', r, times(r['cpu']['replayed'], r['cpu']['recorded']), f'{r["bytes_each"]:.2f}')


def print_malloc(bench, results):
    print('\nmalloc and free, for each pair (bench/malloc_loop.c).')
    row('', 'native ns', 'recorded', 'replay/rec', 'native MiB', 'recorded MiB')
    for loop, threads, r in bench.malloc(results['start_up']):
        results['malloc'][f'{loop} {threads}'] = r
        print_inside(f'{loop}, {plural(threads)}', r, *memory(r))


def print_compressors(bench, results):
    print('\nCompressors, 100 MB of text. Wall time; the whole input is in the log.')
    row('', 'native s', 'recorded', 'its CPU', 'replay/rec', 'log', 'native MiB', 'recorded MiB')
    for name, r in bench.compressors():
        results['compressors'][name] = r
        wall, cpu = r['wall'], r['cpu']
        row(name, f'{wall["native"]:.2f}', times(wall['recorded'], wall['native']), times(cpu['recorded'], cpu['native']),
            times(wall['replayed'], wall['recorded']), per_second(r['bytes'][1], wall['recorded']), *memory(r))


def print_servers(bench, results):
    print('\nServers under load on this machine. Throughput, CPU time of the server (heddle included); replay in wall time.')
    row('', 'native 1/s', 'recorded', 'its CPU', 'replay/rec', 'log', 'native MiB', 'recorded MiB', 'exact')
    for name, r in bench.servers():
        results['servers'][name] = r
        rate, cpu, wall = r['rate'], r['cpu'], r['wall']
        row(name, f'{rate["native"]:.0f}', times(rate['recorded'], rate['native']), times(cpu['recorded'], cpu['native']),
            times(wall['replayed'], wall['recorded']), per_second(r['bytes'][1], wall['recorded']), *memory(r),
            f'{r["exact"]} of {r["rounds"]}')


TABLES = {'loops': print_loops, 'malloc': print_malloc, 'compressors': print_compressors, 'servers': print_servers}


def targets(results):
    """(what, reached, wanted, is it so) for what the project promises."""
    for name, r in results['loops'].items():
        if name == 'lock 1':
            yield 'a mutex that nobody else wants, recorded', r['recorded_ns'] / r['native_ns'], 1.5, True
    for name, r in results['compressors'].items():
        yield f'{name}, recorded', r['wall']['recorded'] / r['wall']['native'], 1.02, True
    for name, r in results['servers'].items():
        yield f'{name}, throughput', r['rate']['recorded'] / r['rate']['native'], 0.85, False
    for name, r in {**results['loops'], **results['malloc'], **results['compressors']}.items():
        yield f'{name}, replay over record', r['wall']['replayed'] / r['wall']['recorded'], 1.05, True
    for name, r in {**results['malloc'], **results['compressors'], **results['servers']}.items():
        yield f'{name}, peak memory over 1.2 native + 32 MiB', r['memory']['recorded'] / MEMORY_LIMIT(r['memory']['native']), 1, True


def print_targets(results):
    missed = [(what, got, wanted) for what, got, wanted, below in targets(results) if (got > wanted if below else got < wanted)]
    print('\nMissed:' if missed else '\nAll that is promised was reached.')
    for what, got, wanted in missed:
        print(f'  {what}: {got:.2f} instead of {wanted}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--quick', action='store_true', help='shorter loops, two rounds: to see that it works')
    parser.add_argument('--only', choices=list(TABLES), help='one of the four tables')
    kept.add_option(parser)
    settings = parser.parse_args()
    if settings.quick:
        settings.rounds = 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # so that servers are ended, too
    bench = Bench(settings)
    results = {name: {} for name in TABLES}
    try:
        results['start_up'] = bench.start_up()
        for name, table in TABLES.items():
            if settings.only in (None, name):
                table(bench, results)
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    print_targets(results)
    kept.keep(settings, results)
    return 0


if __name__ == '__main__':
    sys.exit(main())
