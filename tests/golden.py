"""The golden programs of tests/races: what their first comment expects, and how that is checked.

// expect: race A B                   a race between the lines marked A and B: an analysis that loses it is unsound,
//                                    and a recorded run shows it
// expect: rare A B because REASON    the same, but the runs made here need not show it
// expect: lock A B                   as race; and a lock is put on one of them, so that both are left out
// expect: hook A B because REASON    as race; and a lock must not be put on either, since it would deadlock
// expect: none A B ... because REASON   no race at these lines: the analysis finds that out, and no run may show one
// expect: kept A B ... because REASON   no race either, but the analysis does not find that out

A line is marked by a comment at its end: `// @A`, `// @A @B`. A mark may stand on several lines.
"""
import functools
import json
import os
import re
import shutil
import sys
import threading

from harness import CANNOT, DIVERGED, ROOT, USAGE

FOLDER = os.path.join(ROOT, 'tests', 'races')
LIMIT = 60
NO_RACE = ('none', 'kept')
SELECTS = ('escape', 'races')    # of heddle-cc --select, those that leave accesses out
RACES = 120     # exit status of heddle replay --races that has found some
PUT_LOCK = 'possible initialisation'    # a left-out site that is ordered all the same: by a lock that was put around it
_building = threading.Lock()


class Expected:
    def __init__(self, verb, marks, reason, lines):
        self.verb, self.marks, self.reason = verb, marks, reason
        self.lines = [lines[m] for m in marks]

    def __str__(self):
        places = ', '.join('line ' + '/'.join(map(str, sorted(lines))) for lines in self.lines)
        return f'{self.verb} {" ".join(self.marks)} ({places})' + (f' because {self.reason}' if self.reason else '')

    def is_pair(self, a, b):
        """Are these two lines the race that is expected?"""
        left, right = self.lines
        return (a in left and b in right) or (a in right and b in left)


@functools.lru_cache
def expected(source):
    with open(source) as file:
        text = file.read().split('\n')
    lines, found = {}, []
    for number, line in enumerate(text, 1):
        marks = re.search(r'//((?: @\w+)+)\s*$', line)
        for mark in marks.group(1).split() if marks else []:
            lines.setdefault(mark[1:], set()).add(number)
    for line in text:
        if not line.startswith('// expect:'):
            continue
        what, _, reason = line[len('// expect:'):].partition(' because ')
        verb, *marks = what.split()
        if verb not in ('race', 'rare', 'lock', 'hook', *NO_RACE):
            sys.exit(f'{source}: {line}: see tests/golden.py for what can be expected')
        for mark in marks:
            if mark not in lines:
                sys.exit(f'{source}: no line is marked @{mark}')
        if not marks or (verb not in NO_RACE and len(marks) != 2) or (verb not in ('race', 'lock') and not reason):
            sys.exit(f'{source}: {line}: a pair of marks, or a reason, is missing')
        found.append(Expected(verb, marks, reason, lines))
    if not found:
        sys.exit(f'{source}: says nothing of what is expected')
    return found


def real(source):
    return [e for e in expected(source) if e.verb not in NO_RACE]


def build(trial, source, select):
    """The program under --select=SELECT; the others of the build may want it at the same time."""
    compiler = os.path.join(trial.settings.build, 'bin', 'heddle-c++' if source.endswith('.cpp') else 'heddle-cc')
    name = f'{os.path.basename(os.path.dirname(source))}/{os.path.basename(source)}.{select}'
    with _building:
        done = os.path.join(trial.settings.build, 'tests', name)
        if newer(done, source, compiler, os.path.join(trial.settings.build, 'lib', 'heddle', 'heddle-pass.so')):
            return done
        # -O1: the vectoriser of -O2 reads over what lies between two elements, which is no access of the program's
        return trial.compile(source, [f'--select={select}', '-O1', '-lm'], name=name, compiler=compiler)


def newer(done, *sources):
    return os.path.exists(done) and all(os.path.getmtime(done) > os.path.getmtime(s) for s in sources)


# ---- what the analysis says ----------------------------------------------------------------------------------------

def analysed(trial, source, program=None):
    """The warnings of `heddle races`, as lines of this program, and the lines that were left out with their reasons."""
    found = json.loads(trial.run_well([trial.heddle, 'races', '--json', program or build(trial, source, 'races')], timeout=LIMIT).out)
    name = os.path.basename(source)
    here = lambda place: os.path.basename(place['file']) == name
    warnings = [(w['a']['line'], w['b']['line']) for w in found['warnings'] if here(w['a']) and here(w['b'])]
    left_out = {}
    for place in found['left_out']:
        if here(place):
            left_out.setdefault(place['line'], []).append(place['reason'])
    return warnings, left_out


def check_analysis(trial, source, program=None):
    """What is a race must be kept; what is none must go, unless the program says that the analysis is not so far."""
    warnings, left_out = analysed(trial, source, program)
    notes = []
    for e in expected(source):
        if e.verb in NO_RACE:
            lines = set().union(*e.lines)
            kept = any(set(w) & lines for w in warnings)
            trial.check(kept or e.verb == 'none', f'the analysis leaves it out now: {e}\nwrite `none` instead')
            trial.check(not kept or e.verb == 'kept', f'the analysis keeps it: {e}')
            continue
        reasons = [f'line {n}: {r}' for lines in e.lines for n in sorted(lines) for r in left_out.get(n, [])]
        locked = any(PUT_LOCK in r for r in reasons)
        if e.verb == 'lock':
            trial.check(locked, f'no lock was put: {e}')
        if e.verb == 'hook':
            trial.check(not locked, f'a lock was put where it deadlocks: {e}')
        if locked or any(e.is_pair(*w) for w in warnings):
            continue
        trial.check(not reasons, f'lost: {e}\nleft out: ' + '; '.join(reasons))
        notes.append(f'hooked, but no warning tells: {e}')
    if notes:
        trial.skip('; '.join(notes))


# ---- what a run shows ----------------------------------------------------------------------------------------------

def races_of(trial, program, seed, args=()):
    """The races that one recorded run has, as the JSON of replay --races tells them."""
    trace = trial.path(f'trace-{os.path.basename(program)}-{seed}')
    recorded = trial.record([program, *args], trace=trace, options=['--quiet'] + ([f'--chaos={seed}'] if seed else []), timeout=LIMIT)
    trial.check(recorded.status not in (USAGE, CANNOT, DIVERGED), f'recording: {recorded}')
    trial.hint = f'{trial.heddle} replay --races {trace}'
    replayed = trial.replay(trace, options=['--races', '--json'], timeout=LIMIT)
    trial.check(replayed.status in (RACES, recorded.status), f'replay --races: {replayed}\n{replayed.out.decode()[:400]}')
    found = json.loads(replayed.out)['races']
    trial.check(bool(found) == (replayed.status == RACES), f'{len(found)} races, and status {replayed.status}')
    return found


def runs(trial):
    """Seeds of --chaos; 0 is a run without."""
    return range(2 if trial.settings.level == 'check' else max(5, trial.count(5, 40)))


def check_runs(trial, source):
    """A race that is expected shows in some run; where there is none, none does, in any."""
    seeds = runs(trial)
    check_program(trial, source, build(trial, source, 'all'), seeds, seeds.stop + 25)


def check_program(trial, source, program, seeds, most=0):
    """Runs with these seeds, and with more, up to `most`, while no race that must show has shown."""
    name = os.path.basename(source)
    wanted = {e: 0 for e in real(source)}
    quiet = set().union(*(lines for e in expected(source) if e.verb in NO_RACE for lines in e.lines))
    must = [e for e in wanted if e.verb in ('race', 'lock')]
    seeds = list(seeds)
    for seed in seeds:
        for race in races_of(trial, program, seed):
            sides = [race['a'], race['b']]
            trial.check(wanted, f'a race in a program that has none: {race}')
            for side in sides:
                trial.check(os.path.basename(side['file']) != name or side['line'] not in quiet, f'a race where none is: {race}')
            for e in wanted:
                if e.is_pair(sides[0]['line'], sides[1]['line']):
                    wanted[e] |= 1 << seed
        if seed == seeds[-1] and must and not any(wanted[e] for e in must) and seed < most:
            seeds.append(seed + 1)      # the list grows while it is walked: until one has shown
    trial.notes.extend(f'{e.verb} {" ".join(e.marks)}: in {bin(n).count("1")} of {len(seeds)} runs' for e, n in wanted.items())
    trial.check(not must or any(wanted[e] for e in must), f'none of {len(seeds)} runs shows a race: {"; ".join(map(str, must))}')


# ---- the two against each other ------------------------------------------------------------------------------------

def sites(trial, program):
    """{(file, line, column, kind): the reasons for which it is left out, [] if it is hooked anywhere}"""
    found = {}
    for line in trial.run_well([trial.heddle, 'dump', '--sites', '--json', program]).out.decode().split('\n'):
        site = json.loads(line) if line else {}
        if 'file' not in site:
            continue
        key = (site['file'], site['line'], site['column'], site['kind'])
        reasons = found.setdefault(key, [])
        if site['hooked']:
            found[key] = None
        elif reasons is not None:
            reasons.append(site.get('why', '?'))
    return found


def check_left_out(trial, source, args=(), seeds=None):
    """No race that a run has may be at a site that an analysis leaves out."""
    others = {select: sites(trial, build(trial, source, select)) for select in SELECTS}
    compare(trial, build(trial, source, 'all'), others, seeds or runs(trial), args)


def reasons_at(trial, table, place):
    """Why the access there was left out, if it was. The optimiser may have given it another column, or none: then it is
    made of several of that line. A line that the table does not have at all is not compared with anything."""
    if (place in table and place[2]) or not place[0]:      # without a file: the kernel's, or libc's
        return table.get(place) or []
    line = [reasons for key, reasons in table.items() if key[:2] == place[:2]]
    trial.check(line or not place[2], f'the table of sites has no access at {place[0]}:{place[1]}, where a run has a race')
    return [] if None in line else sum(line, [])


def compare(trial, program, others, seeds, args=()):
    """`others`: {name of a selection: its sites}. Returns how many different places raced."""
    seen = set()
    for seed in seeds:
        for race in races_of(trial, program, seed, args):
            for side in (race['a'], race['b']):
                place = (side['file'], side['line'], side['column'], side['kind'])
                seen.add(place)
                for select, table in others.items():
                    reasons = [r for r in reasons_at(trial, table, place) if not r.startswith(PUT_LOCK)]
                    trial.check(not reasons, f'--select={select} leaves out {":".join(map(str, place))}, for: {"; ".join(reasons)}\n'
                                f'but a run has this race there: {json.dumps(race)}')
    return len(seen)


# ---- faults, planted -------------------------------------------------------------------------------------------------

def changed_tree(t, file, old, new, parts):
    """The sources with that change, and a build that begins with these parts of ours."""
    tree, build = t.path('tree'), t.path('build')
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns('build*', '.git', 'tests', 'doc'), symlinks=True)
    os.makedirs(os.path.join(tree, 'tests'))
    for part in parts:
        shutil.copytree(os.path.join(t.settings.build, part), os.path.join(build, part), symlinks=True)
    with open(os.path.join(tree, file)) as source:
        text = source.read()
    t.check(text.count(old) >= 1, f'{file} has no `{old}` any more')
    with open(os.path.join(tree, file), 'w') as source:
        source.write(text.replace(old, new, 1))
    return tree, build


def cases(source):
    """Variant, function, and whether it records."""
    yield 'analysis', check_analysis, False
    yield 'runs', check_runs, True
    if real(source):
        yield 'left out', check_left_out, True
