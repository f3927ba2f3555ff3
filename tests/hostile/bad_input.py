"""What users get wrong, and machines that are not as needed: a message and exit 121 or 122, never a half recording."""
import os
import shutil
import struct

import tracefile
from harness import CANNOT, USAGE

NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']


def refused(t, outcome, *words, status=(CANNOT,)):
    t.check(outcome.status in status, f'expected exit {" or ".join(map(str, status))}, got {outcome}')
    text = outcome.err.decode(errors='replace')
    t.check(text.startswith('heddle:'), f'the message does not start with "heddle:": {text!r}')
    for word in words:
        t.check(word in text, f'the message does not name {word}: {text!r}')
    t.check('core dumped' not in text and 'Assert' not in text and 'BUG' not in text, text)


def case_missing_program(t):
    refused(t, t.record(['no-such-program-anywhere']), 'no-such-program-anywhere')
    refused(t, t.record(['./no/such/file'], trace=t.path('two')), './no/such/file')


case_missing_program.quick = True


def case_directory(t):
    refused(t, t.record(['/usr/bin/']), '/usr/bin/')


def case_not_executable(t):
    t.copy_program('/bin/true', t.path('true'))
    os.chmod(t.path('true'), 0o644)
    refused(t, t.record(['./true']), './true')


def case_empty_file(t):
    with open(t.path('empty'), 'w'):
        pass
    os.chmod(t.path('empty'), 0o755)
    refused(t, t.record(['./empty']), './empty')


def elf_with(t, name, change):
    with open('/bin/true', 'rb') as file:
        data = bytearray(file.read())
    change(data)
    with open(t.path(name), 'wb') as file:
        file.write(data)
    os.chmod(t.path(name), 0o755)


def case_wrong_machine(t):
    elf_with(t, 'other', lambda data: struct.pack_into('<H', data, 18, 62 if data[18] != 62 else 183))
    refused(t, t.record(['./other']), './other')


def case_cut_elf(t):
    """Programs that end too early: refused where the kernel refuses them, else they may die as they do without
    Heddle."""
    for size in (4, 20, 63, 64, 100, 500, 5000):
        elf_with(t, f'cut{size}', lambda data: data.__delitem__(slice(size, None)))
        outcome = t.record([f'./cut{size}'], trace=t.path(f'trace{size}'))
        try:
            plain = t.run([t.path(f'cut{size}')]).status
        except OSError:
            plain = CANNOT
        # Which signal is the kernel's choice: it reads the missing page itself, or the program does.
        t.check(outcome.status in (CANNOT, plain) or (plain < 0 and outcome.status < 0), f'cut at {size}: {outcome}, without heddle {plain}')
        t.check(b'heddle:' in outcome.err or outcome.status != CANNOT, f'cut at {size}: no message')


def case_linked_too_high(t):
    """Where a recorded program has nothing, and where Heddle itself lies."""
    with open(t.path('program.c'), 'w') as file:
        file.write('void _start(void)\n{\n\tfor (;;)\n\t\t;\n}\n')
    for at in ('0x20000000000', '0x500000000000'):
        t.run_well(['gcc', '-static', '-nostdlib', '-no-pie', '-fno-pie', f'-Wl,-Ttext-segment={at}', '-o', t.path('program'), t.path('program.c')])
        shutil.rmtree(t.path('trace'), ignore_errors=True)
        refused(t, t.record([t.path('program')]), 'linked to addresses')


def case_interpreter_missing(t):
    with open(t.path('script'), 'w') as file:
        file.write('#!/no/such/interpreter\n')
    os.chmod(t.path('script'), 0o755)
    refused(t, t.record(['./script']), '/no/such/interpreter')


def hooked(t, *flags):
    with open(t.path('program.c'), 'w') as file:
        file.write('int shared; int main(void) { return shared++; }')
    compiler = os.path.join(t.settings.build, 'bin', 'heddle-cc')
    t.run_well([compiler, '--select=all', *flags, '-o', t.path('program'), t.path('program.c')], timeout=120)
    return t.path('program')


def case_other_hooks(t):
    """A program that another heddle-cc has built: its hooks and this runtime would not understand each other."""
    program = hooked(t)
    with open(program, 'rb') as file:
        data = file.read()
    at = data.index(b'Heddle\0\0version=') + 16
    with open(program, 'wb') as file:
        file.write(data[:at] + b'1' + data[at + 1:])
    t.check(t.run([program]).status == 0, 'it runs no more without Heddle')
    refused(t, t.record([program]), 'hooks of version 1', f'has version {data[at:at + 1].decode()}', 'rebuild it with this heddle-cc')


def case_other_hooks_in_a_library(t):
    """The program is of this heddle-cc, its library is not: that is found when the library makes its first access."""
    with open(t.path('library.c'), 'w') as file:
        file.write('extern void *__heddle_attach(void) __attribute__((weak)); int old(void) { return __heddle_attach ? !__heddle_attach() : 0; }')
    with open(t.path('user.c'), 'w') as file:
        file.write('int old(void); int shared; int main(void) { shared++; return old(); }')
    t.run_well(['gcc', '-shared', '-fPIC', '-o', t.path('library.so'), t.path('library.c')])
    compiler = os.path.join(t.settings.build, 'bin', 'heddle-cc')
    t.run_well([compiler, '--select=all', '-o', t.path('user'), t.path('user.c'), t.path('library.so')], timeout=120)
    t.check(t.run([t.path('user')]).status == 0, 'it runs no more without Heddle')
    refused(t, t.record([t.path('user')]), 'was built by another version of heddle-cc', 'rebuild it')


def case_static_with_hooks(t):
    """A static program's hooks find no runtime: its races would be lost without a word."""
    for flag in '-static', '-static-pie':
        program = hooked(t, flag)
        t.check(t.run([program]).status == 0, f'{flag}: it does not run without Heddle')
        refused(t, t.record([program]), 'linked statically', 'without -static')


def id_for_nobody(t, mode):
    """A copy of id, which a user who is not root will run."""
    t.need_root()
    if t.run([*NOBODY, 'test', '-x', t.heddle]).status:
        t.skip('others may not enter the folder of this build')
    os.chmod(t.dir, 0o777)
    t.copy_program('/usr/bin/id', t.path('id'))
    os.chmod(t.path('id'), mode)


def case_set_uid(t):
    """Recorded without its privilege, and that is said."""
    id_for_nobody(t, 0o4755)
    outcome = t.run([*NOBODY, t.heddle, 'record', '-o', t.path('trace'), '--', t.path('id'), '-u'])
    t.check(outcome.status == 0 and outcome.out == b'65534\n', f'{outcome}: {outcome.out!r}')
    t.check(b'heddle:' in outcome.err and b'privilege' in outcome.err, f'nothing said: {outcome.err!r}')


def case_unreadable(t):
    """A program that may be executed, but not read: exec gives an error that it does not give without Heddle, and that
    is said."""
    id_for_nobody(t, 0o711)
    outcome = t.run([*NOBODY, t.heddle, 'record', '-o', t.path('trace'), '--', 'sh', '-c', f'{t.path("id")} -u; echo $?'])
    t.check(outcome.status == 0 and outcome.out == b'126\n', f'{outcome}: {outcome.out!r}')
    t.check(b'execute, but not read' in outcome.err, f'nothing said: {outcome.err!r}')


def case_changed_user(t):
    """A program that gives up its privilege and starts another: that one may not write to the trace, which is
    private."""
    t.need_root()
    if t.run([*NOBODY, 'test', '-x', t.heddle]).status:
        t.skip('others may not enter the folder of this build')
    recorded = t.record(['/usr/bin/python3', '-c', 'import os; os.setuid(65534); os.execlp("true", "true")'])
    t.check(recorded.status == CANNOT and b'changed its user' in recorded.err, recorded)


def case_existing_trace(t):
    t.folder('trace')
    with open(t.path('trace', 'precious'), 'w') as file:
        file.write('mine')
    refused(t, t.record(['true']), t.path('trace'), status=(USAGE, CANNOT))
    t.check(os.listdir(t.path('trace')) == ['precious'], 'the existing directory was touched')


def case_unwritable_folder(t):
    refused(t, t.record(['true'], trace='/proc/trace'), '/proc/trace')
    if os.geteuid() == 0:
        os.chmod(t.folder('closed'), 0o755)
        os.chmod(t.dir, 0o755)
        target = t.path('closed', 'trace')
        refused(t, t.run([*NOBODY, t.heddle, 'record', '-o', target, '--', 'true']), target)


def changed(t, change):
    t.check(t.record(['true']).status == 0, 'recording failed')
    tracefile.change_meta(t.path('trace'), change)


def case_other_version(t):
    changed(t, lambda meta: meta.update(version=meta['version'] + 1))
    for verb in ('replay', 'dump', 'stat'):
        refused(t, t.run([t.heddle, verb, t.path('trace')]), 'version')


def case_other_version_of_an_order(t):
    def older(meta):
        meta['settings']['order version'] += 1
    changed(t, older)
    for verb in ('replay', 'dump', 'stat'):
        refused(t, t.run([t.heddle, verb, t.path('trace')]), '--order=', 'use the heddle that recorded it')


def case_other_version_in_a_stream(t):
    t.check(t.record(['true']).status == 0, 'recording failed')
    log = tracefile.Log(tracefile.logs(t.path('trace'))[0])
    log.header[1] += 1
    log.write()
    refused(t, t.replay(), 'version')


def case_other_machine(t):
    changed(t, lambda meta: meta['machine'].update(arch='pdp11', elf=1))
    refused(t, t.replay(), 'pdp11')


def case_other_machine_in_a_stream(t):
    t.check(t.record(['true']).status == 0, 'recording failed')
    log = tracefile.Log(tracefile.logs(t.path('trace'))[0])
    log.header[2] = 62 if log.header[2] != 62 else 183
    log.write()
    refused(t, t.replay())


def case_not_a_trace(t):
    t.folder('nothing')
    with open(t.path('file'), 'w') as file:
        file.write('text')
    for verb in ('replay', 'dump', 'stat'):
        refused(t, t.run([t.heddle, verb, t.path('nothing')]), 'nothing')
        refused(t, t.run([t.heddle, verb, t.path('file')]), 'file')
        refused(t, t.run([t.heddle, verb, t.path('absent')]), 'absent')


def case_pipe(t):
    """A named pipe that nobody writes to, where a file is wanted: no wait for ever."""
    os.mkfifo(t.path('pipe'))
    t.record(['true'])
    for words in (['doctor', t.path('pipe')], ['dump', '--sites', t.path('pipe')], ['races', t.path('pipe')],
                  ['replay', f'--program={t.path("pipe")}', t.path('trace')]):
        refused(t, t.run([t.heddle, *words], timeout=10), 'not a regular file')


def case_numbers_out_of_bounds(t):
    """A trace that somebody has made up, with every checksum right: a stream of no thread, an entry that lacks its
    numbers."""
    t.record(['true'])
    for name, value in (('slot', 1 << 20), ('image', 1 << 33), ('raw', -1)):
        tracefile.copy(t.path('trace'), t.path(name))
        tracefile.change_meta(t.path(name), lambda meta, new={name: value}: meta['streams'][0].update(new))
        for verb in ('replay', 'dump', 'stat'):
            refused(t, t.run([t.heddle, verb, t.path(name)]), 'streams')
    tracefile.copy(t.path('trace'), t.path('lacking'))
    log = tracefile.Log(tracefile.logs(t.path('lacking'))[0])
    log.chunks[-1].append(tracefile.Entry(struct.pack(tracefile.ENTRY, 16, 0, tracefile.ENTRY_LAST, 0, 0)))
    log.write()
    tracefile.change_meta(t.path('lacking'))
    refused(t, t.run([t.heddle, 'dump', t.path('lacking')]), 'too few numbers')


def case_usage(t):
    for words in ([], ['record'], ['record', '--no-such-option', 'true'], ['no-such-verb'], ['replay', '--repeat=x', 'T'],
                  ['replay', '--repeat=-1', 'T'], ['dump', '--nothing'], ['record', '-o']):
        outcome = t.run([t.heddle, *words])
        t.check(outcome.status == USAGE, f'heddle {" ".join(words)}: {outcome}')
        t.check(outcome.err, f'heddle {" ".join(words)}: no message')


def case_help(t):
    for words in (['help'], ['--help'], *([verb, '--help'] for verb in ('record', 'replay', 'dump', 'stat', 'ls', 'rm', 'doctor'))):
        outcome = t.run_well([t.heddle, *words])
        t.check(b'heddle' in outcome.out, f'heddle {" ".join(words)} printed {outcome.out!r}')


def case_closed_output(t):
    """Standard descriptors that are closed do not become the recorder's own files."""
    def status(prefix):
        return t.run(['sh', '-c', f'{prefix} sh -c "echo x" <&- >&-; echo $?']).out.strip()
    plain, recorded = status(''), status(f'"{t.heddle}" record -o trace --')
    t.check(plain == recorded, f'without heddle exit {plain!r}, recorded {recorded!r}')


def case_small_files_only(t):
    """RLIMIT_FSIZE far below what the trace needs is the program's limit, not heddle's: set around heddle, or by the
    program."""
    script = 'ulimit -f; (echo child) ; echo x > small; (trap "" XFSZ; head -c 9000 /dev/zero > big) 2>/dev/null || echo too large; wc -c < big'
    for name, argv in (('around', ['prlimit', '--fsize=4096:', t.heddle, 'record', '-o', t.path('around'), '--', 'bash', '-c', script]),
                       ('inside', [t.heddle, 'record', '-o', t.path('inside'), '--', 'bash', '-c', f'ulimit -S -f 4; {script}'])):
        outcome = t.run(argv)
        t.check(outcome.status == 0, f'{name}: {outcome}')
        t.check(outcome.out == b'4\nchild\ntoo large\n4096\n', f'{name}: {outcome.out}')
        again = t.replay(trace=t.path(name))
        t.check((again.status, again.out) == (0, outcome.out), f'{name}, replayed: {again} {again.out}')
