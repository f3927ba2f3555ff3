"""heddle replay --gdb: scripted sessions that find the guilty line, and what going back must give."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import cells
import tracefile
from harness import CANNOT, ROOT, USAGE, end_session
from servers import free_port
from sessions import Server, build, documented, hunt, line_of

PARTS = os.path.join(ROOT, 'tests', 'debug', 'parts')


def gdb(t, trace, commands, timeout=600, options=()):
    """What a session prints. Each command by itself: one that fails does not end the session."""
    words = [word for line in commands for word in ('-ex', line)]
    outcome = t.run(['sh', '-c', 'exec "$@" 2>&1', 'sh', t.heddle, 'replay', '--gdb', *options, trace, '--', '-nx', '-batch', *words],
                    timeout=timeout)
    text = outcome.out.decode(errors='replace')
    for wrong in ('Traceback', 'Python Exception', 'Fatal signal', 'diverged'):
        t.check(wrong not in text, f'{wrong} in\n{text}')
    return text


def expect(t, text, *patterns):
    """Each pattern is in the text, after the one before."""
    at = 0
    for pattern in patterns:
        found = re.compile(pattern, re.M).search(text, at)
        t.check(found, f'no /{pattern}/ in\n{text[at:]}')
        at = found.end()
    return at


def dump_of(t, trace, thread):
    return t.run_well([t.heddle, 'dump', f'--thread={thread}', trace]).out.decode()


def steps(t):
    source = os.path.join(PARTS, 'steps.c')
    program = t.path('steps')
    t.run_well(['gcc', '-O0', '-g', '-o', program, source])
    recorded = t.record([program], options=['--checksum'])
    t.check(recorded.status == 3, f'recording: {recorded}')
    return source, t.path('trace'), int(recorded.out)


# ---- bugs ----


def case_published_too_early(t):
    """A call of address 0: nobody has written the function, its writer stands before that line, and the step before is
    the call."""
    source = os.path.join(PARTS, 'published.c')
    recorded = t.record([build(t, source)])
    t.check(recorded.status == -11, f'recording: {recorded}')
    text = gdb(t, t.path('trace'), ['continue', 'up', 'print mine->run', 'heddle who mine->run', 'heddle who board', 'heddle when',
                                    'watch board', 'reverse-continue'])
    expect(t, text, r'SIGSEGV', rf'published\.c:{line_of(source, "line of the crash")}', r'= .*0x0$', 'Nobody has changed mine->run',
           rf'board was changed last by thread 1, .*in post at published.c:{line_of(source, "board = &job")};',
           rf'thread 1: .*in post at published.c:{line_of(source, "line of the publisher")}',
           rf'^\[thread 1, ', rf'post .*published.c:{line_of(source, "board = &job")}')


def case_double_checked(t):
    """An object that is used before it has its value: the flag was set by another thread, a line too early."""
    source = os.path.join(cells.BUGS, 'double_checked.c')
    trace = hunt(t, build(t, source), '2')
    text = gdb(t, trace, [f'break {line_of(source, "empty[me]++")}', 'continue', 'heddle when', 'heddle who objects[i].ready', 'reverse-step'])
    found = re.search(r'^\* thread (\d+): ', text, re.M)
    t.check(found, f'no selected thread in\n{text}')
    other = {'1': '2', '2': '1'}[found.group(1)]
    expect(t, text, rf'changed last by thread {other}, .*in get at double_checked.c:{line_of(source, "o->ready = 1")};',
           r'^#\d .*double_checked.c:\d+')


def case_lost_update(t):
    """The wrong sum at the end: who wrote an account last, and what did the account hold before?"""
    source = os.path.join(ROOT, 'examples', 'bank.c')
    trace = hunt(t, build(t, source))
    text = gdb(t, trace, [f'break {line_of(source, "return sum")}', 'continue', 'print accounts[1]', 'heddle who accounts[1]',
                          'watch accounts[1]', 'reverse-continue', 'info threads', 'up', 'heddle when', 'continue', 'print accounts[1]',
                          'heddle races'])
    values = re.findall(r'^\$\d+ = (\d+)$', text, re.M)
    t.check(len(values) == 2 and values[0] == values[1], f'after going back and forth the account is another: {values}\n{text}')
    expect(t, text, r'accounts\[1\] was changed last by thread [123], .*in transfer at bank.c:\d+; it is ' + values[0],
           r'^\* thread [123]: ', r'race on accounts', r'bank\.c:\d+:\d+ in transfer, thread [123]')


def case_use_after_free(t):
    """From the crash back to who cleared the name, in another thread that is about to free it, or has."""
    source = os.path.join(cells.BUGS, 'use_after_free.c')
    trace = hunt(t, build(t, source), '2')
    text = gdb(t, trace, ['continue', 'print s->name', 'heddle who s->name', 'heddle when'])
    expect(t, text, r'SIGSEGV', rf'use_after_free\.c:{line_of(source, "while (*name++)")}', r'= 0x0$',
           r's->name was changed last by thread 1, .*close_session at use_after_free\.c:\d+; it is 0x0 now',
           r'^  thread 1: ', rf'^\* thread 2: .*in look at use_after_free\.c:{line_of(source, "while (*name++)")}')


def case_torn_read(t):
    """A number whose halves are of two writes: where it is read, and who wrote."""
    source = os.path.join(cells.BUGS, 'torn_read.c')
    trace = hunt(t, build(t, source), '2')
    text = gdb(t, trace, [f'break {line_of(source, "torn[me] +=")} if high != low', 'continue', 'print high - low', 'heddle when',
                           'heddle who number.high'])
    high = line_of(source, 'number.high = me')
    t.check('$1 = 0' not in text, f'the halves are the same in\n{text}')
    expect(t, text, r'^\$1 = \d+$', r'^\* thread 2: .*in work at torn_read', rf'number\.high was changed last by thread 1, .*in work at torn_read\.c:{high};')


# ---- there and back ----


def case_steps_back(t):
    """Line by line to the beginning: the rounds of a loop in their order, with their values."""
    source, trace, total = steps(t)
    text = gdb(t, trace, [f'break {line_of(source, "line of the end")}', 'continue', 'print sum', 'print last', 'reverse-next',
                          'reverse-step', 'reverse-step', 'print sum', 'reverse-finish', 'print sum', 'reverse-continue', 'next'])
    sums = [int(n) for n in re.search(r'= \{(.*)\}', text).group(1).split(',')]
    t.check(sums[4] == total, f'{sums}, printed {total}')
    expect(t, text, rf'\$1 = {total}$', r'^#0 .*main .*steps.c:\d+', r'^#0 .*steps.c:\d+', r'^#0 .*add .*steps.c:\d+',
           rf'\$3 = ({sums[4]}|{sums[3]})$', r'^#0 .*add .*steps.c:\d+', rf'\$4 = {sums[3]}$', r'No stop before', r'main \(\)')


def case_steps_back_at_thread_start(t):
    """Where no line is before: the search runs threads to their end under gdb's hands, and the user stands where they
    stood."""
    recorded = t.record([t.compile(os.path.join(PARTS, 'between.c'), name='debug/between')])
    t.check(recorded.status == 1, f'recording: {recorded}')
    text = gdb(t, t.path('trace'), ['heddle goto 1:1', *['reverse-step'] * 3, 'heddle when'])
    for wrong in ('internal-error', 'No such process', 'Cannot access', 'Cannot execute'):
        t.check(wrong not in text, f'{wrong} in\n{text}')
    expect(t, text, *['line before was not found'] * 3, r'^\* thread 1: event 1,')


def case_watch_backwards(t):
    """Each change of a variable, from the last to the first."""
    source, trace, _ = steps(t)
    text = gdb(t, trace, [f'break {line_of(source, "line of the end")}', 'continue', 'print last', 'delete', 'watch sum',
                          *['reverse-continue', 'print sum'] * 6, 'heddle when'])
    sums = [int(n) for n in re.search(r'= \{(.*)\}', text).group(1).split(',')]
    seen = [int(n) for n in re.findall(r'^\$\d+ = (\d+)$', text, re.M)]
    # stopped after the change, as gdb does; the first stop is the last change
    t.check(seen == [*reversed(sums), 0], f'sums {sums}, seen backwards {seen}\n{text}')


def case_temporary_breakpoint_backwards(t):
    """Back to the last call, not to the first; then it is gone. One that has another stop behind it stays. What is to be
    ignored on the way forward is not used up."""
    source, trace, _ = steps(t)
    text = gdb(t, trace, [f'break {line_of(source, "line of the end")}', 'continue', 'print last', 'tbreak add', f'tbreak {line_of(source, "srand")}',
                          'reverse-continue', 'print sum', 'info breakpoints', 'reverse-continue', 'info breakpoints', 'break add', 'ignore $bpnum 3',
                          'continue', 'print sum', 'reverse-continue', 'print sum', 'ignore $bpnum 2', 'reverse-continue', 'print sum',
                          'info breakpoints'])
    sums = [int(n) for n in re.search(r'= \{(.*)\}', text).group(1).split(',')]
    expect(t, text, r'^Temporary breakpoint 5', r'^Temporary breakpoint 6', rf'\$2 = {sums[3]}$', r'^6 +breakpoint +del +y', r'srand', r'^Num',
           rf'\$3 = {sums[2]}$', rf'\$4 = {sums[1]}$', rf'\$5 = {sums[0]}$', r'ignore next 2 hits')
    t.check(len(re.findall(r'^[56] +breakpoint +del', text, re.M)) == 1, f'a temporary breakpoint is left in\n{text}')


def case_watch_local_backwards(t):
    """gdb forgets a watchpoint of a local variable when the run is ended: that is said, and nobody is led to the
    beginning."""
    source, trace, _ = steps(t)
    text = gdb(t, trace, [f'break {line_of(source, "line of the end")}', 'continue', 'watch now.tv_nsec', 'reverse-continue', 'bt',
                          'watch -l now.tv_nsec', 'reverse-continue', 'bt'])
    expect(t, text, r'`watch now.tv_nsec` is gone, .*`watch -l now.tv_nsec` stays', 'not known where',
           rf'^#0 .*main .*:{line_of(source, "line of the end")}$', rf'^#\d .*main .*:{line_of(source, "clock_gettime(")}$')
    t.check('No stop before' not in text, f'led to the beginning in\n{text}')


def both_threads_backwards(t, every):
    source = os.path.join(PARTS, 'both.c')
    recorded = t.record([t.compile(source, ['-O0'], name='debug/both')])
    t.check(recorded.status == 0, f'recording: {recorded}')
    text = gdb(t, t.path('trace'), [f'heddle checkpoints every {every}', f'break {line_of(source, "line of the end")}', 'continue', 'heddle checkpoints',
                                    'break call', *['reverse-continue', 'printf "at %d %d\\n", who, number'] * 10, 'reverse-continue'])
    seen = re.findall(r'^at (\d) (\d)$', text, re.M)
    for who in '01':
        t.check([n for w, n in seen if w == who] == list('54321'), f'calls {seen} in\n{text}')
    expect(t, text, 'No stop before')
    return text


def case_both_threads_backwards(t):
    """A breakpoint that two threads come to at the same time: each call once."""
    both_threads_backwards(t, 0)


def case_both_threads_backwards_checkpoints(t):
    """The same, where the search begins at checkpoints."""
    text = both_threads_backwards(t, 0.01)
    t.check(re.search(r'^  \d+: thread', text, re.M), f'no checkpoint in\n{text}')


def case_line_of_the_write(t):
    """The line that wrote, not the one that comes next, of a program without hooks."""
    source, trace, _ = steps(t)
    text = gdb(t, trace, [f'break {line_of(source, "line of the end")}', 'continue', 'heddle who sum', 'heddle who last[4]'])
    expect(t, text, rf'^sum was changed .*in add at steps.c:{line_of(source, "line of the sum")};',
           rf'^last\[4\] was changed .*in main at steps.c:{line_of(source, "line of the call")};')


def case_watch_system_call(t):
    """Back to the system call that changed a variable, and to the store before it."""
    source = os.path.join(PARTS, 'filled.c')
    recorded = t.record([t.compile(source, ['-O0'], name='debug/filled')])
    t.check(recorded.status == 0, f'recording: {recorded}')
    text = gdb(t, t.path('trace'), [f'break {line_of(source, "line of the end")}', 'continue', 'watch -l text[0]',
                                    *['reverse-continue', "print 'filled.c'::text[0]", 'heddle when'] * 2])
    expect(t, text, r"\$1 = 104 'h'$", rf'^\* thread 0: .*main at filled.c:{line_of(source, "line of the call")}',
           r"\$2 = 97 'a'$", rf'^\* thread 0: .*main at filled.c:{line_of(source, "line of the store") + 1}')


def case_goto(t):
    """To an event by its number, forwards and backwards; what is not there is refused."""
    _, trace, total = steps(t)
    write = int(re.search(r'^ *(\d+)  write\(1', dump_of(t, trace, 0), re.M).group(1))
    text = gdb(t, trace, [f'heddle goto 0:{write}', 'print sum', 'heddle when', 'heddle goto 0:3', 'heddle when', f'heddle goto 0:{write}',
                          'print sum', 'heddle goto 9:1', 'heddle goto x', 'heddle goto 0:99999', 'heddle when', 'heddle restart', 'bt'])
    expect(t, text, rf'\$1 = {total}$', rf'^\* thread 0: event {write},', r'^\* thread 0: event 3,', rf'\$2 = {total}$',
           'no thread 9', 'heddle goto THREAD:EVENT', 'no event 99999', 'not running', r'^#0  main ')


def case_goto_order_log(t):
    """To an event that is a piece of the order log: the thread stops there or at what follows it, and does not run on."""
    program = build(t, os.path.join(PARTS, 'far.c'), '-DRACE')
    recorded = t.record([program, '2'])
    t.check(recorded.status == 0, f'recording: {recorded}')
    pieces = [(thread, int(n)) for thread in (1, 2)
              for n in re.findall(r'^ *(\d+)  \d+ bytes of the order log', dump_of(t, t.path('trace'), thread), re.M)]
    t.check(pieces, 'no thread wrote a piece of the order log')
    for thread, event in pieces[:4]:
        text = gdb(t, t.path('trace'), [f'heddle goto {thread}:{event}', 'heddle when'])
        expect(t, text, rf'^\* thread {thread}: event ({event}|{event + 1}),')


def far(t, build_by, every):
    """From the end of a long run back, with checkpoints after so many seconds of work: what the session prints that
    must not depend on them."""
    source = os.path.join(PARTS, 'far.c')
    end = line_of(source, 'line of the end')
    if not os.path.exists(t.path('trace')):
        recorded = t.record([build_by(t, source)], options=['--checksum'])
        t.check(recorded.status == 0, f'recording: {recorded}')
        t.total, t.mark = recorded.out.split()
        # what of a stream's entries are waits and pieces of the order log is chance; each thread has its 30 times
        t.event = re.findall(r'^ *(\d+)  clock_gettime', dump_of(t, t.path('trace'), 2), re.M)[24]
    text = gdb(t, t.path('trace'), [f'heddle checkpoints every {every}', f'break {end}', 'continue', 'print total', 'heddle who total', 'print total',
                                    'heddle checkpoints', 'watch total', *['reverse-continue', 'print total'] * 2, 'heddle checkpoints', 'delete',
                                    'heddle who mark', f'heddle goto 2:{t.event}', 'heddle when', 'heddle checkpoints', 'continue'])
    expect(t, text, rf'\$1 = {int(t.total)}$', rf'total was changed last by thread [12], .*in add at far.c:\d+; it is {int(t.total)} now',
           rf'\$2 = {int(t.total)}$', rf'^#0 .*add .*far.c:\d+', rf'\$3 = {int(t.total)}$',
           rf'mark was changed last by thread [12], .*; it is {int(t.mark)} now', rf'^\* thread 2: event {t.event},', rf'^{int(t.total)} {int(t.mark)}$',
           'exited normally')
    began = re.findall(r'this run began at (\d+|the beginning)', text)
    t.check(len(began) == 3, f'{began} in\n{text}')
    return began, re.findall(r'^\$\d+ = .*|.* was changed last by .*', text, re.M)


def far_and_back(t, build_by):
    without, told = far(t, build_by, 0)
    t.check(without == ['the beginning'] * 3, f'without checkpoints, runs began at {without}')
    began, same = far(t, build_by, 0.02)
    t.check('the beginning' not in began, f'with checkpoints, runs began at {began}')
    t.check(same == told, f'without checkpoints {told}, with them {same}')


def case_steps_back_over_work(t):
    """The line before, where a million rounds without any event lie behind: the function is entered again, and calls
    are stepped over."""
    source = os.path.join(PARTS, 'far.c')
    recorded = t.record([t.compile(source, ['-O0', '-g', '-pthread'], name='debug/far_steps')])
    t.check(recorded.status == 0, f'recording: {recorded}')
    text = gdb(t, t.path('trace'), [f'break {line_of(source, "line of the mark")}', 'continue', 'reverse-next', 'reverse-step', 'reverse-finish',
                                    'reverse-next', 'reverse-next'])
    expect(t, text, r'hit Breakpoint', rf'^#0 +add .*far.c:{line_of(source, "if (round ==")}', rf'^#0 +add .*far.c:{line_of(source, "line of the total")}',
           r'^#0 +add .*far.c:\d+', rf'^#0 +run .*far.c:{line_of(source, "add(compute")}', rf'^#0 +run .*far.c:{line_of(source, "clock_gettime(CLOCK")}')


def case_checkpoints(t):
    """Going back begins at a checkpoint, and gives what a run from the beginning gives."""
    far_and_back(t, lambda t, source: t.compile(source, ['-O0', '-g', '-pthread'], name='debug/far'))


def case_checkpoints_hooked(t):
    """The same of a program built by heddle-cc, with a race: threads are stopped in the middle of hooks, too."""
    far_and_back(t, lambda t, source: build(t, source, '-DRACE'))


def case_checkpoints_no(t):
    """A program of several processes has none; nonsense is refused."""
    t.record(['/bin/sh', '-c', 'i=0; while test $i -lt 20000; do i=$((i+1)); done; /bin/true; true'])
    text = gdb(t, t.path('trace'), ['heddle checkpoints every 0.01', 'heddle checkpoints every x', 'heddle checkpoints nonsense', 'continue', 'heddle checkpoints'])
    expect(t, text, 'every SECONDS, 0: none', 'or heddle checkpoints every SECONDS', 'exited normally', r'^A run leaves one after every 0\.01')
    t.check(not re.search(r'^  \d+: thread', text, re.M), f'there is a checkpoint in\n{text}')


def case_not_disturbed(t):
    """Breakpoints in every round, steps and signals of the debugger's: the run ends as recorded, memory and all."""
    source, trace, total = steps(t)
    text = gdb(t, trace, [f'break {line_of(source, "line of the sum")}', *['continue'] * 3, *['next'] * 3, 'delete', 'stepi 50',
                          'continue'])
    expect(t, text, rf'^{total}$', r'exited with code 03', 'the run is over')


def case_counter_not_disturbed(t):
    """A read of the cycle counter is a fault to the kernel, and none to the user; a real one stays one."""
    program = t.compile(os.path.join(ROOT, 'tests', 'programs', 'counter.c'), name='programs/counter')
    recorded = t.record([program])
    t.check(recorded.status == 0, f'recording: {recorded}')
    text = gdb(t, t.path('trace'), ['continue'])
    expect(t, text, r'exited normally', 'the run is over')
    program = t.compile(os.path.join(ROOT, 'tests', 'programs', 'crash.c'), name='programs/crash')
    t.record([program], trace=t.path('crash'))
    text = gdb(t, t.path('crash'), ['continue', 'print nowhere'])
    expect(t, text, r'SIGSEGV', r'return \*nowhere')


def case_threads_not_disturbed(t):
    """The same with threads, locks and a breakpoint that many of them meet: each stops where it is, and the order
    stays."""
    program = t.compile(os.path.join(ROOT, 'tests', 'threads', 'mutex_normal.c'), name='threads/mutex_normal')
    recorded = t.record([program], options=['--checksum'])
    t.check(recorded.status == 0, f'recording: {recorded}')
    text = gdb(t, t.path('trace'), ['break pthread_mutex_lock', *['continue'] * 12, 'info threads', 'heddle edges', 'heddle when', 'delete',
                                    'continue'])
    expect(t, text, r'pthread_mutex_lock', r'thread 0 (runs|waits)', r'^\*? +thread 0: event', r'exited normally')
    missing = [line for line in recorded.out.decode().split('\n') if line not in text]
    t.check(not missing, f'these lines were not printed: {missing}\n{text}')


def case_deadlock(t):
    """A recording that ended in a deadlock: the debugger gets the threads as they stood."""
    source = os.path.join(ROOT, 'tests', 'threads', 'parts', 'deadlock.c')
    program = t.compile(source, name='threads/deadlock')
    t.run_well([t.heddle, 'hunt', '--timeout=2', '--jobs=1', '--quiet', '-o', t.path('trace'), '--', program])
    text = gdb(t, t.path('trace'), ['continue', 'heddle when', 'heddle edges'])
    place = rf'in take_both at deadlock.c:{line_of(source, "line of the deadlock")}'
    expect(t, text, 'the recording ends here', rf'thread 1: .*{place}', rf'thread 2: .*{place}', r'thread 1 waits for nothing')


def case_program_is_gone(t):
    """Program and libraries come from the trace."""
    source, trace, total = steps(t)
    os.rename(t.path('steps'), t.path('away'))
    text = gdb(t, trace, [f'break {line_of(source, "line of the end")}', 'continue', 'print sum', 'info sharedlibrary'])
    expect(t, text, rf'= {total}$', r'Yes .*heddle-.*/root/.*libc')


def case_library_by_origin(t):
    """Libraries that the program names from its own folder, as bin/../lib, and one with two dots in its name: their
    symbols are there, also when the libraries are not."""
    for name in ('bin', 'lib', 'away'):
        t.folder(name)
    for name in ('near', 'odd..one'):
        function = name.partition('.')[0]
        with open(t.path(f'{function}.c'), 'w') as file:
            file.write(f'int {function}(void)\n{{\n\treturn 3;\n}}\n')
        t.run_well(['gcc', '-g', '-shared', '-fPIC', '-o', t.path('lib', f'lib{name}.so'), t.path(f'{function}.c')])
    with open(t.path('use.c'), 'w') as file:
        file.write('int near(void);\nint odd(void);\nint main(void)\n{\n\treturn near() + odd();\n}\n')
    t.run_well(['gcc', '-g', '-o', t.path('bin', 'use'), t.path('use.c'), '-L' + t.path('lib'), '-lnear', '-l:libodd..one.so',
                '-Wl,-rpath,$ORIGIN/../lib'])
    recorded = t.record([t.path('bin', 'use')])
    t.check(recorded.status == 6, f'recording: {recorded}')
    os.rename(t.path('lib'), t.path('away', 'lib'))
    text = gdb(t, t.path('trace'), ['break near', 'break odd', 'continue', 'continue'])
    expect(t, text, r'^Breakpoint .*near \(\) at .*near\.c:3', r'^Breakpoint .*odd \(\) at .*odd\.c:3')


# ---- other ways in ----


def case_stripped(t):
    """A program without symbols, as Debian's are: the session begins at its first instruction."""
    recorded = t.record(['date', '+%N'])
    t.check(recorded.status == 0, f'recording: {recorded}')
    text = gdb(t, t.path('trace'), ['info symbol $pc', 'break write', 'continue', 'bt', 'delete', 'continue'])
    expect(t, text, r'^No symbol matches', r'^Breakpoint .*write', r'^#0 .*write', re.escape(recorded.out.decode().strip()), r'exited normally')


def case_symbols_of_another_file(t):
    """--program=FILE: a stripped program is debugged with what it was before; another build is refused with both ids,
    and so is one without."""
    source, same = os.path.join(PARTS, 'steps.c'), t.path('same')
    for name, *flags in (['same', '-g'], ['other', '-g', '-O1'], ['none', '-g', '-Wl,--build-id=none']):
        t.run_well(['gcc', '-O0', *flags, '-Wl,--build-id' if name != 'none' else '-g', '-o', t.path(name), source])
    t.run_well(['strip', '-o', t.path('bare'), same])
    t.run_well(['objcopy', '--only-keep-debug', same, t.path('symbols')])
    ids = {name: re.search(r'Build ID: ([0-9a-f]+)', t.run_well(['readelf', '-n', t.path(name)]).out.decode())[1] for name in ('same', 'other')}
    t.check(t.record([t.path('bare')]).status == 3, 'recording')
    for name in ('same', 'symbols', 'bare'):
        outcome = t.run([t.heddle, 'replay', f'--program={t.path(name)}', t.path('trace')])
        t.check(outcome.status == 3 and not outcome.err, f'{name}: {outcome}')
    for name in ('same', 'symbols'):
        text = gdb(t, t.path('trace'), ['backtrace'], options=[f'--program={t.path(name)}'])
        expect(t, text, r'^#0 .*main .*steps\.c:\d+')
    for name, id in (('other', ids['other']), ('none', 'none'), ('/bin/true', None)):
        outcome = t.run([t.heddle, 'replay', f'--program={t.path(name) if id else name}', t.path('trace')])
        t.check(outcome.status == CANNOT and not outcome.out and (id or '').encode() in outcome.err and ids['same'].encode() in outcome.err,
                f'{name}: {outcome}')
    for name, words in ((source, b'not an ELF file'), (t.path('missing'), b'No such file')):
        outcome = t.run([t.heddle, 'replay', f'--program={name}', t.path('trace')])
        t.check(outcome.status == CANNOT and words in outcome.err, f'{name}: {outcome}')
    t.check(t.record([t.path('none')], trace=t.path('second')).status == 3, 'recording')
    outcome = t.run([t.heddle, 'replay', f'--program={same}', t.path('second')])
    t.check(outcome.status == CANNOT and b'has no build id' in outcome.err and ids['same'].encode() in outcome.err, f'{outcome}')


def case_port(t):
    """gdbserver, and a gdb that knows nothing of heddle."""
    source, trace, total = steps(t)
    with Server(t, trace) as server:
        script = re.search(rb'gdb -x (\S+)', server.said)
        t.check(script, f'it says {server.said!r}')
        outcome = t.run(['gdb', '-q', '-nx', '-batch', '-x', script.group(1).decode(), '-ex', f'target remote 127.0.0.1:{server.port}', '-ex',
                         f'break {line_of(source, "line of the end")}', '-ex', 'continue', '-ex', 'print sum', '-ex', 'continue'], timeout=120)
        expect(t, outcome.out.decode(), rf'\$1 = {total}$', r'exited with code 03')
        server.process.wait(20)


def case_port_in_use(t):
    """Somebody else has the port: heddle says so, and ends."""
    _, trace, _ = steps(t)
    with socket.create_server(('127.0.0.1', 0)) as server:
        outcome = t.run([t.heddle, 'replay', f'--gdb-port={server.getsockname()[1]}', trace])
    t.check(outcome.status == CANNOT and b'in use?' in outcome.err, f'{outcome}')
    for port in ('0', '70000'):
        t.check(t.run([t.heddle, 'replay', f'--gdb-port={port}', trace]).status == USAGE, port)


def case_awkward_names(t):
    """Directories whose names have blanks, quotes and backslashes: of the trace, the work, the symbols, heddle itself."""
    source, trace, total = steps(t)
    awkward = t.folder("it's a \\ \"folder\" {}$x")
    os.rename(trace, os.path.join(awkward, 'trace'))
    os.rename(t.path('steps'), os.path.join(awkward, 'steps'))
    os.mkdir(os.path.join(awkward, 'tmp'))
    shutil.copytree(os.path.join(t.settings.build, 'lib', 'heddle'), os.path.join(awkward, 'lib'))
    t.env.update(TMPDIR=os.path.join(awkward, 'tmp'), HEDDLE_LOADER=os.path.join(awkward, 'lib', 'loader'))
    trace = os.path.join(awkward, 'trace')
    text = gdb(t, trace, [f'break {line_of(source, "line of the end")}', 'continue', 'print sum', 'heddle when'],
               options=[f'--program={os.path.join(awkward, "steps")}'])
    expect(t, text, rf'\$1 = {total}$', r'^\* thread 0: event')
    with Server(t, trace) as server:
        command = re.search(rb'`(gdb .*)`', server.said).group(1).decode()
        outcome = t.run(['sh', '-c', f'{command} -nx -batch -ex "break {line_of(source, "line of the end")}" -ex continue -ex "print sum"'], timeout=120)
        expect(t, outcome.out.decode(), rf'\$1 = {total}$')


def case_terminated(t):
    """Told to end, heddle ends the session and dies of it, and nothing is left."""
    _, trace, _ = steps(t)
    t.env['TMPDIR'] = t.folder('tmp')
    for words in (['--gdb', trace, '--', '-nx'], [f'--gdb-port={free_port()}', trace]):
        process = subprocess.Popen([t.heddle, 'replay', *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=t.env,
                                   cwd=t.dir, start_new_session=True)
        try:
            said = b''
            while b'main' not in said and b'target remote' not in said and process.poll() is None:
                said += os.read(process.stdout.fileno(), 4096)
            os.kill(process.pid, signal.SIGTERM)
            process.wait(20)
        finally:
            end_session(process)
        t.check(process.returncode == -signal.SIGTERM, f'{words[0]}: status {process.returncode}, {said!r}')
        t.check(not os.listdir(t.path('tmp')), f'{words[0]}: left {os.listdir(t.path("tmp"))}')


def case_descriptor_of_nobody(t):
    """A trace that somebody has made up: a file that was opened as a number below every descriptor."""
    _, trace, _ = steps(t)
    log = tracefile.Log(tracefile.logs(trace)[0])
    for entry in log.entries():
        if entry.kind == tracefile.ENTRY_SYSCALL and entry.nr == 56 + 201 * (os.uname().machine == 'x86_64') and entry.result >= 0:
            entry.put('<q', 8, -5000000)
    log.write()
    tracefile.change_meta(trace)
    outcome = t.run([t.heddle, 'replay', '--gdb', trace, '--', '-nx', '-batch'])
    t.check(outcome.status >= 0, f'{outcome}')


def case_machine_interface(t):
    """As VS Code's C/C++ extension does it, with the script and the settings of doc/debugging.md: a breakpoint, a stop,
    threads, a value, and the way back."""
    settings = json.loads(documented('launch.json'))['configurations'][0]
    source, trace, total = steps(t)
    script = t.path(os.path.basename(settings['miDebuggerPath']))
    with open(script, 'w') as file:
        file.write(documented('heddle-gdb'))
    os.chmod(script, 0o755)
    t.check(settings['MIMode'] == 'gdb' and settings['customLaunchSetupCommands'] == [], f'{settings}')
    env = dict(t.env, PATH=f'{os.path.dirname(t.heddle)}:{t.env["PATH"]}', TRACE=trace)
    process = subprocess.Popen([script, '--interpreter=mi', '-nx'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env,
                               cwd=t.dir, start_new_session=True)
    try:
        process.stdin.write(f'-gdb-set pagination off\n-enable-pretty-printing\n-break-insert {line_of(source, "line of the end")}\n'
                            f'-{settings["launchCompleteCommand"]}\n'.encode())
        process.stdin.flush()
        said = b''
        while b'breakpoint-hit' not in said and process.poll() is None:
            said += process.stdout.readline()
        rest, _ = process.communicate(b'-thread-info\n-stack-list-frames\n-data-evaluate-expression sum\n'
                                      b'-interpreter-exec console "reverse-step"\n-interpreter-exec console "heddle when"\n-gdb-exit\n', timeout=120)
        expect(t, rest.decode(), r'\^done,threads=\[', r'\^done,stack=\[frame=.*steps\.c', rf'\^done,value="{total}"',
               rf'~"#0  main .*steps\.c:{line_of(source, "for (int i")}', r'~"\* thread 0: event \d+', r'\^exit')
    finally:
        end_session(process)


def case_bad_input(t):
    _, trace, _ = steps(t)
    text = gdb(t, trace, ['heddle nonsense', 'heddle who', 'heddle who 3', 'heddle who nothing', 'continue', 'heddle when', 'heddle edges',
                          'reverse-continue', 'heddle who sum'])
    expect(t, text, 'No command `heddle nonsense`', 'heddle last-write EXPR', '3 has no address', 'No symbol "nothing"',
           *['The replay is not running'] * 4)
    empty = t.folder('empty')
    for words, text in ((['--gdb'], b'apt-get install gdb'), (['--gdb-port=7342'], b'apt-get install gdbserver')):
        outcome = t.run([t.heddle, 'replay', *words, trace], env=dict(t.env, PATH=empty))
        t.check(outcome.status == CANNOT and text in outcome.err, f'{words}: {outcome}')
    with open(os.path.join(empty, 'gdb'), 'w') as file:
        file.write('#!/bin/sh\nexit 1\n')
    os.chmod(os.path.join(empty, 'gdb'), 0o755)
    outcome = t.run([t.heddle, 'replay', '--gdb', trace], env=dict(t.env, PATH=empty))
    t.check(outcome.status == CANNOT and b'no Python' in outcome.err, f'gdb without Python: {outcome}')
    outcome = t.run([t.heddle, 'replay', '--gdb-port=7343', trace, '--', '-batch'])
    t.check(outcome.status == USAGE, f'words for nobody: {outcome}')


def case_nothing_is_left(t):
    """No directory in /tmp, no process, whatever way the session ends."""
    _, trace, _ = steps(t)
    os.makedirs(t.path('tmp'))
    t.env['TMPDIR'] = t.path('tmp')
    gdb(t, trace, ['next'])
    gdb(t, trace, ['continue'])
    gdb(t, trace, ['kill'])
    gdb(t, trace, ['detach'])
    time.sleep(0.2)
    t.check(not os.listdir(t.path('tmp')), f'left: {os.listdir(t.path("tmp"))}')
