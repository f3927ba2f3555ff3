"""The tool itself, built with gcc's sanitizers, under the other tests of this folder."""
import os
import sys

from harness import ROOT


def case_sanitized(t):
    """Bad input, damaged traces, full disks: no access beyond its bounds and no undefined step on the way to the
    message."""
    build = os.path.join(t.settings.build, 'sanitized')
    t.run_well(['make', '-s', '-C', ROOT, f'BUILD={build}', 'SANITIZE=address,undefined'], timeout=3600)
    outcome = t.run([sys.executable, os.path.join(ROOT, 'tests', 'run.py'), f'--build={build}', '--replays=2', '-j1', '--only=^hostile/'],
                    timeout=4 * 3600, env=dict(os.environ, **t.env))
    t.check(outcome.status == 0, f'{outcome}\n{outcome.out.decode(errors="replace")[-5000:]}')


case_sanitized.only_soak = True
