"""Runs of any length: neither recording nor replay needs more memory for a longer one."""
import os
import shutil

from harness import ROOT

LONGER = 8
MORE = 32 << 10     # KiB by which two runs may differ anyway: streams of up to 8 MiB are whole in a replay's memory
BENCH = os.path.join(ROOT, 'bench')


def peak(t, argv):
    """KiB of the largest process of those that this starts, heddle's included. By a small program: a child of Python's
    has been as large as Python."""
    usage = t.compile(os.path.join(BENCH, 'usage.c'), name='hostile/usage')
    t.run_well([usage, t.path('usage'), *argv], timeout=1800)
    t.recordings, t.replays_made = t.recordings + ('record' in argv), t.replays_made + ('replay' in argv)
    with open(t.path('usage')) as file:
        return int(float(file.read().split()[2]))


def work(t, count):
    """Ten times as much in soak; never less, or the log of the beginning would be most of it."""
    return max(count, t.count(count, 10 * count))


def bounded(t, argv, count, options=()):
    """argv(n): n times the work"""
    found = []
    for times in (1, LONGER):
        shutil.rmtree(t.path('trace'), ignore_errors=True)
        record = peak(t, [t.heddle, 'record', '-q', '-o', t.path('trace'), *options, '--', *argv(count * times)])
        logs = sum(os.path.getsize(t.path('trace', name)) for name in os.listdir(t.path('trace')) if name.endswith('.log'))
        found.append((logs, record, peak(t, [t.heddle, 'replay', '-q', t.path('trace')])))
    (less, *before), (more, *after) = found
    t.notes.append(f'logs {less} and {more} bytes; KiB of record and replay: {before} and {after}')
    t.check(more > 1.5 * less, f'the longer run has not logged more: {less} and {more} bytes')
    for what, a, b in zip(('recording', 'replay'), before, after):
        t.check(b < a + a // 4 + MORE, f'{what}: {a} KiB, and {b} for {LONGER} times the work')


def case_long_calls(t):
    bounded(t, lambda n: ['dd', 'if=/dev/urandom', 'of=/dev/null', 'bs=100', f'count={n}', 'status=none'], work(t, 100000))


def case_long_locks(t):
    """Two threads that wait for each other: an edge each time."""
    program = t.compile(os.path.join(BENCH, 'thread_loop.c'), name='hostile/thread_loop')
    bounded(t, lambda n: [program, 'sem-turns', '2', str(n)], work(t, 100000))


def updates(t):
    return t.compile(os.path.join(BENCH, 'leap_micro.c'), ['--select=all'], 'hostile/leap_micro', os.path.join(t.settings.build, 'bin', 'heddle-cc'))


def case_long_races(t):
    """Four threads that update eight variables at random: the order with the longest log, and the default."""
    program = updates(t)
    bounded(t, lambda n: [program, '4', '8', str(n)], work(t, 400000), ['--order=stride', '--chaos=1'])
    bounded(t, lambda n: [program, '4', '8', str(n)], work(t, 1000000), ['--chaos=1'])


def case_long_ring(t):
    """The same as a flight recorder."""
    program = updates(t)
    keys = t.record(['true'], trace=t.path('keys'), options=['--ring=1M'])
    if b'signs addresses' in keys.err:
        t.skip('no checkpoints on this machine')
    found = []
    for count in (2000000, 2000000 * LONGER):
        shutil.rmtree(t.path('trace'), ignore_errors=True)
        found.append(peak(t, [t.heddle, 'record', '-q', '--ring=4M', '-o', t.path('trace'), '--', program, '4', '8', str(count)]))
        size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(t.path('trace')) for name in names if name.endswith('.log'))
        t.check(size < 12 << 20, f'{size} bytes of logs are left of --ring=4M')
    t.check(found[1] < found[0] + found[0] // 4 + MORE, f'{found[0]} KiB, and {found[1]} for {LONGER} times the work')


case_long_ring.only_soak = True
