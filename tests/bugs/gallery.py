"""The two bugs of the gallery that take a number: LEAP's injected ones (5.1.3), by seed, and its program with more
threads than it could bear."""
import os

import cells

BUGS = cells.BUGS


def replayed(t, name, args, options, times=1):
    """Recorded and replayed; true if the bug showed."""
    trace = t.path(f'trace-{name}-{args[-1]}')
    outcome = t.record([cells.program(t, os.path.join(BUGS, name)), *args], trace=trace, options=options, timeout=cells.LIMIT * 5)
    t.check(outcome.status in (0, 1), f'recording: {outcome}')
    t.replays(outcome, trace=trace, times=times, timeout=cells.LIMIT * 5)
    return outcome.status == 1


def case_injected(t):
    """Ten threads, ten variables in five atomic sets; LEAP took 100 seeds and replayed all of them."""
    seeds = range(1, t.count(3, 100) + 1)
    found = sum(replayed(t, 'injected.c', ['10', str(seed)], ['--verify', f'--chaos={seed}']) for seed in seeds)
    t.notes.append(f'{found} of {len(seeds)} seeds end with a pattern; all replayed')
    t.check(found, 'no seed shows a pattern: this test shows nothing')


def case_loader_threads(t):
    """5,000 threads, one after another: LEAP ran out of memory."""
    replayed(t, 'contest_loader.c', ['2', str(t.count(200, 2500))], [])
