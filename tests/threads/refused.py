"""Threads that libc makes itself: nobody announces them, and nobody sees their locks."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def case_threads_of_libc(t):
    program = t.compile(os.path.join(HERE, 'parts', 'libc_threads.c'), ['-pthread'], name='libc_threads')
    for what in 'timer', 'queue', 'names', 'aio', 'list':
        t.check(t.run([program, what]).status == 0, f'{what}: it does not run without Heddle')
        recorded = t.record([program, what], trace=t.path(what))
        t.check(recorded.status == 122 and b'libc start a thread of its own' in recorded.err, f'{what}: {recorded}')
        t.check(b'in a thread that it creates itself' in recorded.err, f'{what}: it is not said what to do: {recorded}')
        replayed = t.replay(t.path(what))
        t.check(replayed.status == 0 and b'the recording ends here' in replayed.err, f'{what}: {replayed}')
