"""heddle explain: it names the order that each bug of the gallery needs (the `explain:` line of the program), and
nothing is left behind.

The programs fail in the first few runs of a hunt with two threads. Not here: those that need more threads or more luck
to fail (contest_bounded_buffer, pbzip2_order, contest_ping_pong, injected), one whose failure needs two changes of
order, which takes 600 reruns (contest_critical), one whose input is random (contest_buffer_writer), and one of whose
locks the compiler makes one (string_buffer).
"""
import json
import os
import re
import signal
import subprocess
import tempfile
import time

import cells
from harness import CANNOT, ROOT, USAGE, end_session

NONE = 1        # explain's exit status when it has found nothing
GALLERY = ('aget_progress', 'apache_log', 'apache_refcount', 'contest_account', 'contest_airline', 'contest_allocation', 'contest_bubble_sort',
           'contest_deadlock', 'contest_deadlock_exception', 'contest_file_writer', 'contest_linked_list', 'contest_loader', 'contest_manager',
           'contest_merge_sort', 'contest_random_numbers', 'lost_wakeup', 'memcached_incr', 'mozilla_cache', 'mysql_log_rotation', 'philosophers',
           'rcu_misuse', 'rwlock_upgrade')


def explain(t, *words, **more):
    return t.run([t.heddle, 'explain', *words], timeout=600, **more)


def failing(t, name):
    """A recording that failed."""
    source, trace = os.path.join(cells.BUGS, f'{name}.c'), t.path('failing')
    t.run_well([t.heddle, 'hunt', '-q', '--runs=2000', '-o', trace, '--', cells.program(t, source, 'races'), '2'], timeout=600)
    return source, trace


def nothing_left(t):
    left = [name for name in os.listdir(t.path('traces')) if name.startswith('.explain')]
    t.check(not left, f'left behind: {left}')


def right_pair(t, name):
    source, trace = failing(t, name)
    outcome = explain(t, '--json', trace)
    t.check(outcome.status == 0, f'{outcome}')
    found = json.loads(outcome.out)
    t.check(found['confirmed'], f'not confirmed: {outcome.out.decode()}')
    orders = [[(os.path.basename(o[side]['file']), o[side]['line']) for side in ('first', 'second')] for o in found['orders']]
    t.notes.append(f'{found["reruns"]} reruns: {orders}')
    file = os.path.basename(source)
    t.check(any(a == (file, first) and b == (file, second) for a, b in orders for pair in cells.expected_pairs(source)
                for first in pair[0] for second in pair[1]), f'found {orders}, expected one of {cells.expected_pairs(source)}')
    for o in found['orders']:
        t.check(o['first']['thread'] != o['second']['thread'], f'an order inside one thread: {o}')
    nothing_left(t)


def gallery_case(name):
    def case(t):
        right_pair(t, name)
    case.__doc__ = f'tests/bugs/{name}.c'
    return case


for _name in GALLERY:
    globals()[f'case_explain_{_name}'] = gallery_case(_name)


def case_explain_in_words(t):
    """The sentence that a person reads; and the smallest failing rerun is a recording like any other."""
    trace = failing(t, 'aget_progress')[1]
    outcome = explain(t, '-o', t.path('small'), trace)
    t.check(outcome.status == 0 and b'fails because read of counted (' in outcome.err and b' ran before write of counted (' in outcome.err and
            b'the other way round it passes' in outcome.err, f'{outcome}')
    again = t.replay(t.path('small'))
    t.check(again.status == 1 and b'FAILED' in again.out, f'the kept rerun: {again}')


def case_explain_kept_on_another_disk(t):
    """DIR is on another file system than the directory of traces; its name may end in a slash."""
    if not os.path.isdir('/dev/shm') or os.stat('/dev/shm').st_dev == os.stat(t.dir).st_dev:
        t.skip('there is no other file system in /dev/shm')
    trace = failing(t, 'aget_progress')[1]
    with tempfile.TemporaryDirectory(dir='/dev/shm', prefix='heddle-test-') as folder:
        outcome = explain(t, '-q', '-o', 'small/', trace, cwd=folder)
        again = t.replay(os.path.join(folder, 'small'))
        t.check(outcome.status == 0 and again.status == 1 and b'FAILED' in again.out, f'{outcome}; the kept rerun: {again}')
        t.check(os.listdir(folder) == ['small'], f'left behind: {os.listdir(folder)}')


def case_explain_a_hang(t):
    """Two threads that wait for each other's lock, for ever, in a program that heddle-cc has not built."""
    program = t.compile(os.path.join(ROOT, 'tests/debug/parts/hang.c'), name='debug/hang')
    t.run_well([t.heddle, 'hunt', '-q', '--timeout=3', '-o', t.path('trace'), '--', program], timeout=600)
    outcome = explain(t, t.path('trace'))
    t.check(outcome.status == 0 and re.search(rb'fails because lock of ([ab]) \(\S+hang\.c:\d+, thread [01]\) ran before lock of \1 \(', outcome.err),
            f'{outcome}')


def case_explain_a_crash_by_no_hang(t):
    """A crash, of a program that can hang, too: a rerun that hangs does not end as the recording did."""
    program = t.compile(os.path.join(ROOT, 'tests/debug/parts/hang.c'), name='debug/hang')
    recorded = t.record([program, t.path('been')])
    t.check(recorded.status == -signal.SIGABRT, f'recording: {recorded}')
    outcome = explain(t, '--runs=12', t.path('trace'))
    t.check(outcome.status == NONE and b'no explanation found' in outcome.err, f'{outcome}')


def case_explain_nothing(t):
    """A recording that ended well, one that fails in any order, and one with too few reruns."""
    t.record(['true'], trace=t.path('well'))
    outcome = explain(t, t.path('well'))
    t.check(outcome.status == CANNOT and b'nothing to explain' in outcome.err, f'{outcome}')
    t.record(['sh', '-c', 'exit 3'], trace=t.path('always'))
    outcome = explain(t, t.path('always'))
    t.check(outcome.status == NONE and b'fails although every thread runs on' in outcome.err, f'{outcome}')
    outcome = explain(t, '--runs=1', failing(t, 'aget_progress')[1])
    t.check(outcome.status == NONE and b'no explanation found in 1 reruns; more --runs may help' in outcome.err, f'{outcome}')
    nothing_left(t)


def case_explain_by_output(t):
    """A recording that ended well, whose output is wrong."""
    program = cells.program(t, os.path.join(cells.BUGS, 'aget_progress.c'), 'races')
    t.record(['sh', '-c', f'{program} 2; exit 0'], trace=t.path('by-shell'))
    outcome = explain(t, '--refuse=FAILED', t.path('by-shell'))
    t.check(outcome.status == NONE, f'processes that the program starts run freely: {outcome}')
    outcome = explain(t, '--expect=ok: 0', failing(t, 'aget_progress')[1])
    t.check(outcome.status == 0 and b'fails because' in outcome.err, f'{outcome}')


def case_explain_bad_input(t):
    t.record(['sh', '-c', 'exit 3'], trace=t.path('trace'))
    for words, status in ((['--runs=0', t.path('trace')], USAGE), (['--timeout=never', t.path('trace')], USAGE), ([t.path('trace'), 'x'], USAGE),
                          (['--expect=a', '--refuse=b', t.path('trace')], USAGE), ([t.path('missing')], CANNOT),
                          (['-o', t.path('trace'), t.path('trace')], CANNOT), (['-o', t.path('no', 'folder'), t.path('trace')], CANNOT),
                          (['-o', '', t.path('trace')], USAGE)):
        outcome = explain(t, *words)
        t.check(outcome.status == status and outcome.err.startswith(b'heddle: '), f'{words}: {outcome}')


def case_explain_program_is_gone(t):
    """The program that was recorded is not there any more: a clear word."""
    os.symlink('/bin/false', t.path('program'))
    t.record([t.path('program')], trace=t.path('trace'))
    os.unlink(t.path('program'))
    outcome = explain(t, t.path('trace'))
    t.check(outcome.status == CANNOT and b'could not be run again' in outcome.err, f'{outcome}')
    nothing_left(t)


def case_explain_interrupted(t):
    """Told to end during a rerun: neither the program nor files are left."""
    pid_file = t.path('pid')
    t.record(['sh', '-c', f'echo $$ >> {pid_file}; [ $(wc -l < {pid_file}) = 1 ] || sleep 300; exit 3'], trace=t.path('trace'))
    process = subprocess.Popen([t.heddle, 'explain', t.path('trace')], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=t.env, cwd=t.dir,
                               start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while len(open(pid_file).read().split()) < 2:
            t.check(time.monotonic() < deadline, 'the rerun does not start')
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGTERM)     # a shell in the background would have SIGINT ignored
        process.communicate(timeout=60)
    finally:
        end_session(process)
    t.check(process.returncode == -signal.SIGTERM, f'status {process.returncode}')
    t.check(not os.path.exists(f'/proc/{open(pid_file).read().split()[-1]}'), 'the program still runs')
    nothing_left(t)
