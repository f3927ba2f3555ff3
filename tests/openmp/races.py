"""What the race detector makes of OpenMP's own synchronisation."""
import os
import re

from harness import ROOT


def races(t, name):
    """How many races a run of the program, built by heddle-cc, is said to have."""
    source = os.path.join(ROOT, 'tests', 'openmp', name + '.c')
    program = t.compile(source, ['-fopenmp', '--select=all'], f'openmp/races/{name}', os.path.join(t.settings.build, 'bin', 'heddle-cc'))
    outcome = t.record([program], trace=t.path(name))
    t.check(outcome.status == 0, f'{outcome}')
    again = t.replay(t.path(name), options=['--races'], timeout=120)
    t.check(again.out == outcome.out, f'{again}')
    return int(re.search(rb'(\d+) races? in this run', again.err).group(1))


def case_races(t):
    """Critical sections, barriers and tasks order what they protect; a counter without atomic is found."""
    for name in ('critical', 'barriers', 'tasks'):
        t.check(races(t, name) == 0, f'{name}: a race that is none')
    t.check(races(t, 'racy') > 0, 'the races of racy.c are not found')
