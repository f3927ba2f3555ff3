"""What a test case works with: directories of its own, commands with a time limit, record and replay.

A case is a function that gets a Trial. It fails by raising Failure (Trial.check does), is left out by raising
Skip with a reason, and passes by returning.
"""
import glob
import os
import re
import select
import shutil
import signal
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

RACES, USAGE, CANNOT, DIVERGED = 120, 121, 122, 123   # heddle's own exit statuses
PATIENCE = float(os.environ.get('HEDDLE_TEST_PATIENCE', 1))     # all time limits times this: for an emulated machine


class Failure(Exception):
    pass


class Lost(Failure):
    """A recording that cannot be replayed at all."""


class Skip(Exception):
    pass


class Outcome:
    """One finished command. status is negative when a signal ended it, as in Python's subprocess."""

    def __init__(self, argv, status, out, err, seconds):
        self.argv, self.status, self.out, self.err, self.seconds = argv, status, out, err, seconds

    def __str__(self):
        return f'{status_text(self.status)}, {len(self.out)} bytes of output' + (
            ', stderr:\n' + shorten(self.err) if self.err else '')


def status_text(status):
    if status >= 0:
        return f'exit {status}'
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f'signal {-status}'


def shorten(data, limit=1500):
    text = data.decode(errors='backslashreplace').rstrip()
    return text if len(text) <= limit else text[:limit] + ' ...'


def run(argv, *, timeout=60, stdin=b'', cwd=None, env=None):
    """Run a command to its end. A command over its time limit is a Failure: nothing here may hang."""
    began = time.monotonic()
    timeout *= PATIENCE
    process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        end_session(process)
        raise Failure(f'no end after {timeout} s: {command_text(argv)}') from None
    return Outcome(argv, process.returncode, out, err, time.monotonic() - began)


def descendants(pid):
    """Of all its threads."""
    found = []
    for task in glob.glob(f'/proc/{pid}/task/*/children'):
        try:
            with open(task) as file:
                for child in map(int, file.read().split()):
                    found += [child, *descendants(child)]
        except OSError:
            pass
    return found


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def kill_tree(process):
    """A command and whatever it started: its descendants, also those in sessions of their own, and what is left of the
    session that was made for it."""
    if process.poll() is None:
        kill([*descendants(process.pid), process.pid])
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_session(process):
    kill_tree(process)
    try:
        process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        pass


def read_until(process, text, timeout=60):
    """What a command prints, up to this text or its end."""
    said, deadline = b'', time.monotonic() + timeout * PATIENCE
    while text not in said:
        if not select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            end_session(process)
            raise Failure(f'no {text!r} after {timeout} s: {said!r}')
        more = os.read(process.stdout.fileno(), 4096)
        if not more:
            break
        said += more
    return said


def command_text(argv):
    return ' '.join("'" + a.replace("'", "'\\''") + "'" if not a or set(a) & set(' "$;|&<>()*?\'\\\n') else a
                    for a in argv)


def difference(kind, recorded, replayed):
    """The first place where two outputs differ, or None."""
    if recorded == replayed:
        return None
    at = next((i for i, (a, b) in enumerate(zip(recorded, replayed)) if a != b), min(len(recorded), len(replayed)))
    return (f'{kind} differs at byte {at} (recorded {len(recorded)} bytes, replayed {len(replayed)}):\n'
            f'  recorded {recorded[max(0, at - 20):at + 60]!r}\n  replayed {replayed[max(0, at - 20):at + 60]!r}')


def without_ours(err):
    """The program's part of stderr: heddle's own lines are no part of the recording."""
    return b''.join(line for line in err.splitlines(True) if not line.startswith(b'heddle:'))


class Trial:
    """One case while it runs."""

    def __init__(self, name, directory, settings):
        self.name = name
        self.dir = directory            # of this case alone; removed when it passes
        self.settings = settings        # level, replays, build, offline; see run.py
        self.batch = 0                  # number of this batch, for cases that are cut into several
        self.times = {}                 # plain, record, replay: seconds
        self.recordings = self.replays_made = 0
        self.notes = []
        self.hint = None                # the command that shows a failure again
        self.heddle = os.path.join(settings.build, 'bin', 'heddle')
        os.makedirs(directory)
        self.env = {'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'HOME': directory, 'LANG': 'C.UTF-8',
                    'HEDDLE_TRACE_DIR': os.path.join(directory, 'traces'), 'NO_COLOR': '1'}

    # ---- verdicts

    def check(self, condition, text):
        if not condition:
            raise Failure(text)

    def skip(self, reason):
        raise Skip(reason)

    def need_of_machine(self, what):
        """Skips the case if this line of `heddle doctor` is not ok."""
        line = re.search(rf'^(\w+) +{re.escape(what)} +(.*)$', self.run([self.heddle, 'doctor']).out.decode(), re.M)
        self.check(line, f'heddle doctor has no line {what}')
        if line.group(1) != 'ok':
            self.skip(line.group(2))

    def need_root(self):
        if os.geteuid() != 0:
            raise Skip('needs root')

    def need_option(self, verb, option):
        """Leave out what this heddle cannot do yet."""
        if option.encode() not in self.run([self.heddle, verb, '--help']).out:
            raise Skip(f'heddle {verb} has no {option}')

    def count(self, test, soak):
        """How often: the test's number, or soak's part that was asked for."""
        return max(1, round(soak * self.settings.scale)) if self.settings.level == 'soak' else test

    # ---- commands

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def folder(self, name):
        os.makedirs(self.path(name))
        return self.path(name)

    def run(self, argv, **options):
        options.setdefault('cwd', self.dir)
        options.setdefault('env', self.env)
        return run(argv, **options)

    def run_well(self, argv, **options):
        """Run a command that has to succeed."""
        outcome = self.run(argv, **options)
        self.check(outcome.status == 0, f'{command_text(argv)}: {outcome}')
        return outcome

    def compile(self, source, flags=(), name=None, compiler=None):
        """Compile one of our programs; returns its path. It is built once and kept in build/tests."""
        compiler = compiler or ('g++' if source.endswith('.cpp') else 'gcc')
        relative = os.path.relpath(source, ROOT)
        program = os.path.join(self.settings.build, 'tests', name or os.path.splitext(relative)[0].replace('tests/', ''))
        os.makedirs(os.path.dirname(program), exist_ok=True)
        fresh = f'{program}.{os.getpid()}.{id(self)}'       # so that two cases may build the same one
        self.run_well([compiler, '-O2', '-g', '-Wall', '-o', fresh, source, '-pthread', *flags], cwd=ROOT, timeout=120)
        os.rename(fresh, program)
        return program

    def copy_program(self, program, folder):
        """By a process of its own: a child that another case starts meanwhile would have our copy open for writing
        until it runs its program, and ours could not be run (ETXTBSY)."""
        self.run_well(['cp', program, folder])

    def record(self, argv, *, trace=None, options=(), **more):
        trace = trace or self.path('trace')
        self.hint = f'{self.heddle} replay {trace}'
        self.recordings += 1
        return self.run([self.heddle, 'record', '-o', trace, *options, '--', *argv], **more)

    def replay(self, trace=None, *, options=(), offline=True, **more):
        prefix = self.settings.offline if offline else []
        self.replays_made += max([int(o.partition('=')[2]) for o in options if o.startswith('--repeat=')], default=1)
        return self.run([*prefix, self.heddle, 'replay', *options, trace or self.path('trace')], **more)

    # ---- the test of all tests

    def reproduce(self, argv, *, make=None, stdin=b'', status=0, checksum=True, options=(), varies=False, same=False,
                  timeout=60, plain=True, extra=None):
        """Run plainly, record, take the inputs away, replay without network: the same bytes each time.

        make(folder) creates the inputs. varies: the plain run must print something else than the recorded one, so
        that the test proves something. same: it must print the same.
        """
        env = dict(self.env, **(extra or {}))

        def inputs(folder):
            self.folder(folder)
            if make:
                make(self.path(folder))
            return self.path(folder)

        if plain:
            # In a folder of the same name, so that what it prints can be compared.
            before = self.run(argv, cwd=inputs('work'), stdin=stdin, timeout=timeout, env=env)
            self.times['plain'] = before.seconds
            self.check(before.status == status, f'plain run: {before}')
            os.rename(self.path('work'), self.path('plain'))

        options = [*options, *(['--checksum'] if checksum else [])]
        recorded = self.record(argv, cwd=inputs('work'), stdin=stdin, timeout=timeout * 2, options=options, env=env)
        self.times['record'] = recorded.seconds
        self.check(recorded.status == status, f'recording: expected {status_text(status)}, got {recorded}')
        if plain:
            # Whatever else varies: a recording that lost a whole stream is wrong, and so would be its equal replay.
            for kind, a, b in (('stdout', before.out, recorded.out), ('stderr', before.err, without_ours(recorded.err))):
                self.check(bool(a) == bool(b), f'{kind}: plain run {len(a)} bytes, recorded {len(b)}')
        else:
            self.check(recorded.out, 'the recording printed nothing')
        if varies:
            for n in range(50):     # plain runs until one prints something else; a busy machine runs one thread after the other
                if before.out != recorded.out:
                    break
                os.rename(self.path('work'), self.path('recorded'))
                before = self.run(argv, cwd=inputs('work'), stdin=stdin, timeout=timeout, env=env)
                os.rename(self.path('work'), self.path(f'plain-{n}'))
                os.rename(self.path('recorded'), self.path('work'))
            self.check(before.out != recorded.out, 'fifty plain runs printed the same: this test shows nothing')
        if same:
            self.check(before.out == recorded.out, difference('plain output', recorded.out, before.out))
        os.rename(self.path('work'), self.path('away'))
        self.replays(recorded, timeout=timeout * 2)
        return recorded

    def with_fault(self, place, changes):
        """The text of one of our sources with [(text, instead)] changed: a fault that is to be noticed."""
        with open(os.path.join(ROOT, place)) as source:
            text = source.read()
        for old, new in changes:
            self.check(old in text, f'{place} has no "{old.strip()}" any more: plant this fault anew')
            text = text.replace(old, new)
        return text

    def replays(self, recorded, *, trace=None, timeout=120, times=None):
        """Replay as often as asked; each must print and end as recorded."""
        times = times or self.settings.replays
        for n in range(times):
            again = self.replay(trace, timeout=timeout, env=dict(self.env, TZ=f'XXX{n}', LANG='C', NOISE='x' * n * 17))
            self.times['replay'] = min(again.seconds, self.times.get('replay', 1e9))
            which = f'replay {n + 1} of {times}: '
            if again.status != recorded.status:
                raise (Lost if again.status == CANNOT else Failure)(f'{which}expected {status_text(recorded.status)}, got {again}')
            for kind, old, new in (('stdout', recorded.out, again.out),
                                   ('stderr', without_ours(recorded.err), without_ours(again.err))):
                text = difference(kind, old, new)
                self.check(not text, f'{which}{text}')

    def clean(self):
        shutil.rmtree(self.dir, ignore_errors=True)
