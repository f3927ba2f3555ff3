"""heddle hunt: what it finds, what it says when there is nothing to find, and what it leaves behind."""
import os
import re
import signal
import subprocess
import time

import cells
from harness import CANNOT, ROOT, USAGE, end_session

NONE = 1        # hunt's exit status when no run failed


def hunt(t, *words, timeout=120, **more):
    return t.run([t.heddle, 'hunt', *words], timeout=timeout, **more)


def left(t):
    """What is in the directory of traces, besides copies of mapped files."""
    return sorted(set(os.listdir(t.path('traces'))) - {'.files'}) if os.path.exists(t.path('traces')) else []


def check_kept(t, outcome, name, most=1):
    """One trace is there (or up to `most`), the latest is known, and the command that was printed replays it."""
    t.check(outcome.status == 0, f'hunt: {outcome}')
    kept = set(left(t)) - {'latest'}
    t.check('latest' in left(t) and f'{name}-1' in kept and kept <= {f'{name}-{n + 1}' for n in range(most)}, f'left behind: {left(t)}')
    printed = re.search(rb'`heddle (replay \S+)`', outcome.err)
    t.check(printed, f'no replay command: {outcome}')
    return t.run([t.heddle, *printed.group(1).decode().split()])


def case_finds_a_rare_failure(t):
    """A program of tests/bugs that fails in few runs: the failing one is found, kept, and replays as printed."""
    program = cells.program(t, os.path.join(cells.BUGS, 'reuse.c'))
    outcome = hunt(t, '--runs=500', '--', program, '2')
    again = check_kept(t, outcome, os.path.basename(program))
    t.check(again.status == 1 and b'FAILED' in again.out and again.out == outcome.out,
            f'found {outcome.out!r}, replayed {again}: {again.out!r}')


case_finds_a_rare_failure.quick = True


def case_stands_still_at_an_access(t):
    """Bugs whose threads must stand still between two accesses that hit what is claimed: natively next to never, in a
    hunt soon."""
    for name, arguments, status in (('pbzip2_order', ['2'], -signal.SIGSEGV), ('contest_critical', ['2', '1', 'apart'], 1)):
        outcome = hunt(t, '--runs=1000', '-o', t.path(name), '--', cells.program(t, os.path.join(cells.BUGS, f'{name}.c')), *arguments, timeout=600)
        t.check(outcome.status == 0, f'hunt: {outcome}')
        again = t.replay(t.path(name))
        t.check(again.status == status and again.out == outcome.out, f'{name}: found {outcome.out!r}, replayed {again}')


def case_a_hang_is_a_failure(t):
    """Two threads that wait for each other's lock: the run is ended, and its replay tells who waits for whom."""
    program = t.compile(os.path.join(ROOT, 'tests/threads/parts/deadlock.c'), name='threads/deadlock')
    outcome = hunt(t, '--timeout=2', '--jobs=1', '--', program)
    t.check(b'had not ended after 2 s' in outcome.err, f'{outcome}')
    again = check_kept(t, outcome, 'deadlock')
    t.check(again.status == -signal.SIGTERM and b'deadlock' in again.err, f'replay: {again}')


def case_a_hang_that_ignores_sigterm(t):
    outcome = hunt(t, '--timeout=1', '--jobs=1', '--', 'sh', '-c', 'trap "" TERM; while :; do sleep 1; done')
    again = check_kept(t, outcome, 'sh')
    t.check(again.status in (0, -signal.SIGKILL), f'replay: {again}')


def case_nothing_to_find(t):
    """A program that never fails: as many runs as were asked for, and a clear word."""
    ran = t.path('ran')
    outcome = hunt(t, '--runs=7', '--jobs=3', '--', 'sh', '-c', f'echo x >> {ran}')
    t.check(outcome.status == NONE and b'none of 7 runs failed' in outcome.err, f'{outcome}')
    with open(ran) as file:
        t.check(len(file.readlines()) == 7, 'not seven runs')
    t.check(left(t) == [], f'left behind: {left(t)}')


def case_minutes(t):
    outcome = hunt(t, '--minutes=0.02', '--', 'true')
    t.check(outcome.status == NONE and re.search(rb'none of [1-9]\d* runs failed', outcome.err), f'{outcome}')
    t.check(left(t) == [], f'left behind: {left(t)}')


def case_output_that_is_expected(t):
    """--expect and --refuse make failures of runs that end with 0; the program's exit status 122 is not ours."""
    for words, script, found in ((['--expect=good'], 'echo good', False), (['--expect=good'], 'echo bad', True),
                                 (['--refuse=bad'], 'echo good', False), (['--refuse=bad'], 'echo bad', True),
                                 ([], 'exit 122', True)):
        trace = t.path('kept')
        outcome = hunt(t, '--runs=2', *words, '-o', trace, '--', 'sh', '-c', script)
        t.check(outcome.status == (0 if found else NONE), f'{words} {script}: {outcome}')
        t.check(os.path.isdir(trace) == found, f'{words} {script}: the trace is {"not " * found}there')
        if found:
            t.check(t.replay(trace).out == outcome.out, 'the kept run is another one')
            t.run_well([t.heddle, 'rm', trace])


def case_every_run_has_its_seed(t):
    outcome = hunt(t, '--chaos=41', '--jobs=1', '--runs=9', '--', 'sh', '-c', 'read n < n; echo $((n + 1)) > n; [ $n != 3 ]', cwd=numbered(t))
    t.check(b'run 4 (--chaos=44) failed: exit status 1' in outcome.err, f'{outcome}')


def numbered(t):
    folder = t.folder('work')
    with open(os.path.join(folder, 'n'), 'w') as file:
        file.write('0\n')
    return folder


def case_interrupted(t):
    """Ctrl-C: neither runs nor files are left, and hunt dies of it."""
    process = subprocess.Popen([t.heddle, 'hunt', '--jobs=2', '--', 'sh', '-c', f'echo $$ >> {t.path("pids")}; sleep 300 & wait'],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=t.env, cwd=t.dir, start_new_session=True)
    try:
        deadline = time.monotonic() + 30
        while not os.path.exists(t.path('pids')) or len(open(t.path('pids')).readlines()) < 2:
            t.check(time.monotonic() < deadline, 'the runs do not start')
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        err = process.communicate(timeout=30)[1]
    finally:
        end_session(process)
    t.check(process.returncode == -signal.SIGINT and b'interrupted' in err, f'{process.returncode} {err}')
    t.check(left(t) == [], f'left behind: {left(t)}')
    for pid in open(t.path('pids')).read().split():
        t.check(not os.path.exists(f'/proc/{pid}'), f'process {pid} is left')


def case_via_parallel(t):
    """Runs that fail at the same moment are all kept: nobody there knows of the others."""
    program = cells.program(t, os.path.join(cells.BUGS, 'reuse.c'))
    outcome = hunt(t, '--via=parallel', '--runs=500', '--', program, '2')
    again = check_kept(t, outcome, os.path.basename(program), most=os.cpu_count())
    t.check(again.status == 1 and b'FAILED' in again.out, f'replay: {again}')
    outcome = hunt(t, '--via=parallel', '--runs=3', '--', 'sh', '-c', 'echo "a  b"; exit 0')
    t.check(outcome.status == NONE and b'no run failed' in outcome.err, f'{outcome}')
    words = ['a  b', "it's", '{}', '{#}', ':::', '{= $_ = 1 =}', '$HOME', '`id`', '*', 'a\\b', '', 'two\nlines', '-x', '--']
    arrived = ''.join(f'<{word}>' for word in words)
    for more in ([], ['--no-chaos']):
        outcome = hunt(t, '--via=parallel', '--runs=2', f'--expect={arrived}', *more, '--', 'sh', '-c', 'printf "<%s>" "$@"', 'sh', *words)
        t.check(outcome.status == NONE and b'no run failed' in outcome.err, f'words arrive changed: {outcome}')


SBATCH = """#!/bin/sh
# As much of sbatch --wait --parsable as heddle hunt needs: the tasks of an array, one after another, until somebody
# cancels the job.
for word; do
    case $word in
        --array=*) range=${word#--array=}; echo "$range" >> "$SLURM_SEEN" ;;
        --output=*) output=${word#--output=} ;;
        --*) ;;
        *) script=$word ;;
    esac
done
echo 1234
last=${range#1-}
last=${last%%%*}
export SLURM_ARRAY_JOB_ID=1234 SLURM_ARRAY_TASK_ID=0
while [ $SLURM_ARRAY_TASK_ID -lt $last ] && [ ! -e "$SLURM_SEEN.cancelled" ]; do
    SLURM_ARRAY_TASK_ID=$((SLURM_ARRAY_TASK_ID + 1))
    sh "$script" > "${output%%%a}$SLURM_ARRAY_TASK_ID" 2>&1
done
exit 1
"""


def case_via_slurm(t):
    """With a stand-in for Slurm: the script that is handed over runs, the first find cancels the rest, words arrive as
    they are."""
    folder, seen = t.folder('bin'), t.path('seen')
    for name, text in (('sbatch', SBATCH), ('scancel', '#!/bin/sh\n[ "$1" = 1234 ] && : > "$SLURM_SEEN.cancelled"\n')):
        with open(os.path.join(folder, name), 'w') as file:
            file.write(text)
        os.chmod(os.path.join(folder, name), 0o755)
    env = dict(t.env, PATH=f'{folder}:{t.env["PATH"]}', SLURM_SEEN=seen)
    outcome = hunt(t, '--via=slurm', '--runs=3', "--expect=it's  b", '--', 'sh', '-c', 'echo "it\'s  b"', env=env)
    t.check(outcome.status == NONE and b'no run of Slurm job 1234 failed' in outcome.err, f'{outcome}')
    t.check(open(seen).read() == '1-3\n' and not os.path.exists(f'{seen}.cancelled') and left(t) == [], f'{open(seen).read()} {left(t)}')
    counted = 'read n < n; echo $((n + 1)) > n; [ $n != 2 ]'
    outcome = hunt(t, '--via=slurm', '--runs=1500', '--jobs=4', '--chaos=41', '--', 'sh', '-c', counted, env=env, cwd=numbered(t))
    check_kept(t, outcome, 'sh')
    t.check(b'run 1 (--chaos=43) failed: exit status 1' in outcome.err, f'{outcome}')      # two runs a task: the third is the second task's first
    t.check(open(seen).read() == '1-3\n1-1000%4\n' and os.path.exists(f'{seen}.cancelled'), open(seen).read())
    outcome = hunt(t, '--via=slurm', '--runs=1', 'true', env=dict(t.env, PATH='/usr/bin:/bin'))
    t.check(outcome.status == CANNOT and b'sbatch' in outcome.err, f'without Slurm: {outcome}')


def case_bad_input(t):
    for words, status, text in ((['--runs=0', 'true'], USAGE, b'--runs'), (['--minutes=soon', 'true'], USAGE, b'--minutes'),
                                (['--jobs=0', 'true'], USAGE, b'--jobs'), (['--via=pigeon', 'true'], USAGE, b'--via'), (['--via=slurm', 'true'], USAGE, b'--runs'),
                                ([], USAGE, b'which program'), (['./nothing'], CANNOT, b'no such program'),
                                (['--order=none', 'true'], CANNOT, b'no order'), (['-o', t.dir, 'true'], CANNOT, b'exists already'),
                                (['--via=parallel', '--runs=1', '-o', t.dir, 'true'], CANNOT, b'exists already'), (['-o', '', 'true'], USAGE, b'-o'),
                                (['-o', t.path('no', 'folder'), 'true'], CANNOT, b'No such file')):
        outcome = hunt(t, *words)
        t.check(outcome.status == status and text in outcome.err + outcome.out, f'hunt {words}: {outcome} {outcome.out!r}')
        t.check(left(t) == [], f'hunt {words} left {left(t)}')
    outcome = t.run([t.heddle, 'hunt', '--via=parallel', '--runs=1', '/bin/true'], env=dict(t.env, PATH='/nowhere'))
    t.check(outcome.status == CANNOT and b'install' in outcome.err, f'without parallel: {outcome}')
