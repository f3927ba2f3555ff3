"""The tool itself, built with gcc's sanitizers, under the other tests of this folder; and under valgrind."""
import os
import shutil
import sys

import cells
from harness import ROOT


def under(t, sanitizers, folder, pattern):
    """A build of its own, and these tests with it: none may fail."""
    build = os.path.join(t.settings.build, folder)
    t.run_well(['make', '-s', '-C', ROOT, f'BUILD={build}', f'SANITIZE={sanitizers}'], timeout=3600)
    outcome = t.run([sys.executable, os.path.join(ROOT, 'tests', 'run.py'), f'--build={build}', '--replays=2', '-j1', f'--only={pattern}'],
                    timeout=4 * 3600, env=dict(os.environ, **t.env))
    t.check(outcome.status == 0, f'{outcome}\n{outcome.out.decode(errors="replace")[-5000:]}')


def case_sanitized(t):
    """Bad input, damaged traces, full disks: no access beyond its bounds and no undefined step on the way to the
    message. Not under libraries that fail writes or move the clock, nor under valgrind: ASan wants to be the first."""
    under(t, 'address,undefined', 'sanitized', '^hostile/(?!disk_with|clock_jumps|valgrind)')


def case_sanitized_threads(t):
    """The threads of heddle: the packer, who keeps a ring short, and who unpacks long streams while they are replayed."""
    under(t, 'thread', 'sanitized-threads', '^hostile/(stop|detach|max_rate|disk|long|at_random)|^threads/ring|^threads/(mutex|barrier)_normal')


case_sanitized.only_soak = True
case_sanitized_threads.only_soak = True


def case_valgrind(t):
    """What reads traces and programs, under memcheck."""
    if not shutil.which('valgrind'):
        t.skip('valgrind is not installed (tools/setup test)')
    program = cells.program(t, os.path.join(cells.BUGS, 'lost_update.c'), 'races')
    t.record([program, '4'], options=['--checksum'])
    for words in (['dump'], ['dump', '--json'], ['stat'], ['stat', '--json'], ['ls'], ['pack', '-o', t.path('packed'), t.path('trace')]):
        trace = [] if words[0] in ('ls', 'pack') else [t.path('trace')]
        t.run_well(['valgrind', '-q', '--error-exitcode=99', '--child-silent-after-fork=yes', t.heddle, *words, *trace], timeout=300)
    for words in (['dump', '--sites'], ['races'], ['doctor']):
        t.run_well(['valgrind', '-q', '--error-exitcode=99', '--child-silent-after-fork=yes', t.heddle, *words, program], timeout=300)
