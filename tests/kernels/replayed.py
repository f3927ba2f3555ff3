"""The kernels of bench/programs, small: recorded with every access hooked and with those that may race, and replayed.

What could go wrong: they have what real programs have and small tests have not: queues that threads steal from, waits
in the kernel beside races, sums that depend on the order of locks. Each looks at its own result, and ends with 1 if
that is wrong; most print something else in every run, down to the last digit of a sum.
"""
import glob
import os

import golden
from harness import ROOT

KERNELS = sorted(glob.glob(f'{ROOT}/bench/programs/*.c'))
LIMIT = 60
PERCENT = '5'       # of the usual size


def name(source):
    return os.path.splitext(os.path.basename(source))[0]


def once(t, program, threads, select, options, times=None):
    """Recorded and replayed; the run itself must be right, too."""
    trace = t.path('-'.join(['trace', select, str(threads), *options]))
    recorded = t.record([program, str(threads), '1', PERCENT], trace=trace, options=options, timeout=LIMIT)
    t.times['record'] = recorded.seconds
    t.check(recorded.status == 0, f'recording: {recorded}\n{recorded.out.decode()}')
    t.check(recorded.out.startswith(name(program.removesuffix('.' + select)).encode() + b': '), 'it did not print its result')
    t.replays(recorded, trace=trace, timeout=LIMIT, times=times)


def make(source, number):
    def case(t):
        soak = t.settings.level == 'soak'
        for select in ('all', 'races'):
            program = golden.build(t, source, select)
            t.run_well([program, '3', '1', PERCENT], timeout=LIMIT)
            for threads in (2, 4, 8) if soak else [(2, 4)[number % 2]]:
                once(t, program, threads, select, ['--verify', f'--chaos={number + 1}'], times=min(2, t.settings.replays))
                once(t, program, threads, select, [])
                for seed in range(t.count(0, 10) if soak else 0):
                    once(t, program, threads, select, ['--verify', f'--chaos={seed + 100}'])
    return case


for place, path in enumerate(KERNELS):
    globals()['case_' + name(path)] = make(path, place)


def case_vary(t):
    """A replay that went its own way must show: at least three kernels print something else in some run of twelve."""
    vary = []
    for source in KERNELS:
        argv = [golden.build(t, source, 'all'), '4', '1', PERCENT]
        outputs = {t.run_well(argv, timeout=LIMIT).out for _ in range(12)}
        vary += [name(source)] * (len(outputs) > 1)
    t.check(len(vary) >= 3, f'only these vary: {vary}')
