"""Disks that are too small for the trace: the recording ends whole, and the program as --on-full says."""
import contextlib
import os
import signal
import subprocess

from harness import CANNOT, ROOT, USAGE
from lines import lines_by_thread, lost_of_threads

FILL = 'while :; do head -c 1000000 /dev/urandom; done > /dev/null'


@contextlib.contextmanager
def small_disk(t, megabytes):
    t.need_root()
    disk = t.folder('disk')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={megabytes}m', 'tmpfs', disk], stderr=subprocess.DEVNULL).returncode:
        t.skip('no mount here')
    try:
        yield disk
    finally:
        subprocess.run(['umount', '-l', disk])


def case_stop(t):
    """A recording that fills its disk ends with a message, and what was written is replayable."""
    with small_disk(t, 12) as disk:
        outcome = t.record(['sh', '-c', f'echo first; {FILL}'], trace=f'{disk}/trace', timeout=120)
        t.check(outcome.status == CANNOT and b'heddle:' in outcome.err and b'full' in outcome.err, f'{outcome}')
        t.check(b'Bus error' not in outcome.err, 'a recorded process died of SIGBUS instead of being stopped')
        again = t.replay(f'{disk}/trace')
        t.check(again.status == 0 and again.out == b'first\n' and b'heddle: the recording ends here' in again.err, f'replay: {again}')


def detached(t, disk, argv, status, options=()):
    """Records with a disk that is too small: the program goes on to its end. Returns what it printed, and its
    replay."""
    outcome = t.record(argv, trace=f'{disk}/trace', options=['--on-full=detach', *options], timeout=120)
    t.check(outcome.status == status and b'unrecorded' in outcome.err, f'{outcome}')
    stat = t.run([t.heddle, 'stat', f'{disk}/trace'])
    t.check(stat.status == 0 and b'detached' in stat.out, f'stat: {stat}')
    t.check(not [name for name in os.listdir(f'{disk}/trace') if name.endswith('.ring') or name == 'control'],
            f'left over: {os.listdir(f"{disk}/trace")}')
    again = t.replay(f'{disk}/trace', offline=False, timeout=120)
    t.check(again.status == 0, f'replay: {again}')
    return outcome, again


def case_detach_processes(t):
    """The shell and its children go on, and new ones start; their statuses are their own, and so is the last one."""
    script = ('for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do\n'
              'head -c 1000000 /dev/urandom | wc -c; (exit $i); echo "$i $?"; done; kill -USR1 $$')
    with small_disk(t, 32) as disk:
        outcome, again = detached(t, disk, ['sh', '-c', script], -signal.SIGUSR1)
        lines = ''.join(f'1000000\n{i} {i}\n' for i in range(1, 31)).encode()
        t.check(outcome.out == lines, f'the program printed something else: {outcome.out!r}')
        t.check(lines.startswith(again.out) and b'1000000\n1 1\n' in again.out and again.out != lines,
                f'the replay printed {again.out!r}')


def case_detach_threads(t):
    """Threads in locks and waits at that moment: the replay of each ends at its own last event, as after a kill."""
    program = t.compile(os.path.join(ROOT, 'tests', 'hostile', 'parts', 'filling.c'), name='hostile/filling')
    with small_disk(t, 32) as disk:
        outcome, again = detached(t, disk, [program], 7)
        t.check(outcome.out.endswith(b'after by another program\n'), f'its end is missing: {outcome.out[-200:]!r}')
        printed = b''.join(line for line in outcome.out.splitlines(True) if not line.startswith(b'after'))
        text = lost_of_threads(printed, 0, again.out)
        t.check(not text, text)
        t.check(len(lines_by_thread(again.out)) == 4, f'only these threads were replayed: {list(lines_by_thread(again.out))}')


def case_detach_saved_file(t):
    """A file that the program maps, and for whose copy there is no room."""
    with open(t.path('large'), 'wb') as file:
        file.truncate(64 << 20)
    program = ('import mmap, os\nprint("before", flush=True)\n'
               'with open("large", "rb") as f: m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)\n'
               'print("after", len(m), os.system("exit 5") >> 8, flush=True)\nos._exit(9)\n')
    with small_disk(t, 40) as disk:
        outcome, again = detached(t, disk, ['python3', '-S', '-c', program], 9)
        t.check(outcome.out == b'before\nafter 67108864 5\n', f'{outcome.out!r}')
        t.check(again.out == b'before\n', f'the replay printed {again.out!r}')


def case_on_full_is_checked(t):
    outcome = t.record(['true'], options=['--on-full=perhaps'])
    t.check(outcome.status == USAGE and b'--on-full' in outcome.err, f'{outcome}')


def case_max_rate(t):
    """A program that logs faster than it may is slowed down, and told; one that does not is left alone."""
    t.need_option('record', '--max-rate')
    program = 'import os\nfor i in range(48): os.write(1, b"%d\\n" % os.urandom(250000)[7])\n'       # 12 MB, which do not shrink
    slow = t.record(['python3', '-S', '-c', program], options=['--max-rate=4M'], timeout=120)
    t.check(slow.status == 0 and b'slowed down by --max-rate' in slow.err, f'{slow}')
    t.check(slow.seconds > 1.2, f'12 MB at 4 MB a second took {slow.seconds} s')        # a second's worth at once, and what is in the ring
    t.replays(slow)
    quick = t.record(['python3', '-S', '-c', program], options=['--max-rate=1G'], trace=t.path('quick'), timeout=120)
    t.check(quick.status == 0 and b'slowed' not in quick.err, f'{quick}')
    for wrong in ('0', '1k', 'x', '5X', '-1M'):
        outcome = t.record(['true'], options=[f'--max-rate={wrong}'], trace=t.path('wrong'))
        t.check(outcome.status == USAGE and b'--max-rate' in outcome.err, f'{wrong}: {outcome}')
