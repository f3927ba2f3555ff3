"""The racy programs of tests/bugs: none of their races may be at a site that an analysis leaves out. Those whose replay is
only measured are left alone: what they show may be of another run than the recorded one."""
import glob
import os

import golden
from harness import ROOT


def is_measured(source):
    with open(source) as file:
        return ' measured=' in file.read()


def make(source):
    def case(t):
        golden.check_left_out(t, source, ['4'])
    return case


for path in sorted(glob.glob(f'{ROOT}/tests/bugs/*.c') + glob.glob(f'{ROOT}/tests/bugs/*.cpp')):
    if not is_measured(path):
        globals()['case_bugs_' + os.path.splitext(os.path.basename(path))[0]] = make(path)
