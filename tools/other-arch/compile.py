#!/usr/bin/env python3
"""Compile the programs of the tests for another machine: compile.py HEDDLE_CC_FOLDER TRIPLET TO

Each becomes TO/<its path>.plain, by gcc; racy ones become TO/<its path>.all and .races, by heddle-cc.
"""
import concurrent.futures
import glob
import os
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tests'))
from run import run_line                                    # noqa: E402

ours, triplet, to = sys.argv[1:]


def command(source, way):
    keys = run_line(source)
    cxx = source.endswith('.cpp')
    if way == 'plain':
        compiler = [f'{triplet}-{"g++" if cxx else "gcc"}']
    else:
        compiler = [f'{ours}/heddle-{"c++" if cxx else "cc"}', f'--target={triplet}', f'--select={way}']
    program = os.path.join(to, f'{source}.{way}')
    os.makedirs(os.path.dirname(program), exist_ok=True)
    flags = shlex.split(keys.get('flags', '')) + (['-static'] if 'static' in keys else [])
    return [*compiler, '-O2', '-g', '-w', '-o', program, source, '-pthread', *flags]


def sources(folder):
    return sorted(glob.glob(f'tests/{folder}/*.c') + glob.glob(f'tests/{folder}/*.cpp'))


commands = [command(source, 'plain') for folder in ('syscalls', 'programs', 'threads') for source in sources(folder)]
commands += [[*command('tests/unit/atomic_test.c', 'plain'), '-DHEDDLE_TOOL', '-I.']]
commands += [command(source, way) for source in sources('bugs') for way in ('all', 'races')]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for argv, done in zip(commands, pool.map(subprocess.run, commands)):
        if done.returncode:
            print(f'other-arch: does not compile: {shlex.join(argv)}')
