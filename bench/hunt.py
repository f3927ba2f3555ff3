#!/usr/bin/env python3
"""heddle hunt on the bug gallery (tests/bugs): how often each bug shows natively, recorded, and in a hunt, and how long
the hunt takes.

A bug is rare if natively fewer than 1 of 500 runs show it; native runs end as soon as it cannot be rare any more. Two
threads, one round and no common start make most of them rare. A hunt has a minute, on all cores. The table is Markdown.
"""
import argparse
import glob
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import gallery
import hooked
from hooked import ROOT

RARE = 500
ARGUMENTS = '2 1 apart' # threads, rounds, and see bugs.h
OWN = {'contest_bounded_buffer': '4 1 apart'}   # two threads cannot show it


class Hunt(gallery.Gallery):
    def native(self, program):
        """Failures, and of how many runs."""
        failed = done = 0
        while done < self.settings.runs and failed * RARE < self.settings.runs:
            failed += gallery.fails(gallery.run([program, *self.settings.threads.split()])[0])
            done += 1
        return failed, done

    def hunted(self, program, seed):
        """(run that failed, seconds), or None: not within a minute."""
        trace = os.path.join(self.work, f'hunted-{os.path.basename(program)}-{seed}')
        begun = time.monotonic()
        done = subprocess.run([self.heddle, 'hunt', '--minutes=1', f'--chaos={seed}', '-o', trace, '--', program, *self.settings.threads.split()],
                              stdin=subprocess.DEVNULL, capture_output=True)
        subprocess.run(['rm', '-rf', trace], check=True)
        found = re.search(rb'heddle: run (\d+) ', done.stderr)
        return (int(found.group(1)), time.monotonic() - begun) if done.returncode == 0 and found else None

    def row(self, source):
        program = self.program(source)
        self.settings.threads = self.settings.arguments or OWN.get(os.path.basename(program), ARGUMENTS)
        native, runs = self.native(program)
        recorded = self.recorded(program, False)[0]
        hunts = [self.hunted(program, 1 + 100000 * n) for n in range(self.settings.hunts)]
        found = [h for h in hunts if h]
        return {'arguments': self.settings.threads, 'native': f'{native} of {runs}', 'recorded': f'{recorded} of {self.settings.recordings}',
                'hunts': f'{len(found)} of {len(hunts)}',
                'hunt: 1 of runs': str(round(statistics.mean(h[0] for h in found))) if found else '',
                'hunt: seconds': f'{statistics.median(h[1] for h in found):.1f}' if found else ''}, native, len(found) == len(hunts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--arguments', help=f"of all the programs: threads, and for most of them how many rounds ('{ARGUMENTS}')")
    parser.add_argument('--runs', type=int, help=f'native ({4 * RARE}; quick: 5)')
    parser.add_argument('--recordings', type=int, help='20; quick: 3')
    parser.add_argument('--hunts', type=int, help='5; quick: 1')
    parser.add_argument('--quick', action='store_true', help='to see that it works')
    parser.add_argument('--only', metavar='NAME,NAME')
    settings = parser.parse_args()
    settings.runs = settings.runs or (5 if settings.quick else 4 * RARE)
    settings.recordings = settings.recordings or (3 if settings.quick else 20)
    settings.hunts = settings.hunts or (1 if settings.quick else 5)
    settings.replays = 0
    sources = [s for s in sorted(glob.glob(f'{ROOT}/tests/bugs/*.c')) if hooked.cells.is_gallery(s)]
    if settings.only:
        sources = [s for s in sources if os.path.basename(s)[:-2] in settings.only.split(',')]
    rare = found = 0
    with tempfile.TemporaryDirectory(prefix='heddle-bench-') as work:
        hunt = Hunt(settings, work)
        for number, source in enumerate(sources):
            row, native, always = hunt.row(source)
            if not number:
                print('| bug | ' + ' | '.join(row) + ' |\n' + '|---' * (len(row) + 1) + '|')
            print(f'| {os.path.basename(source)[:-2]} | ' + ' | '.join(row.values()) + ' |', flush=True)
            rare += native * RARE < settings.runs
            found += native * RARE < settings.runs and always
    print(f'\n{rare} of {len(sources)} bugs are rare natively (fewer than 1 of {RARE} runs); every hunt found {found} of those in a minute')
    return 0


if __name__ == '__main__':
    sys.exit(main())
