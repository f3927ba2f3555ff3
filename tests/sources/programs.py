"""Programs that nobody here wrote, built from Debian's sources by heddle-cc: with their data races, recorded and
replayed.

Every access of theirs is hooked (--select=all), or those that may race (--select=races), under the order that a user
gets. What threads/servers.py can only measure in Debian's binaries, since they race, must be exact here. How each is
built: tests/debian.py.
"""
import os
import random

from debian import built
from servers import APACHE_ENDS, Server, load_apache, load_memcached, load_redis, record, start_apache, start_memcached, start_redis

WORDS = [bytes(random.Random(n).choices(b'abcdefghijklmnopqrstuvwxyz', k=2 + n % 9)) for n in range(3000)]


def make_input(folder):
    rng = random.Random(1)
    with open(os.path.join(folder, 'input'), 'wb') as file:
        for _ in range(40000):
            file.write(b' '.join(rng.choices(WORDS, k=12)) + b'\n')


def compressor(t, program, *options):
    t.reproduce([program, *options, '-c', 'input'], make=make_input, timeout=240)


def served(t, server):
    t.replays(record(t, server), timeout=240)


# ---- compressors -----------------------------------------------------------------------------------------------------

def case_pbzip2(t):
    compressor(t, built(t, 'pbzip2'), '-p4', '-k', '-b1')


def case_pbzip2_races(t):
    compressor(t, built(t, 'pbzip2', 'races'), '-p4', '-k', '-b1')


def case_pbzip2_back(t):
    program = built(t, 'pbzip2')
    t.reproduce(['sh', '-c', f'{program} -p4 -b1 input && {program} -d -p4 -v -c input.bz2 | sha256sum'], make=make_input, timeout=240)


def case_pbzip2_verified(t):
    t.reproduce([built(t, 'pbzip2'), '-p4', '-k', '-b1', '-c', 'input'], make=make_input, timeout=240, options=['--verify', '--chaos'])


def case_pigz(t):
    compressor(t, built(t, 'pigz'), '-p4', '-k')


def case_zstd(t):
    compressor(t, built(t, 'libzstd'), '-T4', '-B1MiB', '-q')


def case_sqlite3(t):
    """Four threads with a connection each to one database in memory, whose cache they share."""
    t.reproduce([built(t, 'sqlite3')], varies=True, timeout=240)


# ---- servers under load ----------------------------------------------------------------------------------------------

def memcached(t, select, requests, *options):
    served(t, Server('memcached', [], start_memcached(*options, program=built(t, 'memcached', select)),
                     lambda port: load_memcached(port, requests)))


def case_memcached(t):
    """Four workers that share a hash table behind striped locks, and a clock that is read without one."""
    memcached(t, 'all', 500, '-vv')


def case_memcached_busy(t):
    memcached(t, 'all', 4000)


def case_memcached_races(t):
    memcached(t, 'races', 4000)


def redis(t, select, io_threads, requests):
    served(t, Server(f'redis, {io_threads} io-threads', ['redis-benchmark'], start_redis(io_threads, program=built(t, 'redis', select)),
                     lambda port: load_redis(port, requests)))


def case_redis(t):
    redis(t, 'all', 1, 1000)


def case_redis_races(t):
    redis(t, 'races', 1, 1000)


def case_redis_io_threads(t):
    """Threads that poll io_threads_pending[] with atomic loads."""
    redis(t, 'all', 4, 100)


def case_redis_io_threads_races(t):
    redis(t, 'races', 4, 100)


def case_apache2(t):
    """mpm_worker in one process: a thread that listens, and eight that answer."""
    served(t, Server('apache2, worker', ['ab'], start_apache(built(t, 'apache2'), modules=''), lambda port: load_apache(port, 100),
                     ends=APACHE_ENDS))


# ---- C++, built by cmake ------------------------------------------------------------------------------------

def case_leveldb(t):
    """A log-structured store with skip lists that are read without a lock, and a thread that compacts."""
    t.reproduce([built(t, 'leveldb'), '--benchmarks=fillrandom,readwhilewriting,readrandom,compact,deleterandom', '--threads=4', '--num=3000',
                 '--write_buffer_size=200000', '--db=store'], varies=True, timeout=240)


for _case in [c for name, c in list(globals().items()) if name.startswith('case_')]:
    _case.only_soak = True
