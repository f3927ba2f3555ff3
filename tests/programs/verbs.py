"""What the verbs do beside recording and replaying: one process of several, lists, removal, dumps, and what is not
known."""
import json
import os
import re

from harness import CANNOT

# Four images: the shell, its child by fork and exec, a subshell, and what it becomes.
FAMILY = 'echo first $$; python3 -S -c "import os; print(\'second\', os.getpid(), flush=True); os._exit(5)"; (echo third; exec sh -c "echo fourth \\$\\$; exit 6"); exit 7'


def case_one_process(t):
    """--pid replays one process with its recorded id and its own status, and nothing of the others."""
    outcome = t.record(['sh', '-c', FAMILY])
    t.check(outcome.status == 7, f'recording: {outcome}')
    lines = outcome.out.decode().split('\n')
    for name, status in (('first', 7), ('second', 5), ('fourth', 6)):
        line = next(x for x in lines if x.startswith(name))
        again = t.replay(options=[f'--pid={line.split()[1]}'])
        t.check(again.out.decode() == line + '\n', f'{name}: {again.out!r}')
        t.check(again.status == status, f'{name}: {again}, recorded with {status}')
    nobody = t.replay(options=['--pid=999999999'])
    t.check(nobody.status == CANNOT and b'999999999' in nobody.err, f'{nobody}: {nobody.err!r}')


case_one_process.quick = True


def case_list_and_remove(t):
    """Traces have names, the last one needs none, and what is removed is gone, with nothing else."""
    env = dict(t.env, HEDDLE_TRACE_DIR=t.folder('home'))
    for word in ('one', 'two'):
        t.run_well([t.heddle, 'record', '--', 'echo', word], env=env)
    t.check(os.stat(t.path('home', 'echo-1')).st_mode & 0o777 == 0o700, 'others may look into a trace')
    listed = t.run_well([t.heddle, 'ls'], env=env).out.decode()
    t.check('echo-1' in listed and 'echo-2' in listed, f'ls: {listed}')
    t.check(t.run_well([t.heddle, 'replay'], env=env).out == b'two\n', 'the last trace is not the default')
    t.check(t.run_well([t.heddle, 'replay', 'echo-1'], env=env).out == b'one\n', 'a name is not found')
    t.run_well([t.heddle, 'rm', 'echo-1'], env=env)
    listed = t.run_well([t.heddle, 'ls'], env=env).out.decode()
    t.check('echo-1' not in listed and 'echo-2' in listed and not os.path.exists(t.path('home', 'echo-1')), f'after rm: {listed}')
    gone = t.run([t.heddle, 'replay', 'echo-1'], env=env)
    t.check(gone.status == CANNOT and b'echo-1' in gone.err, f'{gone}: {gone.err!r}')
    os.mkdir(t.path('home', 'mine'))
    refused = t.run([t.heddle, 'rm', 'mine'], env=env)
    t.check(refused.status == CANNOT and os.path.isdir(t.path('home', 'mine')), f'rm of what is no trace: {refused}')
    with open(t.path('home', 'mine', 'meta.json'), 'w') as file:
        file.write('{"title": "of another program"}')
    refused = t.run([t.heddle, 'rm', 'mine'], env=env)
    t.run_well([t.heddle, 'rm', '--all'], env=env)
    t.check(refused.status == CANNOT and os.path.exists(t.path('home', 'mine', 'meta.json')), f'rm of what another program has made: {refused}')
    t.check(not os.path.exists(t.path('home', 'echo-2')), 'rm --all')


def case_latest_is_a_recording(t):
    """A recording that could not begin leaves the one before it the latest."""
    env = dict(t.env, HEDDLE_TRACE_DIR=t.folder('home'))
    t.run_well([t.heddle, 'record', '--', 'echo', 'one'], env=env)
    failed = t.run([t.heddle, 'record', '--', 'echo', 'two'], env=dict(env, HEDDLE_LOADER=t.path('nothing')))
    t.check(failed.status == CANNOT, f'{failed}')
    t.check(t.run_well([t.heddle, 'replay'], env=env).out == b'one\n', 'the latest is another')


def case_level_in_any_letters(t):
    """A library whose name is no UTF-8 stands in what the recording says of itself."""
    library, program = t.path(os.fsdecode(b'lib\xff\xfe.so')), t.path('program')
    with open(t.path('library.c'), 'w') as file:
        file.write('int number(void) { return 7; }\n')
    with open(t.path('program.c'), 'w') as file:
        file.write('int number(void);\nint main(void) { return number(); }\n')
    t.run_well(['gcc', '-shared', '-fPIC', '-o', library, t.path('library.c'), f'-Wl,-soname,{os.path.basename(library)}'])
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '-o', program, t.path('program.c'), library, f'-Wl,-rpath,{t.dir}'])
    t.check(t.record([program]).status == 7, 'recording failed')
    told = json.loads(t.run_well([t.heddle, 'stat', '--json', t.path('trace')]).out)
    t.check('except inside lib??.so' in json.dumps(told), f'{told}')


def case_dump(t):
    """Text and JSON tell the same events, as many as stat counts."""
    t.check(t.record(['sh', '-c', 'echo hello; exit 4']).status == 4, 'recording failed')
    text = t.run_well([t.heddle, 'dump', t.path('trace')]).out.decode()
    entries = [json.loads(line) for line in t.run_well([t.heddle, 'dump', '--json', t.path('trace')]).out.splitlines()]
    stat = json.loads(t.run_well([t.heddle, 'stat', '--json', t.path('trace')]).out)
    t.check(len(entries) == stat['entries'], f'{len(entries)} entries, stat counts {stat["entries"]}')
    for word in ('write', 'hello', 'exit_group', 'openat'):
        t.check(word in text, f'the dump lacks {word}')
    t.check(any('write' in json.dumps(e) for e in entries), 'the JSON lacks the write')


def case_doctor(t):
    """A line for each thing that matters, and what to do where it is not as needed."""
    outcome = t.run([t.heddle, 'doctor'])
    lines = outcome.out.decode().strip().split('\n')
    t.check(outcome.status in (0, CANNOT) and len(lines) >= 5, f'{outcome}: {outcome.out!r}')
    t.check(re.search('seccomp', outcome.out.decode()), 'nothing is said of seccomp')


def case_unknown_call(t):
    """A system call without a row ends the recording; its number and the file to add it to are told; what was before,
    replays."""
    with open(t.path('program.c'), 'w') as file:
        file.write('#include <stdio.h>\n#include <unistd.h>\nint main(void)\n{\n\tputs("before");\n\tfflush(stdout);\n'
                   '\tsyscall(700);\n\tputs("after");\n\treturn 0;\n}\n')
    t.run_well(['gcc', '-o', t.path('program'), t.path('program.c')])
    outcome = t.record([t.path('program')])
    t.check(outcome.status == CANNOT and outcome.out == b'before\n', f'{outcome}: {outcome.out!r}')
    t.check(b'700' in outcome.err and b'runtime/syscalls/table.c' in outcome.err, f'{outcome.err!r}')
    again = t.replay()
    t.check(again.out == b'before\n' and again.status == 0, f'replay: {again}: {again.out!r}')
