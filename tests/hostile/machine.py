"""Faults of the machine: a disk with errors, memory that runs out, clocks that jump. What was recorded replays up to its
last event, and says so."""
import contextlib
import os
import shutil
import signal
import subprocess

from harness import CANNOT, ROOT

READS = ['sh', '-c', 'i=0; while [ $i -lt 60 ]; do head -c 300000 /dev/urandom | cksum; i=$((i+1)); done; exit 5']


def faulty(t, **how):
    """The environment in which heddle has such a machine."""
    library = t.compile(os.path.join(ROOT, 'tests', 'hostile', 'parts', 'machine.c'), ['-shared', '-fPIC', '-ldl'], 'hostile/machine.so')
    return dict(t.env, LD_PRELOAD=library, **how)


def shows_all(t, outcome):
    """The replay shows all that is in the trace, which is a beginning of what was printed: also what processes wrote that
    come to it later than the first one to its end."""
    recorded = t.run_well([t.heddle, 'dump', t.path('trace')]).out.count(b'[stdout, ')
    again = t.replay(offline=False)
    t.check(again.status == 0 and outcome.out.startswith(again.out), f'replay: {again}')
    t.check(again.out.count(b'\n') == recorded > 0, f'{recorded} lines are in the trace, {again.out!r} was shown')


# ---- a disk with errors ----------------------------------------------------------------------------------------------

def case_disk_with_errors(t):
    """The program is ended, with what the disk said, and the trace is whole up to there."""
    outcome = t.record(READS, env=faulty(t, EIO_AFTER='4000000'), timeout=120)
    t.check(outcome.status == CANNOT and b'Input/output error' in outcome.err, f'{outcome}')
    shows_all(t, outcome)


def case_disk_with_an_error_detach(t):
    """One write is refused: the program goes on unrecorded, to its own end."""
    outcome = t.record(READS, options=['--on-full=detach'], env=faulty(t, EIO_AFTER='4000000', EIO_TIMES='1'), timeout=120)
    t.check(outcome.status == 5 and outcome.out.count(b'\n') == 60 and b'unrecorded' in outcome.err, f'{outcome}')
    shows_all(t, outcome)


def case_disk_with_errors_detach(t):
    """Not even what is left in memory can be written: the program is ended here, too, and the rest is found later."""
    outcome = t.record(READS, options=['--on-full=detach'], env=faulty(t, EIO_AFTER='4000000'), timeout=120)
    t.check(outcome.status == CANNOT and b'Input/output error' in outcome.err and b'tries again' in outcome.err, f'{outcome}')
    shows_all(t, outcome)


def case_disk_with_two_errors_detach(t):
    """Of what is left in memory a part is written before the disk refuses another: that part is not written again."""
    for passed in ('1', '2'):
        shutil.rmtree(t.path('trace'), ignore_errors=True)
        outcome = t.record(READS, options=['--on-full=detach'], env=faulty(t, EIO_AFTER='4000000', EIO_TIMES='2', EIO_BUT=passed), timeout=120)
        t.check(outcome.status == CANNOT and b'Input/output error' in outcome.err, f'{outcome}')
        t.check(b'not finished' not in outcome.err, f'{outcome}')
        shows_all(t, outcome)


def case_disk_with_errors_at_once(t):
    """Not even the first bytes: a message, and no program that runs on alone."""
    outcome = t.record(READS, env=faulty(t, EIO_AFTER='0'), timeout=120)
    t.check(outcome.status == CANNOT and b'Input/output error' in outcome.err, f'{outcome}')


# ---- memory ----------------------------------------------------------------------------------------------------------

GROWS = 'import os\nkept = []\nwhile True:\n    kept.append(bytearray(1 << 20))\n    os.write(1, b"%d\\n" % len(kept))\n'


@contextlib.contextmanager
def little_memory(t, megabytes):
    """A control group; processes get into it by writing their id to the file `procs`."""
    t.need_root()
    for top, limit in (('/sys/fs/cgroup/memory', 'memory.limit_in_bytes'), ('/sys/fs/cgroup', 'memory.max')):
        group = os.path.join(top, f'heddle-test-{os.getpid()}')
        try:
            os.mkdir(group)
        except OSError:
            continue
        if os.path.exists(os.path.join(group, limit)):
            break
        os.rmdir(group)
    else:
        t.skip('no control groups for memory here')
    try:
        for name, value in ((limit, megabytes << 20), ('memory.memsw.limit_in_bytes', megabytes << 20), ('memory.swap.max', 0)):
            if os.path.exists(os.path.join(group, name)):
                with open(os.path.join(group, name), 'w') as file:
                    file.write(str(value))
        yield os.path.join(group, 'cgroup.procs')
    finally:
        subprocess.run(['rmdir', group], stderr=subprocess.DEVNULL)


def case_out_of_memory(t):
    """The kernel kills the program, and perhaps heddle; the replay, which has memory, comes as far."""
    with little_memory(t, 150) as procs:
        outcome = t.run(['sh', '-c', f'echo $$ > {procs} && exec "$@"', 'sh', t.heddle, 'record', '-o', t.path('trace'), '--', 'python3', '-S', '-c', GROWS],
                        timeout=120)
    t.check(outcome.status == -signal.SIGKILL and outcome.out.count(b'\n') > 20, f'{outcome}')
    again = t.replay(offline=False)
    t.check(again.status in (0, -signal.SIGKILL) and outcome.out.startswith(again.out), f'replay: {again}')
    lost = outcome.out.count(b'\n') - again.out.count(b'\n')
    t.check(lost <= 1, f'{lost} lines are lost')        # it may have been killed between a write and its entry


# ---- clocks ----------------------------------------------------------------------------------------------------------

CLOCKS = ('import time\nfor i in range(300):\n    print(time.time_ns(), time.monotonic_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME))\n'
          '    time.sleep(0.001)\n')


def case_clock_jumps(t):
    """The time of day goes a day ahead and back whenever heddle or the program asks for it, in recording and replay."""
    t.env = faulty(t, CLOCK_JUMPS='1')
    t.reproduce(['python3', '-S', '-c', CLOCKS], varies=True)


def case_clock_of_another_machine(t):
    """Recorded where the machine has run for two months, replayed where it has not, and the other way round."""
    elsewhere = ['unshare', '-fT', '--monotonic=5000000', '--boottime=5000000']
    t.need_root()
    if t.run([*elsewhere, 'true']).status:
        t.skip('no time namespaces here')
    for record, replay in (([], elsewhere), (elsewhere, [])):
        shutil.rmtree(t.path('trace'), ignore_errors=True)
        recorded = t.run([*record, t.heddle, 'record', '--checksum', '-o', t.path('trace'), '--', 'python3', '-S', '-c', CLOCKS])
        again = t.run([*replay, t.heddle, 'replay', t.path('trace')])
        t.check(recorded.status == again.status == 0 and recorded.out == again.out and recorded.out, f'recorded: {recorded}; replayed: {again}')
