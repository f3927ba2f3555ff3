"""LEAP's static elements: what may meet in memory has one number, what cannot is told apart."""
import json
import os
import re

from harness import ROOT

SOURCE = os.path.join(ROOT, 'tests', 'compiler', 'parts', 'elements.c')


def elements(t, *options):
    """{name: the numbers that its lines have}"""
    program = t.path('elements' + ''.join(options))
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '-g', '--select=all', *options, '-o', program, SOURCE, '-pthread'])
    sites = [json.loads(line) for line in t.run_well([t.heddle, 'dump', '--sites', '--json', program]).out.splitlines()]
    found = {}
    with open(SOURCE) as file:
        for number, line in enumerate(file, 1):
            name = re.search(r'// (\S+)$', line)
            if name:
                here = {s['element'] for s in sites if s['line'] == number and s['hooked'] and s['kind'] != 'poll'}
                found.setdefault(name.group(1), []).append(here)
    return found


def check_merged(t, found):
    """A line also loads the pointer, another element: what is common to the lines of a name is what they access."""
    common = {name: set.intersection(*sets) for name, sets in found.items()}
    for name, numbers in common.items():
        t.check(numbers, f'{name} is not one element: {found[name]}')
    return common


def case_elements(t):
    common = check_merged(t, elements(t, '-O2'))
    for name, numbers in common.items():
        for other, others in common.items():
            if name < other:
                t.check(numbers != others, f'{name} and {other} are one element: {numbers}')
    t.check(0 in common['kernel'], 'what the kernel writes has an element of its own')


def case_elements_without_types(t):
    """Without what the compiler says of types, the fields of a class are one element; still nothing is lost."""
    found = elements(t, '-O2', '-fno-strict-aliasing')
    common = check_merged(t, found)
    t.check(found['pair.x'][0] & found['pair.y'][0], f'{found}')
    t.check(common['counter'] != common['array'], f'{found}')


def case_elements_per_file(t):
    """One file at a time shows nothing of the others: everything may meet."""
    for name, sets in elements(t, '-O2', '--per-file').items():
        t.check(all(numbers == {0} for numbers in sets), f'{name}: {sets}')
