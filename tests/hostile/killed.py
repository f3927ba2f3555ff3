"""kill -9 of the program, of heddle, of both, at random moments: what was recorded replays up to its last event, and
nothing else is left behind. SIGSTOP and SIGCONT likewise: it ends as if nobody had."""
import glob
import mmap
import os
import random
import re
import shutil
import signal
import subprocess
import time

import cells
from harness import CANNOT, ROOT, Failure, descendants, end_session, kill
from lines import lost_of_threads

EACH = 20
# One line a write; about 1.5 seconds when nobody kills it, with a child now and then.
PROGRAM = '''
import os, time
for i in range(3000):
    os.write(1, b"%d %d\\n" % (i, time.time_ns()))
    if i % 500 == 7 and os.fork() == 0:
        os.write(1, b"child %d\\n" % os.getpid())
        os._exit(0)
    time.sleep(0.0004)
'''


def record_and_kill(t, trace, who, delay, argv=('python3', '-S', '-c', PROGRAM), options=()):
    """Returns what the program had printed in the end, and how many bytes of it before anybody was killed."""
    printed = trace + '.out'
    with open(printed, 'wb') as out, open(trace + '.err', 'wb') as err:
        process = subprocess.Popen([t.heddle, 'record', '-o', trace, *options, '--', *argv], stdout=out, stderr=err,
                                   stdin=subprocess.DEVNULL, env=t.env, start_new_session=True)
        try:
            deadline = time.monotonic() + 20
            while not os.path.getsize(printed):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise Failure(f'the recording printed nothing; exit {process.poll()}')
                time.sleep(0.005)
            time.sleep(delay)
            inside = descendants(process.pid)
            before = os.path.getsize(printed)
            kill({'program': inside, 'heddle': [process.pid], 'both': [process.pid, *inside]}[who])
            if who == 'heddle':
                time.sleep(0.2)         # the program may go on for a while, or end by itself
                kill(inside)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                raise Failure('heddle did not end after the program was killed') from None
        finally:
            end_session(process)
    with open(printed, 'rb') as file:
        return file.read(), before


def case_at_random_moments(t):
    wrong = []
    for n in range(EACH):
        seed = t.batch * EACH + n
        rng = random.Random(seed)
        who, delay = ('program', 'heddle', 'both')[n % 3], rng.random() * 1.0
        trace = t.path(f'killed{seed}')
        printed, before = record_and_kill(t, trace, who, delay)
        again = t.replay(trace, offline=False, timeout=60)
        text = None
        if again.status not in (0, -signal.SIGKILL):
            text = f'replay: {again}'
        elif not printed.startswith(again.out):
            text = f'replay printed other bytes than the recording: {again.out[-80:]!r}'
        elif printed[:before].count(b'\n') - again.out.count(b'\n') > 2:
            # Each process may have been between its write and its entry; nothing else may be lost.
            text = f'lost lines: {before} bytes printed before the kill, {len(again.out)} replayed'
        if text:
            wrong.append(f'{who} killed after {delay:.3f} s (seed {seed}): {text}')
            t.hint = f'{t.heddle} replay {trace}'
        else:
            shutil.rmtree(trace)
    t.check(not wrong, f'{len(wrong)} of {EACH} wrong:\n' + '\n'.join(wrong[:5]))


case_at_random_moments.batches = 25


def case_in_large_reads(t):
    """In the middle of calls that need several entries: such a call has not happened, and what came before is not
    lost."""
    program, wrong = t.compile(os.path.join(ROOT, 'tests', 'hostile', 'parts', 'large_reads.c'), name='hostile/large_reads'), []
    for n in range(t.count(6, 60)):
        trace, delay = t.path(f'killed{n}'), random.Random(n).random() / 4
        printed, before = record_and_kill(t, trace, ('program', 'both')[n % 2], delay, [program])
        again = t.replay(trace, offline=False, timeout=120)
        lost = printed[:before].count(b'\n') - again.out.count(b'\n')
        if again.status not in (0, -signal.SIGKILL) or not printed.startswith(again.out) or lost > 2:
            wrong.append(f'killed after {delay:.3f} s: {again}, {lost} lines lost')
            t.hint = f'{t.heddle} replay {trace}'
        else:
            shutil.rmtree(trace)
    t.check(not wrong, f'{len(wrong)} wrong:\n' + '\n'.join(wrong[:5]))


def kill_threads(t, program, options_of=lambda seed: ()):
    wrong = []
    for n in range(EACH):
        seed = t.batch * EACH + n
        who, delay, options = ('program', 'heddle', 'both')[n % 3], random.Random(seed).random() / 2, options_of(seed)
        trace = t.path(f'killed{seed}')
        printed, before = record_and_kill(t, trace, who, delay, [program], options)
        again = t.replay(trace, offline=False, timeout=60)
        text = f'replay: {again}' if again.status not in (0, -signal.SIGKILL) else lost_of_threads(printed, before, again.out)
        if text:
            wrong.append(f'{who} killed after {delay:.3f} s (seed {seed}{" ".join(("", *options))}): {text}')
            t.hint = f'{t.heddle} replay {trace}'
        else:
            shutil.rmtree(trace)
    t.check(not wrong, f'{len(wrong)} of {EACH} wrong:\n' + '\n'.join(wrong[:5]))


def case_threads_at_random_moments(t):
    """The same with four threads that lock, wait, allocate and write: each replays to its own last event."""
    kill_threads(t, t.compile(os.path.join(ROOT, 'tests', 'threads', 'parts', 'endless.c'), name='hostile/endless'))


case_threads_at_random_moments.batches = 25


def case_accesses_at_random_moments(t):
    """The same with threads that race, built by heddle-cc, under each order that promises exactness: with and without
    --chaos."""
    exact = [name for name, promise in cells.orders(t.settings.build) if cells.is_exact(promise)]
    program = cells.program(t, os.path.join(ROOT, 'tests', 'hostile', 'parts', 'racing.c'))
    kill_threads(t, program, lambda seed: [f'--order={exact[seed % len(exact)]}'] + [f'--chaos={seed}'] * (seed % 2))


case_accesses_at_random_moments.batches = 25


# ---- stopped for a while, as by a shell's ^Z ----

def stop_and_go(process, rng):
    """Some or all of them, at a random moment; then all go on."""
    time.sleep(0.02 + rng.random() / 10)
    tree = [process.pid, *descendants(process.pid)]
    chosen = rng.choice([tree, tree[:1], tree[1:]])
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in chosen:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        time.sleep(rng.random() / 10)


def record_with_stops(t, trace, argv, rng):
    with open(trace + '.out', 'wb') as out:
        process = subprocess.Popen([t.heddle, 'record', '-q', '-o', trace, '--', *argv], stdout=out, stdin=subprocess.DEVNULL,
                                   env=t.env, start_new_session=True)
        try:
            stops = 0
            while process.poll() is None and stops < 8:
                stop_and_go(process, rng)
                stops += 1
            return process.wait(60), stops
        except subprocess.TimeoutExpired:
            raise Failure('heddle did not end after it was stopped and continued') from None
        finally:
            end_session(process)


def case_stopped_and_continued(t):
    """Python with children, and threads with locks: the recording ends as the program does, and replays."""
    threads = t.compile(os.path.join(ROOT, 'tests', 'threads', 'mutex_normal.c'), ['-O1', '-g', '-pthread'], name='hostile/stopped_mutex')
    for number in range(t.count(4, 40)):
        argv = (['python3', '-S', '-c', PROGRAM], [threads])[number % 2]
        trace = t.path(f'stopped{number}')
        status, stops = record_with_stops(t, trace, argv, random.Random(number))
        t.check(status == 0, f'exit {status} after {stops} stops')
        again = t.replay(trace, offline=False, timeout=120)
        with open(trace + '.out', 'rb') as file:
            t.check(again.status == 0 and again.out == file.read(), f'replay after {stops} stops: {again}')


def case_nothing_is_left(t):
    """Rings, the control file and working files are gone once a killed recording was opened again."""
    home = t.path('temporary')
    os.mkdir(home)
    t.env = {**t.env, 'TMPDIR': home}
    for number, who in enumerate(('program', 'heddle', 'both')):
        trace = t.path(f'left{number}')
        record_and_kill(t, trace, who, 0.1)
        again = t.replay(trace, offline=False, timeout=60)
        t.check(again.status in (0, -signal.SIGKILL), f'{who} killed: {again}')
        left = [name for _, _, names in os.walk(trace) for name in names if re.search(r'ring|control|\.new$|\.part$|tail$', name)]
        t.check(not left, f'{who} killed: {left} are still in the trace')
        t.check(not os.listdir(home), f'{who} killed: {os.listdir(home)} are still in TMPDIR')


def case_finished_by_another(t):
    """Two look at a killed recording at once: the second is told that the first finishes it, not that it is recorded."""
    trace = t.path('killed')
    record_and_kill(t, trace, 'both', 0.1)
    with open(os.path.join(trace, 'control'), 'r+b') as file, mmap.mmap(file.fileno(), 0):     # as one of its processes has it
        first = subprocess.Popen([t.heddle, 'stat', trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=t.env, start_new_session=True)
        try:
            while not any(os.readlink(link).endswith('/control') for link in glob.glob(f'/proc/{first.pid}/fd/*')):
                t.check(first.poll() is None, 'the first has ended')
                time.sleep(0.01)
            time.sleep(0.1)
            os.kill(first.pid, signal.SIGSTOP)
            second = t.run([t.heddle, 'stat', trace])
            refused = t.run([t.heddle, 'rm', trace])
        finally:
            end_session(first)
    for outcome in (second, refused):
        t.check(outcome.status == CANNOT and b'is being finished by another heddle' in outcome.err, f'{outcome}')
    t.run_well([t.heddle, 'stat', trace])
