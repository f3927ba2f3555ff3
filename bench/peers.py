#!/usr/bin/env python3
"""Others on the same kernels in the same run: ThreadSanitizer of clang and gcc, valgrind (none, helgrind, drd), rr,
gdb's `record full`; and heddle.

Small kernels, two threads, one run each of the slow ones: CPU time without start-up over native. What does not run on
this machine is empty, with what it said. Tools that put all threads on one core are told in wall time, too.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

import hooked
from hooked import NATIVE, Diverged, Hooked, TooLong

LONG = 0.03         # CPU seconds of the native program
TINY = ['2', '1', '1']
LIMIT = 40
# name: how it is built, and what is put before the program
SAN = ['-fsanitize=thread', '-g']
PEERS = {
    'clang TSan': (['clang-19', '-O2', *SAN], []),
    'gcc TSan': (['gcc', '-O2', *SAN], []),
    'valgrind none': (None, ['valgrind', '-q', '--tool=none', '--fair-sched=yes']),
    'helgrind': (None, ['valgrind', '-q', '--tool=helgrind', '--fair-sched=yes']),
    'drd': (None, ['valgrind', '-q', '--tool=drd', '--fair-sched=yes']),
    'rr': (None, ['rr', 'record', '-n', '-o', '{trace}']),
}
OURS = {'region x all': 'all', 'region x races': 'races'}
# It knows no vector instructions but SSE's: libc is asked to use none.
GDB = ['sh', '-c', 'exec "$@" 2>&1', 'sh', 'gdb', '-q', '-batch', '-ex', 'set pagination off', '-ex', 'set record full insn-number-max unlimited',
       '-ex', 'set environment LD_BIND_NOW 1', '-ex', 'set environment GLIBC_TUNABLES glibc.cpu.hwcaps=-AVX2,-AVX,-AVX512F,-AVX512VL,-XSAVEC,-ERMS,-BMI2,-RTM',
       '-ex', 'break main', '-ex', 'run', '-ex', 'record full', '-ex', 'continue', '--args']


class Peers(Hooked):
    def __init__(self, settings):
        super().__init__(settings)
        self.env['TSAN_OPTIONS'] = 'exitcode=0'     # the races that it finds in some kernels are no failure here

    def build_peers(self, source):
        """{name: (program, words before it)}; the native program as NATIVE."""
        place = os.path.join(self.out, os.path.splitext(os.path.basename(source))[0])
        flags = [source, '-pthread', '-lm']
        subprocess.run(['clang-19', '-O2', '-g', '-flto', '-fuse-ld=lld-19', '-o', place, *flags], check=True)
        found = {NATIVE: (place, [])}
        for name, (compiler, before) in PEERS.items():
            program = place
            if compiler:
                program = f'{place}-{name.replace(" ", "-")}'
                subprocess.run([*compiler, '-o', program, *flags], check=True)
            found[name] = program, before
        for name, select in OURS.items():
            program = f'{place}-{select}'
            subprocess.run([os.path.join(self.build, 'bin', 'heddle-cc'), f'--select={select}', '-O2', '-g', '-o', program, *flags], check=True)
            found[name] = program, [self.heddle, 'record', '-q', '-o', '{trace}', '--']
        return found

    def once(self, peer, args):
        program, before = peer
        shutil.rmtree(self.trace, ignore_errors=True)
        return self.run([*(word.replace('{trace}', self.trace) for word in before), program, *args], LIMIT)

    def without_start(self, peer, args):
        """(CPU, wall) of a run less those of one with no rounds."""
        busy, idle = self.once(peer, args), self.once(peer, [args[0], '0', *args[2:]])
        return max(1e-4, busy.cpu - idle.cpu), max(1e-4, busy.wall - idle.wall)


def rounds_for(bench, native, percent):
    rounds = 1
    while bench.without_start(native, ['2', str(rounds), percent])[0] < LONG and rounds < 4096:
        rounds *= 2
    return rounds


def reason(error):
    """What a tool said that does not run."""
    lines = [line.strip() for line in str(error).split('\n') if line.strip()]
    telling = [line for line in lines if re.search(r"n[o']t support|[Ff]atal|FATAL|rror|Process record", line)] or lines[-1:]
    return re.sub(r' *See http.*', '', telling[0])[:200] if telling else 'no reason given'


def tiny_gdb(bench, program):
    """gdb's record full keeps every instruction: a tiny input, and over the same run without it."""
    try:
        recorded = bench.run([*GDB, program, *TINY], LIMIT)
    except TooLong:
        return None, f'not done in {LIMIT} s with the smallest input'
    except SystemExit as error:
        return None, reason(error)
    text = recorded.out.decode(errors='replace')
    if 'exited normally' not in text:
        return None, reason(text)
    native = bench.run([program, *TINY])
    return round(recorded.cpu / max(1e-3, native.cpu), 1), None


def row(bench, source, percent, times):
    peers = bench.build_peers(source)
    args = ['2', str(rounds_for(bench, peers[NATIVE], percent)), percent]
    best, why = {}, {}
    for turn in range(times):
        for name, peer in peers.items():
            slow = name not in (NATIVE, *OURS)
            if name in why or (slow and turn):
                continue
            try:
                cpu, wall = bench.without_start(peer, args)
            except TooLong:
                why[name] = f'not done in {LIMIT} s'
            except (Diverged, SystemExit) as error:
                why[name] = reason(error)
            else:
                before = best.get(name, (1e99, 1e99))
                best[name] = min(cpu, before[0]), min(wall, before[1])
    cells = {name: round(best[name][0] / best[NATIVE][0], 2) if name in best else None for name in peers if name != NATIVE}
    walls = {f'{name}, wall': round(best[name][1] / best[NATIVE][1], 2) if name in best else None for name in peers if name != NATIVE}
    cells['gdb record full, tiny'], reason_of_gdb = tiny_gdb(bench, peers[NATIVE][0])
    if reason_of_gdb:
        why['gdb record full, tiny'] = reason_of_gdb
    return {'native ms': round(best[NATIVE][0] * 1e3, 1), **cells, **walls, 'why empty': why}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    hooked.add_options(parser)
    parser.add_argument('--only', default='', metavar='REGEX', help='only these kernels')
    settings = hooked.options(parser)
    bench = Peers(settings)
    rows = {}
    try:
        for source in hooked.kernels(settings.only):
            kernel = os.path.splitext(os.path.basename(source))[0]
            rows[kernel] = row(bench, source, '10' if settings.quick else '30', 1 if settings.quick else 3)
            print(f'{kernel}, CPU time over native with two threads')
            for name, value in rows[kernel].items():
                if name != 'why empty':
                    print(f'  {name:26}{"-" if value is None else value:>10}   {rows[kernel]["why empty"].get(name, "")}', flush=True)
    finally:
        bench.clean()
    hooked.kept.keep(settings, {'kernels': rows})
    return 0


if __name__ == '__main__':
    sys.exit(main())
