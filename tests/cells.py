"""The racy programs of tests/bugs under every order that heddle knows: how they are built, recorded and replayed.

A cell is program x order x number of threads. It is recorded until it fails as its bug does, then replayed: the same
output, the same end, no divergence. What an order does not promise is only measured.
"""
import copy
import functools
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

from harness import CANNOT, DIVERGED, ROOT, USAGE, Failure, without_ours

THREADS = (2, 4, 8)
SHORT_WAY = ('region',)     # orders whose claims let an access pass without a call
RACES_ORDERS = ('region', 'tplay', 'aggreplay', 'leap')      # that programs built with --select=races are recorded under
MANY = 5        # replays that are processes of their own, outside soak
MEASURED = 30   # seconds for the replays of what is only measured; in soak they take what they take
LIMIT = 200     # seconds, for what takes one, and on a machine with too much to do a minute: nothing here may hang
BUGS = os.path.join(ROOT, 'tests', 'bugs')
_built, _building = {}, threading.Lock()


@functools.lru_cache
def orders(build):
    """[(name, guarantee)] as `heddle record --order=help` tells: a line each, the guarantee on the line below."""
    told = subprocess.run([os.path.join(build, 'bin', 'heddle'), 'record', '--order=help'], capture_output=True, text=True)
    lines = [line for line in told.stdout.splitlines() if line.strip()]
    found = [(name.split()[0], promise.strip()) for name, promise in zip(lines[::2], lines[1::2])]
    if told.returncode or not {(name, 'exact') for name in RACES_ORDERS} <= set(found):
        raise Failure(f'heddle record --order=help tells not of {RACES_ORDERS} as exact, or ends with {told.returncode}: {told.stdout}{told.stderr}')
    return found


@functools.lru_cache
def refusal(build, order):
    """What heddle says if it cannot record under this order so far; '' if it can."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.path.join(build, 'bin', 'heddle'), 'record', '-q', '-o', f'{folder}/t', f'--order={order}', 'true'],
                              capture_output=True, text=True)
    return done.stderr.split('\n')[0] if done.returncode else ''


def is_exact(guarantee):
    return guarantee.startswith('exact')


def program(trial, source, select='all'):
    """The program, built by heddle-cc, as a rule with every access hooked; once, however many cells want it."""
    compiler = os.path.join(trial.settings.build, 'bin', 'heddle-c++' if source.endswith('.cpp') else 'heddle-cc')
    with _building:
        if (source, select) not in _built:
            name = f'cells/{os.path.basename(source)}-{select}'     # a file each
            _built[source, select] = trial.compile(source, [f'--select={select}'], name, compiler)
    return _built[source, select]


def record_failing(trial, source, order, threads, tries, chaos=True, select='all'):
    """Record until the program fails. Returns the outcome and its trace; the traces of runs that went well are gone."""
    argv = [program(trial, source, select), str(threads)]
    for n in range(tries):
        trace = trial.path(f'trace-{n}')
        options = [f'--order={order}', '--verify'] + [f'--chaos={n + 1}'] * (chaos or n > 0)
        outcome = trial.record(argv, trace=trace, options=options, timeout=LIMIT)
        trial.times['record'] = outcome.seconds
        trial.check(outcome.status not in (USAGE, CANNOT, DIVERGED), f'recording: {outcome}')
        if outcome.status or n == tries - 1:
            return outcome, trace
        shutil.rmtree(trace)


def bug_cell(trial, source, order, guarantee, threads, fails, chaos, select='all'):
    refused = refusal(trial.settings.build, order)
    if refused and not is_exact(guarantee):
        trial.skip(refused)
    tries = (3 if trial.settings.level == 'check' else max(8, trial.count(8, 40))) if fails else 1
    outcome, trace = record_failing(trial, source, order, threads, tries, chaos, select)
    if fails and not outcome.status:
        trial.notes.append(f'did not fail in {tries} recordings')
    if not is_exact(guarantee):
        measure(trial, outcome, trace, guarantee)
    few = min(trial.settings.replays, trial.count(MANY, 1000))
    trial.replays(outcome, trace=trace, timeout=LIMIT, times=few)
    without_verify(trial, source, order, threads, select)
    # The rest, 200 in soak, are compared event by event by replay itself.
    rest = trial.settings.replays - few + trial.count(0, 150)
    if rest:
        trial.check(trial.replay(trace, options=['--quiet', f'--repeat={rest}'], timeout=1200).status == outcome.status,
                    f'one of {rest} further replays differs')


def without_verify(trial, source, order, threads, select):
    """Once more as a user records it, and where an order has a short way, which no access takes under --verify, several
    times with --chaos, too."""
    for seed in range((2 if trial.settings.level == 'check' else trial.count(4, 40)) if order in SHORT_WAY else 1):
        trace = trial.path(f'trace-unverified-{seed}')
        options = [f'--order={order}'] + [f'--chaos={seed}'] * (seed > 0)
        outcome = trial.record([program(trial, source, select), str(threads)], trace=trace, options=options, timeout=LIMIT)
        trial.check(outcome.status not in (USAGE, CANNOT, DIVERGED), f'recording: {outcome}')
        trial.replays(outcome, trace=trace, timeout=LIMIT, times=min(2, trial.settings.replays))
        shutil.rmtree(trace)


def measure(trial, recorded, trace, guarantee):
    """How many replays were the same: a figure, no verdict."""
    same = made = 0
    began = time.monotonic()
    while made < trial.settings.replays and (trial.count(0, 1) or time.monotonic() < began + MEASURED):
        made += 1
        try:
            again = trial.replay(trace, timeout=LIMIT)
        except Failure:         # it stood still, and would again
            break
        same += (again.status, again.out, without_ours(again.err)) == (recorded.status, recorded.out, without_ours(recorded.err))
    trial.skip(f'{same} of {made} replays the same; {guarantee}')


def native(trial, source):
    """Without heddle the program is an ordinary one, and varies: what always prints the same would show nothing."""
    argv = [program(trial, source), '4']
    first = trial.run(argv)
    for _ in range(60):
        again = trial.run(argv)
        if (again.status, again.out) != (first.status, first.out):
            return
    raise Failure('60 runs printed the same: this program shows nothing')


def is_gallery(path):
    """A program of the gallery, or what belongs to it. They are counted after the others, whose number of threads
    depends on their place."""
    if os.path.dirname(path) != BUGS:
        return False
    with open(path) as file:
        return bool(re.search(r'^// run:.*\bgallery\b', file.read(), re.M)) or os.path.basename(path) == 'gallery.py'


def expected_pairs(source):
    """The lines of the orders that the failure needs, as its `explain:` line says: A before B, or another one behind a
    |."""
    with open(source) as file:
        text = file.read()
    found = re.search(r'^// explain: (.*)$', text, re.M)
    marked = {}
    for n, line in enumerate(text.split('\n'), 1):
        for mark in re.findall(r'@(\w+)', line.partition('// ')[2]) if 'explain:' not in line else ():
            marked.setdefault(mark, []).append(n)
    pairs = [re.fullmatch(r'@(\w+) before @(\w+)', pair) for pair in found.group(1).split(' | ')] if found else []
    if not pairs or not all(p and p.group(1) in marked and p.group(2) in marked for p in pairs):
        raise Failure(f'{source}: its explain: line, or a line that it names, is missing')
    return [[marked[p.group(1)], marked[p.group(2)]] for p in pairs]


def gallery_cells(source, number, fails):
    """Outside a whole soak a program of the gallery is recorded under the default order alone, with few replays."""
    def cell(trial, select):
        expected_pairs(source)
        trial.settings = copy.copy(trial.settings)
        trial.settings.replays = min(2, trial.settings.replays)
        bug_cell(trial, source, 'region', 'exact', THREADS[number % len(THREADS)], fails, True, select)

    for select in ('all', 'races'):
        yield f'{select} region {THREADS[number % len(THREADS)]}', lambda trial, select=select: cell(trial, select), False


def bug_cells(source, number, keys, every, build):
    """(variant, function, quick) of each cell of a program. `number` is its place in the folder: unless `every` one is
    wanted each order gets one number of threads, another one with the next program."""
    quick = 'check' in keys
    fails = 'fails' in keys
    if 'gallery' in keys and not every:
        yield from gallery_cells(source, number, fails)
        return
    yield 'native', lambda trial: native(trial, source), False
    for n, (order, guarantee) in enumerate(orders(build)):
        for threads in THREADS if every else [THREADS[(number + n) % len(THREADS)]]:
            yield (f'{order} {threads}', lambda trial, o=order, g=guarantee, t=threads, c=(number + n) % 2 == 0:
                   bug_cell(trial, source, o, g, t, fails, c), quick)
            if order in RACES_ORDERS and (every or order == RACES_ORDERS[number % len(RACES_ORDERS)] or order == 'region'):
                yield (f'races {order} {threads}', lambda trial, o=order, g=guarantee, t=threads, c=(number + n) % 2 == 0:
                       bug_cell(trial, source, o, g, t, fails, c, 'races'), False)
