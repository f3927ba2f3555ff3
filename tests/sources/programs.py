"""Programs that nobody here wrote, built from Debian's sources by heddle-cc: with their data races, recorded and replayed.

Every access of theirs is hooked (--select=all), under the order that a user gets. What threads/servers.py can only measure in
Debian's binaries, since they race, must be exact here.
"""
import os
import random

from debian import built
from servers import Server, load_memcached, load_redis, record, start_memcached, start_redis

MAKE = 'make -j2 AR=heddle-ar RANLIB=heddle-ranlib'
PARTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'parts')
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

def pbzip2(t):
    """Its C++ is older than C++11, where "..."PRIuMAX is one word."""
    return built(t, 'pbzip2', f'{MAKE} pbzip2 CXX="heddle-c++ -std=c++98 -Wno-reserved-user-defined-literal"', 'pbzip2')


def case_pbzip2(t):
    compressor(t, pbzip2(t), '-p4', '-k', '-b1')


def case_pbzip2_back(t):
    program = pbzip2(t)
    t.reproduce(['sh', '-c', f'{program} -p4 -b1 input && {program} -d -p4 -v -c input.bz2 | sha256sum'], make=make_input, timeout=240)


def case_pbzip2_verified(t):
    t.reproduce([pbzip2(t), '-p4', '-k', '-b1', '-c', 'input'], make=make_input, timeout=240, options=['--verify', '--chaos'])


def case_pigz(t):
    compressor(t, built(t, 'pigz', f'{MAKE} pigz CC=heddle-cc', 'pigz'), '-p4', '-k')


def case_zstd(t):
    compressor(t, built(t, 'libzstd', f'{MAKE} -C programs zstd CC=heddle-cc', 'programs/zstd'), '-T4', '-B1MiB', '-q')


def case_sqlite3(t):
    """Four threads with a connection each to one database in memory, whose cache they share."""
    program = built(t, 'sqlite3', f'''./configure CC=heddle-cc --disable-tcl && make sqlite3.c
        heddle-cc -O2 -g -pthread -DSQLITE_THREADSAFE=1 -I. -o threads {PARTS}/sqlite_threads.c sqlite3.c -ldl -lm''', 'threads')
    t.reproduce([program], varies=True, timeout=240)


# ---- servers under load ----------------------------------------------------------------------------------------------

def memcached(t):
    return built(t, 'memcached', f'./configure CC=heddle-cc AR=heddle-ar RANLIB=heddle-ranlib NM=heddle-nm && {MAKE} memcached',
                 'memcached')


def case_memcached(t):
    """Four workers that share a hash table behind striped locks, and a clock that is read without one."""
    served(t, Server('memcached', [], start_memcached('-vv', program=memcached(t)), load_memcached))


def case_memcached_busy(t):
    served(t, Server('memcached', [], start_memcached(program=memcached(t)), lambda port: load_memcached(port, 4000)))


def redis(t):
    """Without its own allocator: ours must know who has which block."""
    return built(t, 'redis', f'{MAKE} -C src redis-server CC=heddle-cc MALLOC=libc OPTIMIZATION=-O2 CFLAGS=-I/usr/include/liblzf '
                 'LDFLAGS="-Wl,-no-as-needed -ldl -latomic -llzf"', 'src/redis-server')


def case_redis(t):
    served(t, Server('redis', ['redis-benchmark'], start_redis(1, program=redis(t)), lambda port: load_redis(port, 1000)))


def case_redis_io_threads(t):
    """Threads that poll io_threads_pending[] with atomic loads."""
    served(t, Server('redis, 4 io-threads', ['redis-benchmark'], start_redis(4, program=redis(t)), lambda port: load_redis(port, 100)))


# ---- C++, built by cmake -----------------------------------------------------------------------------------------------

def case_leveldb(t):
    """A log-structured store with skip lists that are read without a lock, and a thread that compacts."""
    program = built(t, 'leveldb', '''mkdir heddle && cd heddle
        cmake -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=heddle-cc -DCMAKE_CXX_COMPILER=heddle-c++ \\
            -DCMAKE_AR=$(command -v heddle-ar) -DCMAKE_RANLIB=$(command -v heddle-ranlib) -DLEVELDB_BUILD_TESTS=OFF ..
        make -j2 db_bench''', 'heddle/db_bench')
    t.reproduce([program, '--benchmarks=fillrandom,readwhilewriting,readrandom,compact,deleterandom', '--threads=4', '--num=3000',
                 '--write_buffer_size=200000', '--db=store'], varies=True, timeout=240)


for _case in [c for name, c in list(globals().items()) if name.startswith('case_')]:
    _case.only_soak = True
