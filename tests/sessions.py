"""What the tests of debuggers share: programs, recordings that fail, and the replay that a debugger connects to."""
import os
import shutil
import subprocess

from harness import ROOT, end_session, read_until
from servers import free_port


def line_of(source, text):
    with open(source) as file:
        return next(n for n, line in enumerate(file, 1) if text in line)


def build(t, source, *flags):
    """By heddle-cc without optimisation, so that every variable can be named."""
    program = t.path(os.path.splitext(os.path.basename(source))[0])
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '-O0', '-g', '-pthread', '--select=all', *flags, '-o', program, source],
               timeout=120)
    return program


def hunt(t, program, *arguments):
    t.run_well([t.heddle, 'hunt', '--runs=500', '--quiet', '-o', t.path('trace'), '--', program, *arguments], timeout=300)
    t.hint = f'{t.heddle} replay --gdb {t.path("trace")}'
    return t.path('trace')


def documented(name):
    """The lines behind a mark in doc/debugging.md."""
    with open(os.path.join(ROOT, 'doc', 'debugging.md')) as file:
        lines = file.read().split(f'<!-- {name} -->\n')[1].split('\n\n')[0].splitlines()
    return '\n'.join(line[4:] for line in lines) + '\n'


class Server:
    """heddle replay --gdb-port"""

    def __init__(self, t, trace):
        if not shutil.which('gdbserver'):
            t.skip('gdbserver is not there')
        self.port = free_port()
        self.process = subprocess.Popen([t.heddle, 'replay', f'--gdb-port={self.port}', trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, env=t.env, cwd=t.dir, start_new_session=True)
        self.said = read_until(self.process, b'target remote')
        t.check(b'target remote' in self.said, f'it says {self.said!r}')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_session(self.process)
