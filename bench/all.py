#!/usr/bin/env python3
"""All benchmarks, one after the other, and the report. What is done stays done: a run that was stopped goes on where it
was.

    python3 bench/all.py                all of it, about an hour on two cores
    python3 bench/all.py --quick        short loops, to see that it works, some minutes
    python3 bench/all.py --only=papers  the parts whose names contain this
    python3 bench/all.py --again        from the beginning
    python3 bench/all.py --keep         and put the figures into bench/results, where README's come from

Figures are in BUILD/bench/full (or quick): NAME.json, and NAME.txt for what was printed; report.html is made of them.
"""
import argparse
import datetime
import glob
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import kept

ROOT = kept.ROOT
KERNELS = [os.path.basename(p)[:-2] for p in sorted(glob.glob(f'{ROOT}/bench/programs/*.c'))]
QUICK_KERNELS = ['raytrace', 'scan']
EACH = '{kernel}'       # a part per kernel: what was stopped is lost for one of them only
HOW_MUCH = ('--percent=', '--seconds=', '--replays=')
# name: script and options
PARTS = {
    'calls': ['run.py', '--rounds=3'],
    'threads': ['threads.py', '--rounds=1'],
    'orders': ['orders.py', '--rounds=3'],
    'light': ['light.py', '--seconds=5'],
    'leap': ['leap.py', '--rounds=1'],
    'kernels2-{kernel}': ['kernels.py', '--rounds=2', '--threads=2', '--percent=20', '--only=^{kernel}$'],
    'kernels8-{kernel}': ['kernels.py', '--rounds=1', '--threads=8', '--percent=12', '--only=^{kernel}$'],
    'papers-{kernel}': ['papers.py', '--rounds=2', '--kernels={kernel}'],
    'races-{kernel}': ['races.py', '--rounds=2', '--only=^{kernel}$'],
    'peers-{kernel}': ['peers.py', '--only=^{kernel}$'],
    'gallery': ['gallery.py', '--replays=10'],
}


def parts(quick):
    """(name, command) of each. How much of it is the full run's; --quick has its own."""
    for name, command in PARTS.items():
        for kernel in (QUICK_KERNELS if quick else KERNELS) if EACH in name else ['']:
            words = [word for word in command if not quick or not word.startswith(HOW_MUCH)]
            words = ['--rounds=1' if quick and word.startswith('--rounds=') else word for word in words]
            yield name.format(kernel=kernel), [word.replace(EACH, kernel) for word in words]


def digest(build):
    """Of what is measured, and of what measures: figures of another state are not taken for this one's."""
    sha = hashlib.sha256()
    for path in [*(os.path.join(build, name) for name in ('bin/heddle', 'bin/heddle-cc', 'lib/heddle/heddle-pass.so')),
                 *sorted(glob.glob(f'{build}/lib/heddle/*')), *sorted(glob.glob(f'{ROOT}/bench/*.py') + glob.glob(f'{ROOT}/bench/programs/*'))]:
        if os.path.isfile(path):
            with open(path, 'rb') as file:
                sha.update(file.read())
    return sha.hexdigest()


def lasting(seconds):
    return f'{int(seconds) // 60} min {int(seconds) % 60:2} s' if seconds >= 60 else f'{seconds:.0f} s'


class Progress:
    """A line that tells which part is under way, for how long, and the last line that it printed: on a terminal
    only."""

    def __init__(self, count):
        self.count, self.began, self.shown = count, time.monotonic(), sys.stdout.isatty()

    def show(self, number, name, began, last):
        if self.shown:
            width = shutil.get_terminal_size().columns
            text = f'[{number}/{self.count}] {name}, {lasting(time.monotonic() - began)}, {lasting(time.monotonic() - self.began)} in all: {last}'
            print('\r\033[K' + text[:width - 1], end='', flush=True)

    def done(self, number, name, began, how):
        print(('\r\033[K' if self.shown else '') + f'[{number}/{self.count}] {name}: {how}, {lasting(time.monotonic() - began)}; '
              f'{lasting(time.monotonic() - self.began)} in all', flush=True)


def last_line(path):
    with open(path, 'rb') as file:
        lines = file.read()[-400:].decode(errors='replace').strip().split('\n')
    return lines[-1] if lines else ''


def run_part(command, text, progress, number, name):
    """Whether it went well."""
    began = time.monotonic()
    with open(text, 'w') as out:
        process = subprocess.Popen([sys.executable, *command], stdout=out, stderr=subprocess.STDOUT, cwd=ROOT)
        try:
            while process.poll() is None:
                progress.show(number, name, began, last_line(text))
                time.sleep(0.5)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    progress.done(number, name, began, 'done' if process.returncode == 0 else f'failed ({process.returncode}): {last_line(text)}')
    return process.returncode == 0


def begin(folder, build, again):
    """Figures of an older state are put away."""
    stamp, now = os.path.join(folder, 'of'), digest(build)
    if os.path.exists(stamp):
        with open(stamp) as file:
            again = again or file.read() != now
    if again:
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
    with open(stamp, 'w') as file:
        file.write(now)


def keep(folder):
    place = os.path.join(kept.KEPT, f'{datetime.date.today().isoformat()}-{platform.machine()}')
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    for path in glob.glob(f'{folder}/*.json'):
        shutil.copy(path, place)
    print(f'kept in {os.path.relpath(place, ROOT)}')


def options():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--quick', action='store_true', help='short loops, few kernels: to see that it works')
    parser.add_argument('--only', default='', metavar='REGEX', help='only these parts')
    parser.add_argument('--again', action='store_true', help='forget what was measured')
    parser.add_argument('--keep', action='store_true', help='put the figures into bench/results')
    settings = parser.parse_args()
    settings.build = os.path.abspath(settings.build)
    return settings


def main():
    settings = options()
    folder = os.path.join(settings.build, 'bench', 'quick' if settings.quick else 'full')
    begin(folder, settings.build, settings.again)
    chosen = [(name, command) for name, command in parts(settings.quick) if re.search(settings.only, name)]
    if not chosen:
        sys.exit(f'bench: no part is called {settings.only!r}; there are: {", ".join(name for name, _ in parts(settings.quick))}')
    progress, failed = Progress(len(chosen)), []
    for number, (name, (script, *words)) in enumerate(chosen, 1):
        out = os.path.join(folder, name)
        if os.path.exists(out + '.json'):
            continue
        command = [os.path.join(ROOT, 'bench', script), f'--build={settings.build}', f'--json={out}.json', *words, *(['--quick'] if settings.quick else [])]
        if not run_part(command, out + '.txt', progress, number, name):
            failed.append(name)
    page = os.path.join(folder, 'report.html')
    subprocess.run([sys.executable, f'{ROOT}/bench/report.py', f'--results={folder}', f'--output={page}'], check=True)
    if settings.keep:
        keep(folder)
    if failed:
        sys.exit(f'bench: {len(failed)} parts failed: {", ".join(failed)}; what they printed is in {folder}/NAME.txt. The same command tries them again.')
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit('\nbench: stopped; the same command goes on from here')
