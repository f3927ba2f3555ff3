"""What has to be noticed: a changed binary, entries edited with their checksums made right again."""
import os
import re
import shutil
import struct

import tracefile
from harness import CANNOT, DIVERGED, ROOT, Failure

SMALL = os.path.join(ROOT, 'tests', 'programs', 'changing.c')


def recorded(t):
    program = t.compile(SMALL, name='hostile/changing')
    outcome = t.record([program])
    t.check(outcome.status == 0, f'recording: {outcome}')
    return outcome


def edited(t, edit, status=DIVERGED):
    """Record, let edit(log) change the first process's stream, replay: must be called diverged, or damaged."""
    recorded(t)
    log = tracefile.Log(tracefile.logs(t.path('trace'))[0])
    edit(log)
    log.write()
    tracefile.change_meta(t.path('trace'))
    again = t.replay()
    t.check(again.status == status, f'expected exit {status}, got {again}')
    t.check(b'heddle:' in again.err, 'no message')
    return again.err.decode(errors='replace')


def calls(log):
    return [e for e in log.entries() if e.kind == tracefile.ENTRY_SYSCALL]


def last_write(log):
    """The write of the program's output: it has a hash of what was written."""
    return next(e for e in reversed(calls(log)) if any(b[1] == tracefile.BLOCK_HASH for b in e.blocks()))


def change_block(entry, kind, offset):
    at = next(b[0] for b in entry.blocks() if b[1] == kind)
    entry.data[at + 16 + offset] ^= 1


def case_unedited(t):
    """The control: rewriting a log without a change is still an exact replay."""
    outcome = recorded(t)
    log = tracefile.Log(tracefile.logs(t.path('trace'))[0])
    log.write()
    tracefile.change_meta(t.path('trace'))
    t.replays(outcome)


def case_edited_output(t):
    """The hash of a write: the program writes something else than was recorded."""
    def edit(log):
        change_block(last_write(log), tracefile.BLOCK_HASH, 0)
    edited(t, edit)


case_edited_output.quick = True


def case_edited_time(t):
    """A clock's answer: the program prints it, so the next write differs."""
    def edit(log):
        # CLOCK_MONOTONIC, whose nanoseconds are printed; time() also reads a clock, but uses only the seconds.
        clock = [e for e in calls(log) if len(e.args()) == 2 and e.args()[0] == 1 and
                 any(b[1] == tracefile.BLOCK_OUT and len(b[4]) == 16 for b in e.blocks())]
        t.check(clock, 'no clock_gettime in the trace')
        change_block(clock[0], tracefile.BLOCK_OUT, 8)
    edited(t, edit)


def case_edited_result(t):
    """getpid's result, which the program prints. Numbers: 172 on aarch64, 39 on x86-64."""
    def edit(log):
        pid = [e for e in calls(log) if e.nr == (172 if os.uname().machine == 'aarch64' else 39)]
        t.check(pid, 'no getpid in the trace')
        pid[-1].put('<q', 8, pid[-1].result + 1)
    edited(t, edit)


def case_edited_number(t):
    def edit(log):
        entry = calls(log)[len(calls(log)) // 2]
        entry.put('<H', 4, entry.nr ^ 1)
    edited(t, edit)


def case_edited_argument(t):
    def edit(log):
        entry = last_write(log)
        entry.put('<Q', 16 + 16, entry.args()[2] + 1)
    edited(t, edit)


def case_entry_removed(t):
    def edit(log):
        chunk = next(c for c in log.chunks if last_write(log) in c)
        chunk.remove(calls(log)[-3])
    edited(t, edit)


def case_entry_repeated(t):
    def edit(log):
        chunk = next(c for c in log.chunks if last_write(log) in c)
        at = chunk.index(last_write(log))
        chunk.insert(at, tracefile.Entry(chunk[at].data))
    edited(t, edit)


def case_edited_start(t):
    """Numbers of arguments and variables whose sum is right, since it overflows."""
    def edit(log):
        start = log.entries()[0]
        at, data = next((b[0], b[4]) for b in start.blocks() if b[1] == tracefile.BLOCK_START)
        argc = at + 16 + len(data) - 40         # before what is shown, and whether it was forked
        count = sum(struct.unpack_from('<QQ', start.data, argc))
        start.put('<Q', argc, (1 << 64) - 1)
        start.put('<Q', argc + 8, count + 1)
    t.check('wrong START entry' in edited(t, edit, CANNOT), 'another message')


def case_edited_file(t):
    """A saved file whose name leads elsewhere: neither a replay nor a debugger goes there."""
    for name in (b'..', b'../x', b'.x', b''):
        def edit(log, name=name):
            entry, at, key = next((e, b[0], b[4]) for e in log.entries() for b in e.blocks() if b[1] == tracefile.BLOCK_FILE)
            entry.data[at + 16:at + 16 + len(key)] = name.ljust(len(key), b'\0')
        t.check('the name of a saved file that cannot be one' in edited(t, edit, CANNOT), f'{name}: another message')
        shutil.rmtree(t.path('trace'))


def case_edited_place(t):
    """A write at a place in the order of all that needs more memory than the trace can be worth."""
    def edit(log):
        entry, at = next((e, b[0]) for e in calls(log) for b in e.blocks() if b[1] == tracefile.BLOCK_SHOWN)
        entry.put('<Q', at, 1 << 30)
    t.check('impossible place' in edited(t, edit, CANNOT), 'another message')


def case_message_says_where(t):
    """The first difference is told with event, what was recorded, what happened."""
    def edit(log):
        change_block(last_write(log), tracefile.BLOCK_HASH, 0)
    text = edited(t, edit)
    for word in ('event', 'recorded', 'write'):
        t.check(re.search(word, text), f'the message does not say "{word}":\n{text}')


def change_binary(t):
    """Make the saved program print something else. Returns the name of its file and its new contents."""
    recorded(t)
    files = t.path('trace', 'files')
    program = t.compile(SMALL, name='hostile/changing')
    with open(program, 'rb') as file:
        whole = file.read()
    for name in os.listdir(files):
        with open(os.path.join(files, name), 'rb') as file:
            data = file.read()
        if data == whole:
            at = data.index(b'ids %d %d')
            data = data[:at] + b'IDS' + data[at + 3:]
            tracefile.rewrite(os.path.join(files, name), data)
            return name, data
    raise Failure(f'the program is not in {files}')


def case_changed_binary(t):
    """A saved file is not what was saved: its checksum says so."""
    name, _ = change_binary(t)
    again = t.replay()
    t.check(again.status == CANNOT and name.encode() in again.err, f'expected {CANNOT} and a name, got {again}')


def case_changed_binary_with_its_checksum(t):
    """The same with the checksum made right: the program then does something else, and that is noticed."""
    name, data = change_binary(t)

    def seal(meta):
        next(f for f in meta['files'] if f['name'] == name)['hash'] = f'{tracefile.xxh64(data):016x}'
    tracefile.change_meta(t.path('trace'), seal)
    again = t.replay()
    t.check(again.status == DIVERGED and b'heddle:' in again.err, f'expected {DIVERGED}, got {again}')


def case_end_cut_off(t):
    """A stream that ends at a whole entry, its own sums right, but before the end that meta.json tells of."""
    recorded(t)
    log = tracefile.Log(tracefile.logs(t.path('trace'))[0])
    del log.chunks[-1][-4:]
    log.write()
    again = t.replay()
    t.check(again.status == CANNOT and b'heddle:' in again.err, f'expected {CANNOT}, got {again}')


def case_process_gone(t):
    """The folder of a process is missing."""
    t.check(t.record(['sh', '-c', 'echo one; /bin/echo two; exit 3']).status == 3, 'recording failed')
    streams = tracefile.logs(t.path('trace'))
    t.check(len(streams) >= 2, f'one stream only: {streams}')
    os.unlink(streams[-1])
    again = t.replay()
    t.check(again.status in (CANNOT, DIVERGED) and b'heddle:' in again.err, f'{again}')


def case_two_streams_swapped(t):
    t.check(t.record(['sh', '-c', '/bin/echo one; /bin/echo two; exit 3']).status == 3, 'recording failed')
    a, b = tracefile.logs(t.path('trace'))[-2:]
    os.rename(a, a + '.x')
    os.rename(b, a)
    os.rename(a + '.x', b)
    again = t.replay()
    t.check(again.status in (CANNOT, DIVERGED) and b'heddle:' in again.err, f'{again}')


def case_message_names_the_source(t):
    """The same place as a line of the program's source, found from the trace alone, and the events before it."""
    def edit(log):
        pid = [e for e in calls(log) if e.nr == (172 if os.uname().machine == 'aarch64' else 39)]
        t.check(pid, 'no getpid in the trace')
        pid[-1].put('<H', 4, pid[-1].nr + 1)
    text = edited(t, edit)
    with open(SMALL) as file:
        line = 1 + next(n for n, words in enumerate(file) if 'getpid()' in words)
    t.check(re.search(rf'(at|by) main \(.*changing\.c:{line}\)', text), f'the message does not name main and changing.c:{line}:\n{text}')
    before = re.search(r'last events.*\n((heddle: +\d+  .*\n)+)', text)
    t.check(before and len(before.group(1).splitlines()) == 3, f'the message does not show three events:\n{text}')


def case_diverges_at_a_fault(t):
    """Noticed in our handler of a fault, where the stack that is copied for the message ends: the message must not be
    lost."""
    program = t.compile(os.path.join(ROOT, 'tests', 'hostile', 'parts', 'fault_in_thread.c'), name='hostile/fault_in_thread')
    t.check(t.record([program]).status == 0, 'recording failed')
    log = tracefile.Log(tracefile.logs(t.path('trace'))[1])
    fault = next(e for e in log.entries() if e.kind == tracefile.ENTRY_FAULT)
    fault.put('<q', 8, fault.result ^ 64)
    log.write()
    tracefile.change_meta(t.path('trace'))
    again = t.replay()
    text = again.err.decode(errors='replace')
    t.check(again.status == DIVERGED, f'expected exit {DIVERGED}, got {again}')
    t.check(re.search(r'recorded: fault 11', text), f'the message does not tell what was recorded:\n{text}')


def case_dump_names_the_source(t):
    """dump --lines: where a fault was, in the source."""
    program = t.compile(os.path.join(ROOT, 'tests', 'programs', 'crash.c'), name='hostile/crash')
    t.check(t.record([program]).status < 0, 'the program did not crash')
    text = t.run_well([t.heddle, 'dump', '--lines', t.path('trace')]).out.decode(errors='replace')
    t.check(re.search(r'--- fault SIGSEGV.*\n +at \w+ \(.*crash\.c:\d+\)', text), f'no line of crash.c:\n{text[-600:]}')


def case_message_names_the_source_of_a_child(t):
    """In a forked process: what was mapped, it has from its parent."""
    program = t.compile(os.path.join(ROOT, 'tests', 'hostile', 'parts', 'child.c'), name='hostile/child')
    t.check(t.record([program]).status == 0, 'recording failed')
    log = tracefile.Log(tracefile.logs(t.path('trace'))[-1])
    t.check('/p1.t' in log.path, f'no child: {log.path}')
    call = next(e for e in calls(log) if e.nr == (173 if os.uname().machine == 'aarch64' else 110))     # getppid
    call.put('<H', 4, call.nr + 1)
    log.write()
    tracefile.change_meta(t.path('trace'))
    again = t.replay()
    text = again.err.decode(errors='replace')
    t.check(again.status == DIVERGED, f'expected exit {DIVERGED}, got {again}')
    t.check(re.search(r'(at|by) be_child \(.*child\.c:\d+\)', text), f'the message does not name be_child and child.c:\n{text}')


def case_shared_memory_is_named(t):
    """Memory that processes share is not ordered: the recording says so, and the divergence that comes of it does,
    too."""
    program = t.compile(os.path.join(ROOT, 'tests', 'programs', 'shared_between_processes.c'), name='hostile/shared_between_processes')
    recorded = t.record([program])
    t.check(recorded.status == 0 and b'share' in recorded.err, f'the recording does not say it: {recorded}')
    told = t.run_well([t.heddle, 'stat', t.path('trace')]).out
    t.check(b'share memory' in told, f'heddle stat does not say it: {told!r}')
    again = t.replay()
    t.check(again.status == DIVERGED and b'MAP_SHARED' in again.err, f'the divergence does not name it: {again}')


def case_shared_file_is_named(t):
    """Two processes that have nothing in common but a file, which both map; one alone is not worth a word."""
    program = t.compile(os.path.join(ROOT, 'tests', 'hostile', 'parts', 'maps_file.c'), name='hostile/maps_file')
    file = t.path('file')
    for script, named in ((f'exec {program} {file}', False), (f'{program} {file}; {program} {file}', True)):
        shutil.rmtree(t.path('trace'), ignore_errors=True)
        recorded = t.record(['/bin/sh', '-c', script])
        t.check(recorded.status == 0 and (b'share' in recorded.err) == named, f'{script}: {recorded}')
        t.replays(recorded)


def case_own_filter_is_named(t):
    """A seccomp filter that the program installs is not in force: it must not be believed to be."""
    program = t.compile(os.path.join(ROOT, 'tests', 'hostile', 'parts', 'own_filter.c'), name='hostile/own_filter')
    t.check(t.run([program]).out == b'refused\n', 'the filter does not work natively')
    recorded = t.record([program])
    t.check(recorded.out == b'made\n' and b'seccomp' in recorded.err, f'the recording does not say it: {recorded}')
    t.check(b'seccomp' in t.run_well([t.heddle, 'stat', t.path('trace')]).out, 'heddle stat does not say it')
    t.replays(recorded)


def case_own_root_is_refused(t):
    """From another root directory the recording could not be reached: refused, with what to do instead."""
    recorded = t.record(['/usr/sbin/chroot', '/', '/bin/true'])
    t.check(recorded.status == 125 and b'run heddle inside it' in recorded.err, f'{recorded}')
    replayed = t.replay()
    t.check(replayed.status == 125, f'{replayed}')


def silent(t, options):
    """A recording of parts/silent.c, and the addresses of the pages that it prints."""
    program = t.compile(os.path.join(ROOT, 'tests', 'hostile', 'parts', 'silent.c'), name='hostile/silent')
    outcome = t.record([program], options=options)
    t.check(outcome.status == 0, f'recording: {outcome}')
    t.replays(outcome)
    return program, [int(word, 16) // 4096 * 4096 for word in outcome.out.split()]


def another_page(t, page, since):
    """The replay names the page; since: and the event up to which all was well."""
    again = t.replay()
    t.check(again.status == DIVERGED, f'expected exit {DIVERGED}, got {again}')
    t.check(re.search(rf'the page at {page:#x} is another than it was'.encode(), again.err), f'the page {page:#x} is not named: {again}')
    t.check(bool(re.search(rb'at event \d+ all pages were as recorded', again.err)) == since, f'since when? {again}')


def edit_random(t):
    log = tracefile.Log(next(path for path in tracefile.logs(t.path('trace')) if path.endswith('t0.log')))
    random = [e for e in calls(log) if any(b[1] == tracefile.BLOCK_OUT and len(b[4]) == 64 for b in e.blocks())]
    t.check(random, 'no getrandom in the trace')
    change_block(random[-1], tracefile.BLOCK_OUT, 8)
    log.write()
    tracefile.change_meta(t.path('trace'))


def edit_data(t, program):
    """A byte of the saved program that nobody reads."""
    with open(program, 'rb') as file:
        whole = file.read()
    for name in os.listdir(t.path('trace', 'files')):
        path = t.path('trace', 'files', name)
        with open(path, 'rb') as file:
            if file.read() != whole:
                continue
        data = whole.replace(b'nobody reads this', b'somebody may read')
        tracefile.rewrite(path, data)

        def seal(meta, name=name, data=data):
            next(f for f in meta['files'] if f['name'] == name)['hash'] = f'{tracefile.xxh64(data):016x}'
        tracefile.change_meta(t.path('trace'), seal)
        return
    raise Failure('the program is not in the trace')


def case_edited_silently(t):
    """What a call gave and the program never looks at: without --paranoid nobody sees it."""
    silent(t, [])
    edit_random(t)
    again = t.replay()
    t.check(again.status == 0, f'without --paranoid: {again}')


def case_edited_silently_paranoid(t):
    """With it, the page is named, and since when."""
    _, (secret, _) = silent(t, ['--paranoid'])
    edit_random(t)
    another_page(t, secret, True)


def case_other_memory(t):
    """A process that begins with other memory than it had: the first look finds it."""
    program, (_, unread) = silent(t, ['--paranoid'])
    edit_data(t, program)
    another_page(t, unread, False)
