"""heddle record --ring: of a long recording the last part is kept, and a checkpoint at which its replay begins.

What a replay prints is the end of what was printed; with --checksum all memory at the end is compared, and with
--verify what was read.
"""
import os
import random
import re
import shutil
import signal
import sys
import time

from harness import CANNOT, ROOT, USAGE

sys.path.insert(0, os.path.join(ROOT, 'tests', 'hostile'))
import killed   # noqa: E402

HERE = os.path.join(ROOT, 'tests', 'threads')
LONG = os.path.join(HERE, 'parts', 'long_run.c')
# Beyond what was asked for, for three busy threads: 1 MB each for what lies in its ring, for what a look takes out of
# it, for entries near the checkpoint, for a chunk that is dropped as a whole; and a little. Nothing dropped would be 31
# MB and more.
BOUND = 14 << 20


def hooked(t, source=LONG):
    program = t.path(os.path.basename(source)[:-2])
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '--select=all', '-O2', '-g', '-pthread', '-o', program, source], timeout=300)
    return program


def kept(trace):
    return sum(os.path.getsize(os.path.join(trace, name)) for name in os.listdir(trace) if name.endswith('.log'))


def is_end(t, was, again, least=1):
    """Of what was recorded; but not all of it, or nothing was dropped."""
    t.check(again.status == was.status, f'recorded {was}\nnow {again}')
    t.check(was.out.endswith(again.out), f'{again.out[:200]!r} does not end what was recorded')
    t.check(least <= len(again.out) < len(was.out), f'{len(again.out)} of {len(was.out)} bytes are shown again')


def long_run(t, program, rounds, trace, options):
    """One of which something was dropped: on a busy machine a short one may end before the process that follows it has
    come so far."""
    for longer in (1, 2, 4, 8):
        shutil.rmtree(trace, ignore_errors=True)
        was = t.record([program, str(rounds * longer)], trace=trace, options=options, timeout=240)
        t.check(was.status == 7, f'recording: {was}')
        if os.path.exists(os.path.join(trace, 'checkpoint')):
            return was
    return t.check(False, f'nothing was dropped, and this test shows nothing: {was}')


def long_runs(t, program, rounds, size, options=(), times=1):
    for n in range(times):
        trace = t.path(f'trace{n}')
        was = long_run(t, program, rounds, trace, [f'--ring={size}', '--checksum', *options])
        for _ in range(t.settings.replays):
            is_end(t, was, t.replay(trace, timeout=120))
        t.check(kept(trace) < (int(size[:-1]) << 20) + BOUND, f'{kept(trace)} bytes of logs are kept')
        shutil.rmtree(trace)


def case_ring_hooked(t):
    """Every access hooked: races, locks, conditions, short threads, a thread that sleeps in one call, signals in
    loops."""
    long_runs(t, hooked(t), 9000, '2M', ['--verify'], times=t.count(2, 20))


def case_ring_creators(t):
    """The recording is looked at while somebody creates a thread: who follows must wait for it to be there."""
    long_runs(t, hooked(t, os.path.join(HERE, 'parts', 'creators.c')), 3000, '1M', ['--verify'], times=t.count(2, 20))


def case_ring_plain(t):
    """An unmodified program; and disturbed."""
    program = t.compile(LONG, ['-DORDERED'])
    long_runs(t, program, 12000, '4M', times=t.count(1, 10))
    long_runs(t, program, 8000, '2M', ['--chaos=3'])


def case_ring_diverges(t):
    """A data race in an unmodified program: what cannot be replayed cannot be followed. The program is not disturbed,
    and it is told."""
    program = t.compile(LONG, name='threads/parts/long_run_racy')
    was = t.record([program, '6000'], options=['--ring=1M'], timeout=240)
    t.check(was.status == 7 and was.out.count(b'\n') == 301, f'recording: {was}')
    t.check(b'drops nothing' in was.err or os.path.exists(t.path('trace', 'checkpoint')), f'recording: {was}')


def case_ring_short(t):
    """Less is logged than is kept: all of it is there, and everything can be done with it."""
    was = t.record([hooked(t), '100'], options=['--ring=1G', '--checksum'])
    t.check(was.status == 7 and not os.path.exists(t.path('trace', 'checkpoint')), f'recording: {was}')
    again = t.replay()
    t.check((again.status, again.out) == (was.status, was.out), f'recorded {was}, now {again}')
    t.check(t.replay(options=['--races']).status in (0, 120), 'replay --races')


def case_ring_repeat_and_tools(t):
    """Whoever reads a trace reads one that has lost its beginning."""
    trace = t.path('trace')
    was = long_run(t, hooked(t), 9000, t.path('trace'), ['--ring=2M', '--checksum'])
    again = t.replay(options=['--repeat=3'], timeout=240)
    t.check(b'3 of 3 replays exact' in again.err, f'--repeat: {again}')
    stat = t.run_well([t.heddle, 'stat', trace], timeout=120).out
    t.check(b'--ring' in stat, f'stat does not say that the beginning was dropped: {stat.decode()}')
    streams = t.run_well([t.heddle, 'dump', trace], timeout=120).out.split(b'\n== ')
    numbers = [[int(n) for n in re.findall(rb'^\s+(\d+)  ', stream, re.M)] for stream in streams]
    t.check(numbers[0][0] == 0 and any(n[-1] >= len(n) for n in numbers), 'dump shows no gap')
    refused = t.run([t.heddle, 'report', '-o', t.path('page.html'), trace], timeout=240)
    t.check(refused.status == CANNOT and b'--ring' in refused.err, f'report: {refused}')
    t.run_well([t.heddle, 'pack', '-o', t.path('packed'), trace])
    refused = t.run([t.heddle, 'pack', '--open', '-o', t.path('opened'), t.path('packed')])
    t.check(refused.status == CANNOT and b'--trust' in refused.err and not os.path.exists(t.path('opened')), f'pack --open: {refused}')
    t.run_well([t.heddle, 'pack', '--open', '--trust', '-o', t.path('opened'), t.path('packed')])
    is_end(t, was, t.replay(t.path('opened'), timeout=120))
    for options in (['--races'], ['--checkpoint=0:5'], ['--pid=1'], [f'--from={trace}/checkpoint']):
        refused = t.replay(options=options)
        t.check(refused.status == CANNOT and b'--ring' in refused.err, f'{options}: {refused}')


def gdb(t, commands, *options):
    words = [word for command in commands for word in ('-ex', command)]
    done = t.run([t.heddle, 'replay', *options, '--gdb', t.path('trace'), '--', '-batch', *words], timeout=240)
    t.check(done.status == 0, f'{done}\n{done.out.decode()}')
    return done.out.decode()


def case_ring_gdb(t):
    """A debugger begins at the checkpoint, with the names of all functions and lines, goes on to the end, and back."""
    long_run(t, hooked(t), 9000, t.path('trace'), ['--ring=2M', '--checksum'])
    out = gdb(t, ['info threads', 'break visitor', 'continue', 'print arg', 'reverse-continue', 'heddle when',
                  'delete', 'continue', 'heddle restart', 'heddle when'])
    t.check('long_run.c' in out and re.search(r'Breakpoint \d+, visitor \(arg=.*long_run.c', out), out)
    t.check('Error' not in out and 'exited with code 07' in out, out)


def case_from_gdb(t):
    """The same from a checkpoint that the user has saved."""
    program = t.compile(os.path.join(HERE, 'thread_pool.c'))
    t.record([program])
    t.check(t.replay(options=['--checkpoint=0:60', f'--save={t.path("point")}']).status == 0, 'not saved')
    out = gdb(t, ['bt', 'continue'], f'--from={t.path("point")}')
    t.check('exited normally' in out and re.search(r'^#\d', out, re.M), out)


def case_ring_damaged(t):
    trace = t.path('trace')
    t.record([hooked(t), '9000'], options=['--ring=2M'], timeout=240)
    whole = open(os.path.join(trace, 'checkpoint'), 'rb').read()
    for place in (0, 30, len(whole) // 2, len(whole) - 1, *random.Random(1).sample(range(len(whole)), 10)):
        with open(os.path.join(trace, 'checkpoint'), 'wb') as file:
            file.write(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1:])
        again = t.replay()
        t.check(again.status == CANNOT and b'heddle: ' in again.err and not again.out, f'byte {place} changed: {again}')
    os.unlink(os.path.join(trace, 'checkpoint'))
    again = t.replay()
    t.check(again.status == CANNOT and b'beginning was dropped' in again.err, f'without its checkpoint: {again}')


def case_ring_bad_input(t):
    for size in '', '0', '-1', 'x', '1X', '1MM', '5k', '1e30':
        again = t.record(['/bin/true'], options=[f'--ring={size}'])
        t.check(again.status == USAGE and b'--ring' in again.err, f'--ring={size}: {again}')
    for options in (['--order=leap'], ['--on-full=detach'], ['--paranoid']):
        again = t.record(['/bin/true'], options=['--ring=8M', *options])
        t.check(again.status == USAGE and b'--ring' in again.err, f'{options}: {again}')
    for command in ('echo first; /bin/true; echo second', 'echo first; exec /bin/true'):
        shutil.rmtree(t.path('trace'), ignore_errors=True)
        again = t.record(['/bin/sh', '-c', command], options=['--ring=8M'])
        t.check(again.status == CANNOT and b'--ring' in again.err and again.out == b'first\n', f'{command}: {again}')
        t.check(t.replay().out == b'first\n', f'{command}: the replay does not come to where it was stopped')


def case_ring_killed(t):
    """kill -9 of heddle, of the program, of both, also while a checkpoint is being made: the rest replays from the
    oldest."""
    program, wrong = hooked(t), []
    for n in range(t.count(6, 60)):
        trace, chance = t.path(f'killed{n}'), random.Random(n)
        who, delay = ('heddle', 'program', 'both')[n % 3], chance.random() * 1.5
        printed, before = killed.record_and_kill(t, trace, who, delay, [program, '20000'], ['--ring=1M', '-q'])
        again = t.replay(trace, timeout=120)
        last = printed[:before].rfind(b'\n', 0, before - 1)
        if again.status not in (0, 7, -signal.SIGKILL) or again.out not in printed:
            wrong.append(f'{who} killed after {delay:.3f} s: {again}')
        elif printed.find(again.out) + len(again.out) < last - 200:
            wrong.append(f'{who} killed after {delay:.3f} s: the end is lost, {len(printed)} bytes')
        else:
            shutil.rmtree(trace)
    t.check(not wrong, '\n'.join(wrong))
    time.sleep(0.5)
    left = t.run(['pgrep', '-f', t.path('killed')]).out
    t.check(not left, f'processes are left: {left}')


def case_ring_real(t):
    """Programs of Debian's with threads: 40 MB are read, and all that is read is logged."""
    with open(t.path('input'), 'wb') as file:
        chance = random.Random(2)
        file.write(b''.join(b'%d\n' % chance.getrandbits(60) for _ in range(2200000)))
    for argv in (['pigz', '-p', '4', '-1', '-c'], ['zstd', '-T4', '-1', '-c'], ['pbzip2', '-p2', '-1', '-c']):
        if not shutil.which(argv[0]):
            t.skip(f'{argv[0]} is not installed (tools/setup test)')
        trace = t.path(argv[0])
        was = t.record([*argv, t.path('input')], trace=trace, options=['--ring=8M', '--checksum'], timeout=240)
        t.check(was.status == 0 and os.path.exists(os.path.join(trace, 'checkpoint')), f'{argv}: {was}')
        is_end(t, was, t.replay(trace, timeout=240))
        t.notes.append(f'{argv[0]}: {kept(trace) >> 20} MiB are kept')
