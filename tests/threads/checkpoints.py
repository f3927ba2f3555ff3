"""Checkpoints: at some event all threads stop, the process is copied, and the threads go on in the copy.

Taken at random events, so that threads stand anywhere: in the program's code, in locks, conditions, joins, system
calls, at edges. A copy that has lost a register, a wait or a thread prints something else, ends otherwise, or never.
"""
import os
import random
import re
import shutil

from harness import CANNOT, ROOT, USAGE

HERE = os.path.join(ROOT, 'tests', 'threads')
PRIMITIVES = ['atomics', 'barrier', 'blocks_across', 'c11', 'cancel', 'cond_broadcast', 'cond_timed', 'create_join', 'crash_one',
              'exit_running', 'handoff_calls', 'keys', 'libc_state', 'main_ends_first', 'mmap_same', 'mutex_robust', 'mutex_timed',
              'once', 'pipe_pointers', 'producer_consumer', 'rwlock', 'semaphore', 'signals_kill', 'signals_sigwait', 'spin',
              'stdio_shared', 'thread_pool']
if os.uname().machine == 'x86_64':
    PRIMITIVES.remove('atomics')        # those of an unmodified binary are not ordered there


def events(t, trace):
    """(thread, how many events it has done then), for all of them."""
    found, thread = [], None
    for line in t.run_well([t.heddle, 'dump', trace], timeout=120).out.decode(errors='replace').splitlines():
        heading = re.match(r'== p0/t(\d+):', line)
        entry = re.match(r'\s+(\d+)  (?!.* were done$)', line)
        if heading:
            thread = int(heading[1])
        elif entry:
            found.append((thread, int(entry[1]) + 1))
    return found


def go_on(t, was, trace, number):
    """From `number` random events, twice from each."""
    chance, places = random.Random(t.name), events(t, trace)
    for thread, event in chance.sample(places, min(number, len(places))):
        options = [f'--checkpoint={thread}:{event}', '--repeat=2']
        t.hint = f'{t.heddle} replay {" ".join(options)} {trace}'
        again = t.replay(trace, options=options, timeout=120)
        t.check(b'2 of 2 replays exact' in again.err, f'from {thread}:{event}: {again}')
        t.check(again.status == was.status, f'from {thread}:{event}: recorded {was}, now {again}')
        t.check(again.out == was.out, f'from {thread}:{event}: recorded\n{was.out!r}, now\n{again.out!r}')


def go_on_from_file(t, was, trace, number):
    """From `number` random events, in a process that has only the memory: what was shown before and after is what was
    recorded."""
    chance, places, file = random.Random(t.name), events(t, trace), t.path('point')
    for thread, event in chance.sample(places, min(number, len(places))):
        save = [f'--checkpoint={thread}:{event}', f'--save={file}']
        t.hint = f'{t.heddle} replay {" ".join(save)} {trace}, then --from={file}'
        before = t.replay(trace, options=save, timeout=120)
        t.check(before.status == 0 and b'goes on from there' in before.err, f'saved at {thread}:{event}: {before}')
        for times in 1, 2:
            after = t.replay(trace, options=[f'--from={file}', f'--repeat={times}'], timeout=120)
            t.check(after.status == was.status, f'from {thread}:{event}: recorded {was}, now {after}')
            t.check(before.out + after.out == was.out,
                    f'from {thread}:{event}: recorded\n{was.out!r}, now\n{before.out!r}, then\n{after.out!r}')
        os.unlink(file)


def compiled(t, name):
    return t.compile(os.path.join(HERE, name + '.c'), ['-latomic'])


def lost_update(t):
    program = t.path('lost_update')
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '--select=all', '-O2', '-g', '-pthread', '-o', program,
                os.path.join(ROOT, 'tests', 'bugs', 'lost_update.c')], timeout=300)
    return program


def case_checkpoint_anywhere(t):
    """Eight threads in all kinds of places; registers, signal mask, signal stack and shared memory must be there again.

    Without --checksum: the program makes a futex call of its own, which is real at replay and no event, so what it
    leaves in memory need not be the same in any replay. What counts is printed.
    """
    program = t.compile(os.path.join(HERE, 'parts', 'stand_anywhere.c'))
    for n, chaos in enumerate([[], ['--chaos=1']]):
        trace = t.path(f'trace{n}')
        was = t.record([program], trace=trace, options=chaos)
        t.check(was.status == 0, f'recording: {was}')
        go_on(t, was, trace, t.count(5, 100))


def case_checkpoint_all_ending(t):
    """Threads that have said that they end, and not ended yet: the copy must not wait for them, nor keep their
    stacks."""
    program = t.compile(os.path.join(HERE, 'parts', 'all_ending.c'))
    was = t.record([program])
    t.check(was.status == 0, f'recording: {was}')
    go_on(t, was, t.path('trace'), t.count(20, 400))


def each_primitive(t, go_on_somehow):
    for name in PRIMITIVES:
        trace = t.path(name)
        was = t.record([compiled(t, name)], trace=trace, options=['--checksum'])
        go_on_somehow(t, was, trace, t.count(1, 20))
        shutil.rmtree(trace)


def case_checkpoint_primitives(t):
    """Programs of this folder, at an event or more of each."""
    each_primitive(t, go_on)


def case_checkpoint_hooked(t):
    """A racy program built by heddle-cc: what the order of accesses knows is copied, too."""
    program = lost_update(t)
    for threads in '2', '8':
        trace = t.path('trace' + threads)
        was = t.record([program, threads], trace=trace, options=['--checksum', '--verify'])
        go_on(t, was, trace, t.count(2, 50))


def case_checkpoint_many_threads(t):
    """2,000 threads at once are made again."""
    was = t.record([compiled(t, 'many_threads')], timeout=240)
    go_on(t, was, t.path('trace'), 3)


case_checkpoint_many_threads.only_soak = True


def case_checkpoint_saved_anywhere(t):
    """As case_checkpoint_anywhere, in a process of its own: what the kernel kept of the old one is gone."""
    program = t.compile(os.path.join(HERE, 'parts', 'stand_anywhere.c'))
    was = t.record([program])
    t.check(was.status == 0, f'recording: {was}')
    go_on_from_file(t, was, t.path('trace'), t.count(5, 50))


def case_checkpoint_saved_primitives(t):
    """The same with the programs of this folder, and with --checksum: all memory at the end is as recorded."""
    each_primitive(t, go_on_from_file)


def case_checkpoint_saved_hooked(t):
    """The same with a racy program under several orders, and what their windows of the order log held."""
    program = lost_update(t)
    for order in 'region', 'global', 'tplay':
        trace = t.path(order)
        was = t.record([program, '4'], trace=trace, options=['--checksum', '--verify', '--order=' + order])
        go_on_from_file(t, was, trace, t.count(2, 20))


def case_checkpoint_saved_heap(t):
    """Memory of all kinds, before and after: the heap grows from where it was, files are mapped as they were."""
    program = t.compile(os.path.join(HERE, 'parts', 'saved_memory.c'))
    was = t.record([program], options=['--checksum'])
    t.check(was.status == 0, f'recording: {was}')
    go_on_from_file(t, was, t.path('trace'), t.count(4, 40))


def case_checkpoint_saved_bad_input(t):
    """A file that is damaged, or of something else, and what cannot be saved."""
    trace, file = t.path('trace'), t.path('point')
    t.record(['/bin/echo', 'x'])
    t.record(['/bin/echo', 'y'], trace=t.path('other'))
    save = ['--checkpoint=0:3', f'--save={file}']
    t.check(t.replay(options=save).status == 0, 'not saved')
    whole = open(file, 'rb').read()

    def refused(options, why, trace=trace, status=CANNOT):
        again = t.replay(trace, options=options)
        t.check(again.status == status and why in again.err, f'{options}: {again}')

    refused(save, b'new file')
    refused([f'--from={file}'], b'another recording', trace=t.path('other'))
    places = [0, 9, 24, 40, 64 + 32, len(whole) // 2, len(whole) - 1, *random.Random(1).sample(range(len(whole)), 20)]
    for place in places:
        with open(file, 'wb') as out:
            out.write(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1:])
        refused([f'--from={file}'], b'heddle: ')
    for size in 0, 1, 63, 64, 72, len(whole) - 1:
        with open(file, 'wb') as out:
            out.write(whole[:size])
        refused([f'--from={file}'], b'heddle: ')
    refused([f'--from={t.path("nothing")}'], b'No such file')
    refused([f'--from={t.path("trace")}'], b'no checkpoint')
    nowhere = t.path('nowhere')
    refused(['--checkpoint=0:999999', f'--save={nowhere}'], b'does not come to event')
    t.check(not os.path.exists(nowhere), 'a checkpoint that was not reached left a file')
    t.record(['/bin/sh', '-c', 'true | true'], trace=t.path('several'))
    refused(['--checkpoint=0:5', f'--save={nowhere}'], b'several', trace=t.path('several'))
    for options in ([f'--save={nowhere}'], [*save, '--repeat=2'], [*save, '--gdb'], [f'--from={file}', '--checkpoint=0:1'],
                    [f'--from={file}', '--pid=1']):
        refused(options, b'heddle help replay', status=USAGE)


def case_checkpoint_bad_input(t):
    was = t.record(['/bin/echo', 'x'])
    t.check(was.status == 0, f'recording: {was}')
    for text in '', '1', ':', '1:', ':1', 'a:1', '1:a', '-1:1', '1:-1', '1:1:1', '99999999999:1', '0:99999999999999999999':
        again = t.replay(options=['--checkpoint=' + text])
        t.check(again.status == USAGE and b'THREAD:EVENT' in again.err, f'--checkpoint={text}: {again}')
    for text in '0:999999', '7:1':
        again = t.replay(options=['--checkpoint=' + text])
        t.check(again.status == CANNOT and b'does not come to event' in again.err, f'--checkpoint={text}: {again}')
    again = t.replay(options=['--checkpoint=0:1', '--gdb'])
    t.check(again.status == USAGE, f'with --gdb: {again}')
    t.record(['/bin/sh', '-c', 'true | true'], trace=t.path('several'))
    again = t.replay(t.path('several'), options=['--checkpoint=0:5'])
    t.check(again.status == CANNOT and b'several' in again.err, f'several processes: {again}')
