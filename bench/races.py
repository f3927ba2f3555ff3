#!/usr/bin/env python3
"""What --select=races saves: the kernels (bench/programs) under all, escape and races, recorded with --order=region.

Per kernel: sites, pairs that are left after each step of the analysis, and what the pairs at the end are about; hooks
that are run in one round; record over native at 1, 2, 4 and 8 threads; hooks and ratio with each step left out
(heddle-cc --without=STEP, RacX figure 7); what compiling and linking takes; memory. CPU time, without start-up, as
bench/kernels.py.
"""
import argparse
import collections
import json
import os
import re
import resource
import subprocess
import sys
import time

import hooked
from hooked import NATIVE, Hooked
from kernels import geometric_mean, variants_with_rounds

SELECTS = ('all', 'escape', 'races')
STEPS = ('locks', 'threads', 'phases', 'partitions', 'initialisation')


class Selected(Hooked):
    """Programs that differ by how they were compiled: NAME, NAME-all, NAME-races-phases (without that step), ..."""

    def compile_as(self, source, variant):
        name = os.path.join(self.out, os.path.splitext(os.path.basename(source))[0])
        flags = ['-O2', '-g', '-pthread', source, '-lm']
        if variant == NATIVE:
            command = ['clang-19', '-flto', '-fuse-ld=lld-19', '-o', name, *flags]
        else:
            select, _, without = variant.partition('-')
            command = [os.path.join(self.build, 'bin', 'heddle-cc'), f'--select={select}', '-o', f'{name}-{variant}', *flags]
            command[2:2] = [f'--without={without}'] if without else []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def command(self, variant, program, *args):
        if variant == NATIVE:
            return [program, *args]
        subprocess.run(['rm', '-rf', self.trace], check=True)
        return [self.heddle, 'record', '-q', '-o', self.trace, '--order=region', '--', f'{program}-{variant}', *args]

    def hooks(self, variant, program, threads):
        """Hooks that one round runs: what the threads say at their end, without what no round at all takes."""
        counts = []
        for rounds in ('1', '0'):
            self.run(self.command(variant, program, str(threads), rounds))
            text = subprocess.run([self.heddle, 'dump', self.trace], capture_output=True, text=True, check=True).stdout
            counts.append(sum(map(int, re.findall(r'ops and (\d+) accesses were done', text))))
        return counts[0] - counts[1]

    def analysis(self, program, variant='races'):
        return json.loads(subprocess.run([self.heddle, 'races', '--json', f'{program}-{variant}'], capture_output=True, check=True).stdout)

    def sites(self, program, variant):
        """(all, hooked)"""
        text = subprocess.run([self.heddle, 'dump', '--sites', '--json', f'{program}-{variant}'], capture_output=True, text=True, check=True).stdout
        rows = [json.loads(line) for line in text.split('\n') if line]
        rows = [r for r in rows if 'file' in r and r['kind'] != 'poll']
        return len(rows), sum(map(bool, (r['hooked'] for r in rows)))


def ratios(bench, program, variants, threads, times):
    """CPU time of a round over native."""
    found = variants_with_rounds(bench, program, threads, (NATIVE, *variants))
    for _ in range(times):
        for name, v in found.items():
            v.add(*(bench.run(bench.command(name, program, str(threads), str(rounds))) for rounds in (v.rounds, 0)))
    native = found[NATIVE]
    return {name: (v.per_round() / native.per_round(), v.memory / 1024, native.memory / 1024) for name, v in found.items() if name != NATIVE}


def print_row(title, cells):
    print(f'{title:12}' + ''.join(str(c).rjust(17) for c in cells), flush=True)


def program_of(bench, source):
    return os.path.join(bench.out, os.path.splitext(os.path.basename(source))[0])


def print_sites(bench, sources, links, saved):
    print('Sites: all, hooked under all, escape and races; pairs that may race: all, then what each step leaves')
    print_row('', ('sites', *SELECTS, 'raw pairs', *STEPS[1:]))
    for source in sources:
        program = program_of(bench, source)
        links[source] = {v: bench.compile_as(source, v) for v in (NATIVE, *SELECTS)}
        steps = [s['pairs'] for s in bench.analysis(program)['steps']][:len(STEPS)]
        sites = [bench.sites(program, 'all')[0], *(bench.sites(program, s)[1] for s in SELECTS)]
        saved[os.path.basename(program)] = {'sites': sites, 'pairs': steps}
        print_row(os.path.basename(program), (*sites, *steps))
    print()


def print_rest(bench, sources):
    print('What the pairs that are left are about, and how many')
    for source in sources:
        left = collections.Counter(w['object'] for w in bench.analysis(program_of(bench, source))['warnings'])
        print(f'{os.path.basename(program_of(bench, source)):12}' + ('; '.join(f'{o} {n}' for o, n in left.most_common(4)) or 'none'))
    print()


def print_hooks(bench, sources, variants):
    print('Hooks that one round runs, with 2 threads')
    print_row('', variants)
    for source in sources:
        program = program_of(bench, source)
        print_row(os.path.basename(program), (bench.hooks(v, program, 2) for v in variants))
    print()


def print_ratios(bench, sources, variants, threads, times, saved):
    print(f'Record over native, CPU time, {threads} thread{"s" * (threads > 1)}')
    print_row('', variants)
    all_of = {v: [] for v in variants}
    for source in sources:
        program = program_of(bench, source)
        found = ratios(bench, program, variants, threads, times)
        for v in found:
            all_of[v].append(found[v][0])
        saved.setdefault(os.path.basename(program), {}).setdefault('ratios', {})[threads] = found
        print_row(os.path.basename(program), (f'{found[v][0]:.2f}' if v in found else '-' for v in variants))
    print_row('mean', (f'{geometric_mean(all_of[v]):.2f}' for v in variants))
    print()


def print_links(sources, links, saved):
    print('CPU seconds of compiling and linking, and over plain LTO; peak memory in MiB at 2 threads: native, races')
    print_row('', ('plain', *SELECTS, 'races/plain', 'native MiB', 'races MiB'))
    for source in sources:
        name, found = os.path.splitext(os.path.basename(source))[0], links[source]
        memory = saved[name].get('ratios', {}).get(2, {}).get('races', (0, 0, 0))
        saved[name]['links'] = found
        print_row(name, (*(f'{found[v]:.2f}' for v in (NATIVE, *SELECTS)), f'{found["races"] / found[NATIVE]:.1f}', f'{memory[2]:.0f}', f'{memory[1]:.0f}'))
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    hooked.add_options(parser)
    parser.add_argument('--only', default='', metavar='REGEX', help='only these kernels')
    settings = hooked.options(parser)
    bench = Selected(settings)
    sources = hooked.kernels(settings.only)
    links, saved, begin = {}, {}, time.monotonic()
    try:
        print_sites(bench, sources, links, saved)
        print_rest(bench, sources)
        print_hooks(bench, sources, SELECTS)
        for threads in (2,) if settings.quick else (1, 2, 4, 8):
            print_ratios(bench, sources, SELECTS, threads, settings.rounds, saved)
        without = [f'races-{s}' for s in STEPS]
        for source in sources:
            for variant in without:
                bench.compile_as(source, variant)
        print_hooks(bench, sources, ['races', *without])
        if not settings.quick:
            print_ratios(bench, sources, ['races', *without], 2, settings.rounds, {})
        print_links(sources, links, saved)
    finally:
        bench.clean()
    print(f'{time.monotonic() - begin:.0f} s')
    hooked.kept.keep(settings, {'kernels': saved})
    return 0


if __name__ == '__main__':
    sys.exit(main())
