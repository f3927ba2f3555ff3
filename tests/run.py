#!/usr/bin/env python3
"""Run Heddle's tests. The folders are the registry: a new file is a new test. See tests/README.md."""
import argparse
import concurrent.futures
import glob
import importlib.util
import inspect
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import campaign                                            # noqa: E402
import cells                                               # noqa: E402
import golden                                              # noqa: E402
from harness import ROOT, Failure, Lost, Skip, Trial, descendants, kill, shorten   # noqa: E402

SANITIZERS = {'plain': [], 'asan': ['-fsanitize=address'], 'ubsan': ['-fsanitize=undefined', '-fno-sanitize-recover=all']}


class Case:
    def __init__(self, folder, name, function, *, variant='', quick=False, known_failure=None, measured=None):
        self.id = f'{folder}/{name}' + (f'[{variant}]' if variant else '')
        self.folder, self.function, self.quick, self.known_failure = folder, function, quick, known_failure
        self.measured = measured
        self.batch = 0
        self.verdict, self.text, self.seconds, self.times, self.notes, self.hint = None, '', 0, {}, [], None
        self.recordings, self.replays, self.lost = 0, 0, False


# ---- finding the cases ---------------------------------------------------------------------------------------------

OPTIONS_HERE = f'options-{platform.machine()}'      # a key of the run: line


def run_line(source):
    """The `run:` line of a program's first comment, as a dictionary: key=value, or a bare key."""
    with open(source, errors='replace') as file:
        head = file.read(8000)
    found = re.search(r'^\s*(?://|\*|/\*)\s*run:[ \t]*(.*?)\s*(?:\*/)?$', head, re.M)
    words = [w.partition('=') for w in shlex.split(found.group(1))] if found else []
    known = {'args', 'status', 'signal', 'stdin', 'static', 'no-checksum', 'known-failure', 'measured', 'flags', 'sources', 'same',
             'varies', 'options-aarch64', 'options-x86_64', 'check', 'timeout', 'options', 'root', 'no-plain', 'fails', 'gallery',
             'heddle-cc', 'our-addresses', 'needs'}
    for key, _, _ in words:
        if key not in known:
            sys.exit(f'{source}: unknown key {key} in its run: line (known: {" ".join(sorted(known))})')
    keys = {key: value for key, _, value in words}
    return {**keys, 'options': f'{keys.get("options", "")} {keys.get(OPTIONS_HERE, "")}'}


# How the programs of a folder are recorded besides the usual way: a name and options for `heddle record`.
VARIANTS = {
    'syscalls': [('no-patch', ['--no-patch'])],
    'threads': [('chaos 1', ['--chaos=1']), ('chaos 2', ['--chaos=2'])],
}
SOAK_VARIANTS = {'threads': [(f'chaos {n}', [f'--chaos={n}']) for n in range(3, 11)] + [('no-patch', ['--no-patch'])]}
VARIANTS['openmp'], SOAK_VARIANTS['openmp'] = VARIANTS['threads'][:1], SOAK_VARIANTS['threads'][:-1]
# How they are built, where not by gcc alone: a name, the compiler (of ours, if heddle-), more flags.
BUILDS = {
    'openmp': [('libgomp', 'gcc', ['-fopenmp']), ('libomp', 'heddle-cc', ['-fopenmp', '--select=all']),
               ('libomp races', 'heddle-cc', ['-fopenmp', '--select=races'])],
}


def compiled(trial, source, flags, build):
    """The program under its own name, in a folder of its own for each way to build it."""
    if not build:
        return trial.compile(source, flags)
    how, compiler, more = build
    name = os.path.splitext(os.path.relpath(source, os.path.join(ROOT, 'tests')))[0]
    own = os.path.join(trial.settings.build, 'bin', compiler)
    return trial.compile(source, [*flags, *more], f'{os.path.dirname(name)}/{how}/{os.path.basename(name)}',
                         own if compiler.startswith('heddle-') else compiler)


def program_cases(folder, source, every):
    """A C or C++ program: run, record, replay; once more for every build and variant of its folder, soak's if `every`."""
    name = os.path.splitext(os.path.basename(source))[0]
    keys = run_line(source)
    status = -int(keys['signal']) if 'signal' in keys else int(keys.get('status', 0))

    def function(trial, build, options):
        if 'root' in keys:
            trial.need_root()
        if 'needs' in keys:
            trial.need_of_machine(keys['needs'])
        for option in options:
            trial.need_option('record', option.partition('=')[0])
        flags = shlex.split(keys.get('flags', '')) + (['-static'] if 'static' in keys else [])
        program = compiled(trial, source, flags, build)
        if 'no-checksum' in keys:
            trial.notes.append('no checksum: ' + keys['no-checksum'])
        trial.reproduce([f'./{name}', *shlex.split(keys.get('args', ''))],
                        make=lambda folder: trial.copy_program(program, folder), stdin=keys.get('stdin', '').encode(),
                        status=status, checksum='no-checksum' not in keys, same='same' in keys, varies='varies' in keys,
                        timeout=int(keys.get('timeout', 60)), plain='no-plain' not in keys,
                        options=[*options, *shlex.split(keys.get('options', ''))])

    more = VARIANTS.get(folder, []) + (SOAK_VARIANTS.get(folder, []) if every else [])
    for build in BUILDS.get(folder, [None]):
        if build and 'heddle-cc' in keys and build[1] != 'heddle-cc':
            continue
        for variant, options in [('', []), *more]:
            yield Case(folder, name, lambda trial, build=build, options=options: function(trial, build, options),
                       variant=' '.join([build[0] if build else '', variant]).strip(), quick='check' in keys and not variant,
                       known_failure=keys.get('known-failure'), measured=keys.get('measured'))


def bug_cases(source, number, every, build):
    """A racy program: a case for every order; see cells.py."""
    name = os.path.splitext(os.path.basename(source))[0]
    keys = run_line(source)
    for variant, function, quick in cells.bug_cells(source, number, keys, every, build):
        yield Case('bugs', name, function, variant=variant, quick=quick, known_failure=keys.get('known-failure'),
                   measured=keys.get('measured'))


def golden_cases(source):
    """A program whose races are known: see golden.py."""
    name, keys = os.path.basename(source), run_line(source)
    for variant, function, records in golden.cases(source):
        yield Case('races', name, lambda trial, function=function: function(trial, source), variant=variant, quick='check' in keys,
                   known_failure=keys.get('known-failure') if records else None)


def unit_cases(source):
    name = os.path.splitext(os.path.basename(source))[0]
    keys = run_line(source)

    def function(trial, flags):
        program = trial.path(name)
        if 'our-addresses' in keys and flags == SANITIZERS['asan'] and platform.machine() == 'x86_64':
            trial.skip('the heap of AddressSanitizer lies there where our tables do')
        trial.run_well(['gcc', '-std=gnu17', '-O1', '-g', '-Wall', '-DHEDDLE_TOOL', '-I.', *flags, '-o', program, source,
                        *shlex.split(keys.get('sources', '')), *shlex.split(keys.get('flags', '')),
                        '-pthread', '-lzstd', '-lxxhash', '-ljansson'], cwd=ROOT, timeout=180)
        outcome = trial.run([program, *shlex.split(keys.get('args', ''))], timeout=int(keys.get('timeout', 120)))
        trial.check(outcome.status == 0, f'{outcome}\n{shorten(outcome.out)}')

    for variant, flags in SANITIZERS.items():
        yield Case('unit', name, lambda trial, flags=flags: function(trial, flags), variant=variant,
                   quick=variant == 'plain', known_failure=keys.get('known-failure'),
                   measured=keys.get('measured'))


def module_cases(folder, path, soak, scale):
    """A Python file: each function case_NAME(trial) is a case, cut into `batches` for soak if it says so."""
    spec = importlib.util.spec_from_file_location(f'{folder}_{os.path.basename(path)[:-3]}', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if not name.startswith('case_') or (getattr(function, 'only_soak', False) and not soak):
            continue
        batches = max(1, round(getattr(function, 'batches', 1) * scale)) if soak else 1
        for batch in range(batches):
            case = Case(folder, name[5:], function, variant=f'{batch + 1} of {batches}' if batches > 1 else '',
                        quick=getattr(function, 'quick', False), known_failure=getattr(function, 'known_failure', None))
            case.batch = batch
            yield case


def find_cases(level, build, scale):
    cases, every = [], level == 'soak' and scale == 1
    for folder in sorted(os.path.basename(os.path.dirname(d)) for d in glob.glob(f'{ROOT}/tests/*/')):
        for number, path in enumerate(sorted(glob.glob(f'{ROOT}/tests/{folder}/*'), key=lambda p: (cells.is_gallery(p), p))):
            if folder == 'unit' and path.endswith('_test.c'):
                cases += unit_cases(path)
            elif folder == 'bugs' and path.endswith(('.c', '.cpp')):
                cases += bug_cases(path, number, every, build)
            elif folder == 'races' and path.endswith(('.c', '.cpp')):
                cases += golden_cases(path)
            elif folder != 'unit' and path.endswith(('.c', '.cpp')):
                cases += program_cases(folder, path, every)
            elif path.endswith('.py'):
                cases += module_cases(folder, path, level == 'soak', scale)
    if level == 'check':
        # Every unit test, and of each other folder what is marked, or else the first.
        chosen = [c for c in cases if c.quick]
        for folder in {c.folder for c in cases} - {c.folder for c in chosen}:
            chosen.append(next(c for c in cases if c.folder == folder))
        cases = [c for c in cases if c in chosen]
    return cases


# ---- running them --------------------------------------------------------------------------------------------------

def run_case(case, top, settings):
    began = time.monotonic()
    trial = None
    try:
        trial = Trial(case.id, os.path.join(top, re.sub(r'[^\w.-]+', '-', case.id).strip('-')), settings)
        trial.batch = case.batch
        case.function(trial)
        case.verdict = 'passed'
    except Skip as reason:
        case.verdict, case.text = 'skipped', str(reason)
    except Failure as failure:
        case.verdict, case.text, case.lost = 'failed', str(failure), isinstance(failure, Lost)
    except Exception as error:      # a fault of the test itself is a failure too
        at = error.__traceback__
        while at.tb_next:
            at = at.tb_next
        case.verdict = 'failed'
        case.text = f'{type(error).__name__}: {error} ({os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno})'
    if case.known_failure:
        if case.verdict == 'failed':
            case.verdict, case.text = 'skipped', 'known failure: ' + case.known_failure
        elif case.verdict == 'passed':
            case.verdict, case.text = 'failed', 'passes, but is marked as a known failure'
    if case.measured:       # cannot be exact, and is so only now and then: the outcome is told, and is no verdict
        case.text = f'{case.measured}; this time it {case.verdict}'
        case.verdict = 'skipped'
    case.seconds = time.monotonic() - began
    if not trial:           # not even its folder could be made
        return case
    case.times, case.notes = trial.times, trial.notes
    case.recordings, case.replays = trial.recordings, trial.replays_made
    if case.verdict == 'failed':
        case.hint = trial.hint
    elif not settings.keep:
        trial.clean()
    return case


class Screen:
    """One line a case; on a terminal passed cases only move the progress line."""

    def __init__(self, total):
        self.total, self.done, self.failed = total, 0, 0
        self.tty = sys.stdout.isatty()
        self.lock = threading.Lock()

    def show(self, case):
        with self.lock:
            self.done += 1
            self.failed += case.verdict == 'failed'
            if self.tty:
                sys.stdout.write('\r\033[K')
            if case.verdict != 'passed' or not self.tty:
                word = {'passed': 'ok', 'failed': 'FAILED', 'skipped': 'skip'}[case.verdict]
                print(f'{word:6} {case.id}  {case.seconds:.1f} s' + (f'  ({case.text})' if case.verdict == 'skipped' else ''))
            if case.verdict == 'failed':
                print(failure_text(case))
            if self.tty:
                sys.stdout.write(f'[{self.done}/{self.total}, {self.failed} failed] {case.id}')
            sys.stdout.flush()


def failure_text(case):
    text = '\n'.join('    ' + line for line in case.text.split('\n'))
    return text + (f'\n    again: {case.hint}' if case.hint else '')


def report(cases):
    """Times of everything that was recorded, then what was left out, then what failed."""
    timed = [c for c in cases if 'record' in c.times]
    if timed:
        width = max(len(c.id) for c in timed)
        print(f'\n{"":{width}}    plain   record   replay  seconds')
        for case in timed:
            cells = ''.join(f'{case.times[k]:9.3f}' if k in case.times else '        -' for k in ('plain', 'record', 'replay'))
            print(f'{case.id:{width}}{cells}')
    for case in cases:
        for note in case.notes:
            print(f'note: {case.id}: {note}')
        if case.verdict == 'skipped':
            print(f'skipped: {case.id}: {case.text}')
    for case in cases:
        if case.verdict == 'failed':
            first = case.text.split('\n')[0]
            print(f'failed: {case.id}: {first}' + (f'\n    again: {case.hint}' if case.hint else ''))


def summary(cases):
    count = {v: sum(c.verdict == v for c in cases) for v in ('passed', 'failed', 'skipped')}
    return f'{count["passed"]} passed, {count["failed"]} failed' + (f', {count["skipped"]} skipped' if count['skipped'] else '')


def offline_prefix():
    """How to run a command without network: as root, or as the root of a namespace of our own, or not at all."""
    for prefix in (['unshare', '-n'], ['unshare', '-rn']):
        try:
            if subprocess.run([*prefix, 'true'], stderr=subprocess.DEVNULL).returncode == 0:
                return prefix
        except FileNotFoundError:
            break
    return []


# ---- the command ---------------------------------------------------------------------------------------------------

def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--check', action='store_true', help='unit tests and one case per folder, one replay each')
    parser.add_argument('--soak', action='store_true', help='the full counts; a stopped run is taken up again')
    parser.add_argument('--scale', type=float, default=1, metavar='PART', help='with --soak: this part of all counts and times, such as 0.02')
    parser.add_argument('--replays', type=int, help='replays of each recording (1 with --check, 50 with --soak, else 5)')
    parser.add_argument('--only', metavar='PATTERN', help='only cases whose name contains this regular expression')
    parser.add_argument('-j', '--jobs', type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument('--keep', action='store_true', help='keep the files of cases that pass, too')
    parser.add_argument('--list', action='store_true', help='print the names of the cases')
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'), help='where make has built')
    settings = parser.parse_args()
    settings.level = 'soak' if settings.soak else 'check' if settings.check else 'test'
    settings.other_replays = settings.replays is not None
    settings.replays = settings.replays or {'soak': max(1, round(50 * settings.scale)), 'check': 1, 'test': 5}[settings.level]
    settings.build = os.path.abspath(settings.build)
    settings.offline = offline_prefix()
    return settings


def heed_signals():
    """A shell starts what it runs in the background with these ignored; programs of the tests send them to
    themselves."""
    for sig in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(sig) == signal.SIG_IGN:
            signal.signal(sig, signal.SIG_DFL)


def main():
    heed_signals()
    settings = options()
    whole = find_cases('test' if settings.only and settings.check else settings.level, settings.build, settings.scale)
    cases = [c for c in whole if re.search(settings.only or '', c.id)]
    if settings.list:
        print('\n'.join(c.id for c in cases))
        return 0
    if not cases:
        sys.exit(f'no case matches {settings.only!r}; --list prints all')
    soak = campaign.Campaign(settings) if settings.soak else None
    if soak:
        cases = soak.remaining(cases)
    if not settings.offline:
        print('note: no network namespace here (unshare -n); replays can see the network')
    top = tempfile.mkdtemp(prefix='heddle-test-')
    os.chmod(top, 0o755)            # some cases act as another user
    screen = Screen(len(cases))
    pool = concurrent.futures.ThreadPoolExecutor(settings.jobs)
    try:
        for done in concurrent.futures.as_completed([pool.submit(run_case, c, top, settings) for c in cases]):
            screen.show(done.result())
            if soak:
                soak.remember(done.result())
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        kill(descendants(os.getpid()))
        print('\nstopped')
        if soak:
            soak.tell(whole)
        sys.stdout.flush()
        os._exit(130)
    if screen.tty:
        print()
    report(cases)
    if os.listdir(top):
        print(f'kept: {top}')
    else:
        os.rmdir(top)
    if soak:
        soak.tell(whole)
    print(summary(cases))
    return 1 if any(c.verdict == 'failed' for c in cases) else 0


if __name__ == '__main__':
    sys.exit(main())
