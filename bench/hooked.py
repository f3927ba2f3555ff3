"""What the benchmarks of heddle-cc share: a program in three builds, run natively, with empty hooks, or recorded under
an order."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, 'bench'), os.path.join(ROOT, 'tests')]
import cells           # noqa: E402
import kept            # noqa: E402
import run as base     # noqa: E402
from harness import DIVERGED    # noqa: E402

NATIVE, EMPTY = 'native', 'empty hooks'
LIMIT = 120     # seconds for one run: a variant that needs more is left out from there on


def kernels(pattern):
    """Sources of the kernels whose names match."""
    return [s for s in sorted(glob.glob(f'{ROOT}/bench/programs/*.c')) if re.search(pattern, os.path.basename(s)[:-2])]


class TooLong(Exception):
    pass


class Diverged(Exception):
    """A replay that is not exact: told in the table, since what it took says nothing."""

    def __init__(self, out):
        super().__init__('it left the recording')
        self.out = out


class Run:
    """One finished command: seconds, KiB, output."""

    def __init__(self, usage, out):
        with open(usage) as file:
            self.wall, self.cpu, self.memory = map(float, file.read().split())
        self.out = out


class Hooked:
    percent = '100'     # size of the kernels

    def __init__(self, settings):
        self.build = os.path.abspath(settings.build)
        self.heddle = os.path.join(self.build, 'bin', 'heddle')
        self.work = tempfile.mkdtemp(prefix='heddle-bench-')
        self.out = os.path.join(self.work, 'programs')      # of one's own: others may compile and run the same
        self.trace = os.path.join(self.work, 'trace')
        self.env = dict(os.environ, HEDDLE_TRACE_DIR=os.path.join(self.work, 'traces'), HOME=self.work)
        self.orders = [name for name, _ in cells.orders(self.build) if not cells.refusal(self.build, name)]
        if settings.orders:
            self.orders = [name for name in self.orders if name in settings.orders.split(',')]
        self.variants = [NATIVE, EMPTY, *self.orders]
        os.makedirs(self.out)
        subprocess.run(['gcc', '-O2', '-o', f'{self.out}/usage', f'{ROOT}/bench/usage.c'], check=True)

    def compile(self, source):
        name = os.path.join(self.out, os.path.splitext(os.path.basename(source))[0])
        flags = ['-O2', '-g', '-pthread', source, '-lm']
        subprocess.run(['clang-19', '-flto', '-fuse-ld=lld-19', '-o', name, *flags], check=True)
        subprocess.run([os.path.join(self.build, 'bin', 'heddle-cc'), '--select=all', '-o', name + '-hooked', *flags], check=True)
        return name

    def command(self, variant, program, *args):
        if variant == NATIVE:
            return [program, *args]
        if variant == EMPTY:
            return [program + '-hooked', *args]
        shutil.rmtree(self.trace, ignore_errors=True)
        return [self.heddle, 'record', '-q', '-o', self.trace, f'--order={variant}', '--', program + '-hooked', *args]

    def run(self, command, limit=LIMIT, statuses=(0,)):
        """A Run; TooLong if it was ended after so many seconds."""
        usage = os.path.join(self.work, f'usage-{threading.get_ident()}')
        process = subprocess.Popen([f'{self.out}/usage', usage, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.work, env=self.env, start_new_session=True)
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise TooLong from None
        if process.returncode == DIVERGED:
            raise Diverged(out)
        if process.returncode not in statuses:
            raise SystemExit(f'bench: {" ".join(command)}: status {process.returncode}\n{(err or out).decode(errors="replace")}')
        return Run(usage, out)

    def log_bytes(self):
        """(raw, packed) of the last recording."""
        return base.stream_bytes(self.trace)

    def clean(self):
        shutil.rmtree(self.work, ignore_errors=True)


def add_options(parser):
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--quick', action='store_true', help='fewer points, two rounds: to see that it works')
    parser.add_argument('--orders', metavar='NAME,NAME', help='only these')
    kept.add_option(parser)


def options(parser):
    settings = parser.parse_args()
    if settings.quick:
        settings.rounds = min(settings.rounds, 2)
    return settings
