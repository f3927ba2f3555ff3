"""The tests' own runner: what is over its time, or stopped by Ctrl-C, leaves no process behind."""
import glob
import os
import signal
import subprocess
import sys
import time

from harness import ROOT, Failure, end_session


def runs(word):
    """Does a process have this argument?"""
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            with open(path, 'rb') as file:
                if word.encode() in file.read().split(b'\0'):
                    return True
        except OSError:
            pass
    return False


def case_over_its_time(t):
    """Also what has gone to a session of its own."""
    mark = f'{1000 + os.getpid()}.{time.monotonic_ns() % 10**9:09}'
    try:
        t.run(['sh', '-c', f'setsid sleep {mark} & wait'], timeout=1)
    except Failure:
        t.check(not runs(mark), 'a process is left')
        return
    raise Failure('nothing was over its time')


def case_interrupted(t):
    """At once, and not after the cases that have begun. Also where whoever started these tests ignores SIGINT."""
    argv = ['env', '--default-signal=INT', sys.executable, os.path.join(ROOT, 'tests', 'run.py'), f'--build={t.settings.build}', '-j1', '--only=^hostile/at_random_moments']
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(t.env, TMPDIR=t.dir), start_new_session=True)
    try:
        while not glob.glob(t.path('heddle-test-*', 'hostile-*')) and process.poll() is None:
            time.sleep(0.1)         # until its case has begun
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=5)
        t.check(process.returncode == 130 and b'stopped' in said, f'exit {process.returncode}: {said!r}')
    except subprocess.TimeoutExpired:
        raise Failure('it goes on') from None
    finally:
        end_session(process)
