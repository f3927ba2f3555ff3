"""The racy programs of tests/bugs, and the kernels of bench/: no race of theirs may be at a site that an analysis
leaves out. Programs whose replay is only measured are left alone: what they show may be of another run than the
recorded one."""
import glob
import os

import cells
import golden
from harness import ROOT


def is_measured(source):
    with open(source) as file:
        return ' measured=' in file.read()


def make(source, args, long=False):
    def case(t):
        golden.check_left_out(t, source, args, range(t.count(1, 5)) if long else None)
    case.only_soak = cells.is_gallery(source)     # there are many, and they are alike
    return case


for path in sorted(glob.glob(f'{ROOT}/bench/programs/*.c')):
    globals()['case_kernel_' + os.path.basename(path)[:-2]] = make(path, ['2', '1', '5'], long=True)
for path in sorted(glob.glob(f'{ROOT}/tests/bugs/*.c') + glob.glob(f'{ROOT}/tests/bugs/*.cpp')):
    if not is_measured(path):
        globals()['case_bugs_' + os.path.splitext(os.path.basename(path))[0]] = make(path, ['4'])
