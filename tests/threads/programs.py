"""Debian's own programs with threads: compressors and git exactly; servers are measured, in soak."""
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

from harness import DIVERGED, Failure, end_session, shorten

SIZE = 3 << 20
WORDS = [bytes(random.Random(n).choices(b'abcdefghijklmnopqrstuvwxyz', k=2 + n % 9)) for n in range(3000)]

GIT = r'''
set -e
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main one
cd one
git config pack.threads 2; git config index.threads 2; git config grep.threads 2; git config core.preloadIndex true
cp ../files/* .
git add .
git commit -q -m 'first'
for f in file1*; do date +%N >> $f; done
git commit -q -a -m 'second'
git -c index.threads=2 status --short
git repack -q -a -d -f --threads=2
git grep -c ab -- 'file1*' | tail -n 5
git index-pack --threads=2 --stdin < .git/objects/pack/*.pack
git fsck
git log --format=%H
'''


def text(size, seed):
    rng = random.Random(seed)
    lines = []
    while size > 0:
        lines.append(b' '.join(rng.choices(WORDS, k=12)) + b'\n')
        size -= len(lines[-1])
    return b''.join(lines)


def make_input(folder):
    with open(os.path.join(folder, 'input'), 'wb') as file:
        file.write(text(SIZE, 1))


def make_files(folder):
    """Enough of them that git takes several threads to look at its index."""
    os.mkdir(os.path.join(folder, 'files'))
    for n in range(1200):
        with open(os.path.join(folder, 'files', f'file{n}'), 'wb') as file:
            file.write(text(SIZE // 1200, n))


def compressor(t, program, *options):
    """Compressed on stdout, and compressed back again: the same bytes, the same memory."""
    if not shutil.which(program):
        t.skip(f'{program} is not installed (tools/setup test)')
    t.reproduce([program, *options, '-c', 'input'], make=make_input, timeout=120)


def case_pbzip2(t):
    compressor(t, 'pbzip2', '-p2', '-k', '-b1')


def case_pigz(t):
    compressor(t, 'pigz', '-p2', '-k')


def case_xz(t):
    compressor(t, 'xz', '-T2', '-k', '-1', '--block-size=500KiB')


def case_zstd(t):
    compressor(t, 'zstd', '-T2', '-k', '-q', '-B512K')


def case_pbzip2_back(t):
    """Decompression has threads of its own."""
    if not shutil.which('pbzip2'):
        t.skip('pbzip2 is not installed (tools/setup test)')
    t.reproduce(['sh', '-c', 'pbzip2 -p2 -b1 input && pbzip2 -d -p2 -v -c input.bz2 | sha256sum'], make=make_input, timeout=120)


def case_git(t):
    t.reproduce(['bash', '-c', GIT], make=make_files, varies=True, timeout=180)


case_pigz.quick = True


# ---- measured: how many of N replays did not diverge, and what the message said -------------------------------------

def wait_for_port(port, process):
    for _ in range(200):
        if process.poll() is not None:
            raise Failure(f'the server ended with {process.poll()}')
        try:
            return socket.create_connection(('127.0.0.1', port), 5).close()
        except OSError:
            time.sleep(0.05)
    raise Failure('the server does not answer')


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as server:
        return server.getsockname()[1]


def memcached_load(port):
    def client(n):
        with socket.create_connection(('127.0.0.1', port), 20) as s:
            f = s.makefile('rwb')
            for i in range(1000):
                f.write(b'set k%d-%d 0 0 10\r\n0123456789\r\nget k%d-%d\r\n' % (n, i % 50, (n + 1) % 8, i % 50))
                f.flush()
                f.readline()
                while f.readline().strip() != b'END':
                    pass
    clients = [threading.Thread(target=client, args=(n,)) for n in range(8)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()


def redis_load(port):
    subprocess.run(['redis-benchmark', '-p', str(port), '-n', '5000', '-c', '20', '-q'], stdout=subprocess.DEVNULL, timeout=120,
                   check=True)


def measured(t, argv, port, load):
    """Record a server under load, end it, replay it 20 times; the outcome is a note, not a verdict."""
    if not shutil.which(argv[0]):
        t.skip(f'{argv[0]} is not installed (tools/setup test)')
    with open(t.path('out'), 'wb') as out:
        process = subprocess.Popen([t.heddle, 'record', '-o', t.path('trace'), '--', *argv], stdout=out, stderr=out,
                                   stdin=subprocess.DEVNULL, env=t.env, cwd=t.dir, start_new_session=True)
        try:
            wait_for_port(port, process)
            load(port)
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        finally:
            end_session(process)
    ends = [t.replay(timeout=300, options=['--quiet']) for _ in range(20)]
    wrong = [e for e in ends if e.status == DIVERGED]
    t.notes.append(f'{len(ends) - len(wrong)} of {len(ends)} replays without divergence')
    if wrong:
        t.notes.append('the first that diverged said: ' + shorten(wrong[0].err))
    strange = [e for e in ends if e.status not in (DIVERGED, process.returncode, 0)]
    t.check(not strange, f'replay: {strange and strange[0]}')


def case_memcached(t):
    port = free_port()
    user = ['-u', 'root'] if os.geteuid() == 0 else []
    measured(t, ['memcached', '-t', '4', '-l', '127.0.0.1', '-p', str(port), '-U', '0', *user], port, memcached_load)


def case_redis(t):
    port = free_port()
    measured(t, ['redis-server', '--port', str(port), '--save', '', '--appendonly', 'no', '--io-threads', '2'], port, redis_load)


case_memcached.only_soak = case_redis.only_soak = True
