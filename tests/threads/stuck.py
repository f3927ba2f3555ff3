"""Recordings that end in a deadlock, and locks that an unmodified binary does not show."""
import os
import re
import signal
import subprocess
import time

from harness import DIVERGED, ROOT, Failure, end_session, status_text, without_ours

PARTS = os.path.join(ROOT, 'tests', 'threads', 'parts')


def record_deadlock(t, end, part='deadlock'):
    """Record until both threads hold their first lock, then end(process). Returns stdout and the status."""
    program = t.compile(os.path.join(PARTS, part + '.c'), name='threads/' + part)
    with open(t.path('out'), 'wb') as out, open(t.path('err'), 'wb') as err:
        process = subprocess.Popen([t.heddle, 'record', '-o', t.path('trace'), '--', program], stdout=out, stderr=err,
                                   stdin=subprocess.DEVNULL, env=t.env, start_new_session=True)
        try:
            deadline = time.monotonic() + 20
            while os.path.getsize(t.path('out')) < 60:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise Failure(f'no deadlock; {process.poll()}, ' + open(t.path('err')).read())
                time.sleep(0.01)
            time.sleep(0.3)
            end(process)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                raise Failure('the recording does not end') from None
        finally:
            end_session(process)
    t.hint = f'{t.heddle} replay {t.path("trace")}'
    with open(t.path('out'), 'rb') as file:
        return file.read(), process.returncode


def replay_deadlock(t, out, statuses):
    again = None
    for n in range(t.settings.replays):
        again = t.replay(timeout=60)
        t.check(again.status in statuses, f'replay {n + 1}: expected {[status_text(s) for s in statuses]}, got {again}')
        t.check(again.out == out, f'replay {n + 1} printed {again.out!r}, recorded {out!r}')
        t.check(b'never' not in again.out, 'somebody got both locks')
    return again


def case_deadlock(t):
    """AB/BA, ended by Ctrl-C as from a terminal: the replay goes into the same deadlock, and ends the same way."""
    out, status = record_deadlock(t, lambda process: os.killpg(process.pid, signal.SIGINT))
    t.check(status == -signal.SIGINT, f'recording: expected SIGINT, got {status_text(status)}')
    replay_deadlock(t, out, [-signal.SIGINT])


def case_deadlock_says_who_waits(t):
    """The replay prints the cycle: both threads, both source lines."""
    out, _ = record_deadlock(t, lambda process: os.killpg(process.pid, signal.SIGINT))
    again = replay_deadlock(t, out, [-signal.SIGINT])
    with open(os.path.join(PARTS, 'deadlock.c')) as file:
        line = 1 + next(n for n, text in enumerate(file) if 'line of the deadlock' in text)
    told = again.err.decode(errors='replace')
    t.check(len(re.findall(rf'deadlock\.c:{line}\b', told)) >= 2, f'the cycle is not named with deadlock.c:{line}, twice:\n{told}')


def case_deadlock_killed(t):
    """The same with kill -9 of everything: the replay reaches the last event of every thread and says where they
    stand."""
    out, _ = record_deadlock(t, lambda process: os.killpg(process.pid, signal.SIGKILL))
    again = replay_deadlock(t, out, [0, -signal.SIGKILL])
    t.check(b'heddle:' in again.err, 'nothing is said about the end')


def case_deadlock_from_a_checkpoint(t):
    """The recording has no end of its own: a copy of the process comes to the same standstill, and says so."""
    out, _ = record_deadlock(t, lambda process: os.killpg(process.pid, signal.SIGKILL))
    for place in '0:30', '1:3', '2:3':
        again = t.replay(options=[f'--checkpoint={place}'], timeout=60)
        t.check(again.status in (0, -signal.SIGKILL) and again.out == out, f'from {place}: {again}')
        t.check(b'the recording ends in a deadlock' in again.err, f'from {place}: nothing is said about the end: {again}')


def case_standstill_of_raw_futexes(t):
    """AB/BA with hand-made locks, killed: no thread of the replay waits for anything that Heddle knows of. It must
    notice, say who stands where, and end."""
    out, _ = record_deadlock(t, lambda process: os.killpg(process.pid, signal.SIGKILL), part='futex_deadlock')
    again = replay_deadlock(t, out, [0, -signal.SIGKILL])
    t.check(again.err.count(b'in a futex call of the program') >= 2, f'it is not said who waits for what: {again}')


def case_raw_futex_is_named(t):
    """A hand-made lock: the recording says what it cannot order; a replay is exact or says what the likely cause is."""
    program = t.compile(os.path.join(PARTS, 'raw_futex.c'), name='threads/raw_futex')
    recorded = t.record([program], options=['--verbose'])
    t.check(recorded.status == 0, f'recording: {recorded}')
    t.check(b'futex' in recorded.err and b'raw_futex' in recorded.err, f'the recording does not name the futex calls: {recorded}')
    for _ in range(t.settings.replays):
        again = t.replay()
        if again.status == DIVERGED:
            t.check(b'heddle-cc' in again.err, f'the divergence does not say what to do: {again}')
        else:
            t.check(again.status == 0 and again.out == recorded.out and without_ours(again.err) == without_ours(recorded.err),
                    f'a wrong replay was called right: {again}')
