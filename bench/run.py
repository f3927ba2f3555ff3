#!/usr/bin/env python3
"""What recording costs, as ratios inside one run: native, recorded, recorded --no-patch, replayed, under ptrace.

Variants take turns, and the smallest of several rounds counts, so that a busy machine disturbs all alike. CPU times are
of everything that a variant started, heddle's own packing included.
"""
import argparse
import glob
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import kept

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KINDS = {'getppid': 'getppid', 'clock': 'clock_gettime', 'zero64': 'read 64 B, /dev/zero', 'zero4k': 'read 4 KiB, /dev/zero',
         'file64': 'pread 64 B, file', 'file4k': 'pread 4 KiB, file'}
VARIANTS = ('native', 'recorded', 'no-patch', 'replayed', 'ptrace')
IMPORTS = 'import asyncio, ctypes, decimal, email, http.server, json, logging, multiprocessing, sqlite3, ssl, unittest, urllib.request, xml.dom.minidom'


class Bench:
    def __init__(self, settings):
        self.heddle = os.path.join(os.path.abspath(settings.build), 'bin', 'heddle')
        self.rounds = settings.rounds
        self.old = 0
        self.work = tempfile.mkdtemp(prefix='heddle-bench-')
        self.out = os.path.join(self.work, 'programs')
        self.env = dict(os.environ, HEDDLE_TRACE_DIR=os.path.join(self.work, 'traces'), HOME=self.work,
                        GIT_CONFIG_NOSYSTEM='1', PYTHONDONTWRITEBYTECODE='1')
        os.makedirs(self.out)
        for name in ('syscall_loop', 'ptrace_baseline'):
            subprocess.run(['gcc', '-O2', '-o', f'{self.out}/{name}', f'{ROOT}/bench/{name}.c'], check=True)

    def trace(self, name):
        return os.path.join(self.work, 'trace-' + name)

    def command(self, variant, argv, name):
        """The command of a variant. Recording leaves the trace that replaying uses."""
        if variant == 'native':
            return argv
        if variant == 'ptrace':
            return [f'{self.out}/ptrace_baseline', *argv]
        if variant == 'replayed':
            return [self.heddle, 'replay', self.trace(name)]
        trace = self.trace(name if variant == 'recorded' else name + '-no-patch')
        self.put_away(trace)
        return [self.heddle, 'record', '-o', trace, *(['--no-patch'] if variant == 'no-patch' else []), '--', *argv]

    def once(self, variant, argv, name, stdin=None):
        """(cpu seconds, wall seconds, output) of one run."""
        with open(stdin or os.devnull) as given, tempfile.TemporaryFile() as out:
            began = time.monotonic()
            process = subprocess.Popen(self.command(variant, argv, name), stdin=given, stdout=out, stderr=subprocess.PIPE,
                                       cwd=self.work, env=self.env)
            err = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.monotonic() - began
            process.returncode = status
            if status:
                raise SystemExit(f'bench: {variant} {name} failed (status {status:#x}):\n{err.decode(errors="replace")}')
            out.seek(0)
            return usage.ru_utime + usage.ru_stime, wall, out.read()

    def put_away(self, path):
        """Out of the way, but not deleted until the end: for some seconds after, ext4 passes over the inodes of deleted
        files one by one, which makes each new file of native git and of heddle 20 times as dear."""
        if os.path.exists(path):
            self.old += 1
            os.rename(path, os.path.join(self.work, f'old-{self.old}'))

    # ---- one call

    def calls(self, short, long):
        """ns per call: {kind: {variant: {...}}}, and trace bytes per call."""
        results = {}
        for kind in KINDS:
            found = {v: {'inside': [], 'wall': [], 'cpu': {short: [], long: []}} for v in VARIANTS}
            for _ in range(self.rounds):
                for variant in VARIANTS:
                    scale = 10 if variant in ('ptrace', 'no-patch') else 1     # slow ones make fewer calls
                    for count in (short, long):
                        argv = [f'{self.out}/syscall_loop', kind, str(count // scale)]
                        cpu, _, out = self.once(variant, argv, f'{kind}-{count}')
                        found[variant]['cpu'][count].append(cpu)
                        if count == long:
                            inside, wall = map(float, out.split())
                            found[variant]['inside'].append(inside)
                            found[variant]['wall'].append(wall)
            results[kind] = {}
            for variant, f in found.items():
                scale = 10 if variant in ('ptrace', 'no-patch') else 1
                results[kind][variant] = {
                    # Time passes in the tracer too, so its calls are told in wall time.
                    'call': min(f['wall' if variant == 'ptrace' else 'inside']) if variant != 'replayed' else None,
                    'all': (min(f['cpu'][long]) - min(f['cpu'][short])) / ((long - short) / scale) * 1e9}
            results[kind]['bytes'] = self.bytes_per_call(f'{kind}-{short}', f'{kind}-{long}', long - short)
        return results

    def bytes_per_call(self, short, long, calls):
        """(raw, packed) bytes that one more call adds to the streams."""
        a, b = stream_bytes(self.trace(short)), stream_bytes(self.trace(long))
        return [(y - x) / calls for x, y in zip(a, b)]

    # ---- whole programs

    def program(self, name, argv, prepare=None, stdin=None, variants=VARIANTS):
        cpu, wall = {v: [] for v in variants}, {v: [] for v in variants}
        for _ in range(self.rounds):
            for variant in variants:
                if prepare:
                    prepare()
                c, w, _ = self.once(variant, argv, name, stdin)
                cpu[variant].append(c)
                wall[variant].append(w)
        return {v: {'cpu': min(cpu[v]), 'wall': min(wall[v]), 'wall_median': statistics.median(wall[v])} for v in variants}

    def programs(self):
        yield 'start-up and exit of true', self.program('true', ['/bin/true'])
        sql = os.path.join(self.work, 'insert.sql')
        with open(sql, 'w') as file:
            file.write('pragma synchronous=off; create table t(id integer primary key, name text, value real); begin;\n')
            rng = random.Random(1)
            for i in range(20000):
                file.write(f"insert into t values({i}, 'name {rng.randrange(10 ** 6)}', {rng.random()});\n")
            file.write('commit; create index by_name on t(name); select count(*), sum(value) from t;\n')
        database = os.path.join(self.work, 'rows.db')
        yield 'sqlite3, 20,000 rows', self.program('sqlite3', ['sqlite3', database], stdin=sql,
                                                   prepare=lambda: os.path.exists(database) and os.unlink(database))
        yield 'git on a small repository', self.program('git', ['sh', '-c', self.git_script()], prepare=self.fresh_repository)
        yield 'python3 importing its library', self.program('python3', ['/usr/bin/python3', '-c', IMPORTS])

    def git_script(self):
        # Without gc: it packs with threads, which cannot be recorded yet.
        return ('cd repo && git status --short && echo more >> dir3/file4 && git diff | cat && git add . && '
                'git -c user.name=A -c user.email=a@example.org commit -q -m more && git log --stat | cat')

    def fresh_repository(self):
        repo, base = os.path.join(self.work, 'repo'), os.path.join(self.work, 'repo-base')
        if not os.path.exists(base):
            for d in range(10):
                os.makedirs(f'{base}/dir{d}')
                for f in range(20):
                    with open(f'{base}/dir{d}/file{f}', 'w') as file:
                        file.writelines(f'line {i} of {d}/{f}\n' for i in range(100))
            subprocess.run('git init -q -b main . && git add . && git -c user.name=A -c user.email=a@example.org commit -q -m first',
                           shell=True, cwd=base, env=self.env, check=True)
        self.put_away(repo)
        shutil.copytree(base, repo, symlinks=True)


def stream_bytes(trace):
    """(raw, packed) bytes of all streams: sums over the chunk headers."""
    raw = packed = 0
    for path in glob.glob(os.path.join(trace, 'p*.t*.log')):
        with open(path, 'rb') as file:
            data = file.read()
        packed += len(data)
        at = 32
        while at + 32 <= len(data):
            _, size, _, plain, _, _ = struct.unpack_from('<IIQIIQ', data, at)
            raw += plain
            at += 32 + size
    return raw, packed


def ratio(value, base):
    return f'{value / base:8.2f}' if value is not None and base else '       -'


def print_calls(results):
    print('One system call. In the program: CPU time of its thread (ptrace: wall time), native in ns, others as ratio.')
    print(f'{"":24}{"native ns":>10}' + ''.join(f'{v:>10}' for v in VARIANTS[1:]) + '   trace bytes raw, packed')
    for kind, label in KINDS.items():
        r = results[kind]
        base = r['native']['call']
        print(f'{label:24}{base:10.0f}' + ''.join('  ' + ratio(r[v]['call'], base) for v in VARIANTS[1:])
              + f'{r["bytes"][0]:16.1f} {r["bytes"][1]:7.2f}')
    print('\nThe same, CPU time of all processes (heddle and tracer included), and replay over record.')
    print(f'{"":24}{"native ns":>10}' + ''.join(f'{v:>10}' for v in VARIANTS[1:]) + '   replay/record')
    for kind, label in KINDS.items():
        r = results[kind]
        base = r['native']['all']
        print(f'{label:24}{base:10.0f}' + ''.join('  ' + ratio(r[v]['all'], base) for v in VARIANTS[1:])
              + ratio(r['replayed']['all'], r['recorded']['all']).rjust(16))


def print_program(label, r):
    cells = ''.join('  ' + ratio(r[v]['cpu'], r['native']['cpu']) for v in VARIANTS[1:])
    over = (r['recorded']['wall_median'] - r['native']['wall_median']) * 1000
    print(f'{label:32}{r["native"]["cpu"] * 1000:10.1f}{cells}'
          f'{ratio(r["replayed"]["cpu"], r["recorded"]["cpu"]).rjust(16)}{over:12.1f}', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--quick', action='store_true', help='shorter loops, two rounds: to see that it works')
    kept.add_option(parser)
    settings = parser.parse_args()
    if settings.quick:
        settings.rounds = 2
    bench = Bench(settings)
    try:
        calls = bench.calls(*((2000, 50000) if settings.quick else (20000, 500000)))
        print_calls(calls)
        print('\nWhole programs. CPU time of all processes, native in ms, others as ratio; record over native in ms of wall time.')
        print(f'{"":32}{"native ms":>10}' + ''.join(f'{v:>10}' for v in VARIANTS[1:]) + '   replay/record     over, ms')
        programs = {}
        for label, result in bench.programs():
            programs[label] = result
            print_program(label, result)
        kept.keep(settings, {'calls': calls, 'programs': programs})
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
