"""Servers that nobody here wrote, recorded under load, ended by a signal, and replayed.

Exact are those that keep to locks and (on aarch64) atomics: redis, and python3 as long as nobody asks for its
interpreter lock. The others read, without any lock, words that other threads write. Nothing in an unmodified binary
shows the order of these accesses, so a replay may find another value there than the recording did. Which they are is
said at each.
"""
import platform

from harness import DIVERGED, shorten
from servers import SERVERS, record


def exactly(t, name):
    t.replays(record(t, SERVERS[name]))


def measure(t, name, reason):
    """How many replays were exact; the others must have been noticed as divergences, with the likely cause. No verdict
    else."""
    recorded, exact, first = record(t, SERVERS[name]), 0, None
    for n in range(t.count(5, 20)):
        again = t.replay(timeout=120)
        if again.status == DIVERGED and b'a data race, or a lock that is not pthread' in again.err:
            first = first or again.err
        else:
            t.check((again.status, again.out) == (recorded.status, recorded.out), f'replay {n + 1}: neither exact nor diverged: {again}')
            exact += 1
    if first:
        t.notes.append('the first that diverged said: ' + shorten(first))
    t.skip(f'{exact} of {n + 1} replays were exact: {reason}')


def case_memcached(t):
    """Four workers, a listener, four threads that clean up; says on stderr what each connection did, in what order.
    Without a second that begins at the wrong moment it is exact."""
    measure(t, 'memcached -vv', 'its first thread sets current_time once a second, without a lock; the one that maintains the lists '
            'looks at it, and takes locks when a second is over')


def case_redis(t):
    """One thread serves, others do slow work behind it: closing, syncing and freeing."""
    exactly(t, 'redis')


def case_redis_io_threads(t):
    """Its threads poll words with atomic loads, which are ordered where they can be told from others."""
    if platform.machine() == 'aarch64':
        exactly(t, 'redis, 4 io-threads')
        return
    measure(t, 'redis, 4 io-threads', 'its threads poll io_threads_pending[] with atomic loads, and take a lock when they have seen '
            'nothing for long enough; how often is not recorded')


def case_python3(t):
    """A thread for each client and workers behind a queue. Nobody waits so long for the interpreter lock that he asks
    for it."""
    exactly(t, 'python3')


def case_python3_switching(t):
    measure(t, 'python3, switching', 'who waits too long for the interpreter lock sets a flag that its holder looks at between two '
            'instructions of the script, without a lock')


def case_apache2(t):
    measure(t, 'apache2', 'its workers hand memory back through a list without lock (recycled_pools), and its listener reads when '
            'connections expire (queues_next_expiry), which workers write')
