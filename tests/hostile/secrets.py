"""--mask-env: values of the environment that are not in the trace, and what a replay without them does."""
import json
import os

from harness import DIVERGED, ROOT, USAGE

SECRETS = {'GITHUB_TOKEN': 'deliciousvalue1', 'db_password': 'deliciousvalue2', 'AWS_ACCESS_KEY': 'deliciousvalue3',
           'OURS': 'deliciousvalue4', 'ALSO_OURS': 'deliciousvalue5', 'EMPTY_TOKEN': ''}
OPEN = {'KEYBOARD': 'visiblevalue1', 'OURSELVES': 'visiblevalue2', 'PWD_OF': 'visiblevalue3', 'SSH_AUTH_SOCK': 'visiblevalue4'}
MASK = ['--mask-env=OURS,ALSO_OURS']


def unpacked(trace):
    """Every byte of the trace, its streams unpacked."""
    data = b''
    for folder, _, names in os.walk(trace):
        for name in names:
            if folder.endswith('/files'):
                continue
            with open(os.path.join(folder, name), 'rb') as file:
                data += file.read()
    return data


def check_trace(t, trace):
    env = t.run([t.heddle, 'dump', trace]).out + unpacked(trace)
    with open(os.path.join(trace, 'meta.json')) as file:
        meta = json.load(file)
    for name, value in SECRETS.items():
        t.check(not value or value.encode() not in env, f'{name} is in the trace')
        t.check(f'{name}={"*" * len(value)}' in meta['env'], f'{name} is not in meta.json')
    for name, value in OPEN.items():
        t.check(f'{name}={value}' in meta['env'] and value.encode() in env, f'{name} is missing')
    t.check(sorted(meta['masked']) == sorted(SECRETS), f'masked: {meta["masked"]}')
    stat = t.run([t.heddle, 'stat', trace])
    t.check(b'GITHUB_TOKEN' in stat.out, f'stat: {stat.out!r}')


def case_masked(t):
    """Programs that hand their environment on, and use what is not masked, replay exactly; their children, too."""
    t.env.update(SECRETS, **OPEN)
    # addresses on the stack and the lengths of the values are part of what is printed
    program = ('import os, sys\nprint(os.environ["KEYBOARD"], len(os.environ["GITHUB_TOKEN"]), len(os.environ["OURS"]), id(os.environ), flush=True)\n'
               'sys.exit(os.system("test ${#AWS_ACCESS_KEY} = 15 && printf %s $OURSELVES && exit 3") >> 8)\n')
    outcome = t.record(['python3', '-S', '-c', program], options=MASK)
    t.check(outcome.status == 3 and outcome.out.endswith(b'visiblevalue2'), f'{outcome}')
    check_trace(t, t.path('trace'))
    again = t.replay()
    t.check((again.status, again.out) == (3, outcome.out), f'replay: {again} {again.out!r}')


def case_used(t):
    """The recorded program has the true value. A replay that prints it is told apart from other divergences."""
    t.env.update(SECRETS, **OPEN)
    outcome = t.record(['sh', '-c', 'echo "$GITHUB_TOKEN"; echo "$OURS"'], options=MASK)
    t.check(outcome.out == b'deliciousvalue1\ndeliciousvalue4\n', f'{outcome} {outcome.out!r}')
    check_trace(t, t.path('trace'))
    again = t.replay()
    t.check(again.status == DIVERGED and b'--mask-env' in again.err, f'replay: {again}')
    plain = t.record(['sh', '-c', 'echo "$GITHUB_TOKEN"'], trace=t.path('plain'))
    t.check(plain.status == 0 and t.replay(t.path('plain')).out == b'deliciousvalue1\n', 'without the option nothing is masked')


def case_one_lock_more(t):
    """A process that takes a lock more than it had when it was recorded, just before its end: of the first process, a
    child, an exec'd program."""
    t.env.update(SECRETS)
    program = t.compile(os.path.join(ROOT, 'tests', 'hostile', 'parts', 'lock_more.c'), name='hostile/lock_more')
    for how in ('here', 'fork', 'exec'):
        outcome = t.record([program, how], trace=t.path(how), options=MASK)
        t.check(outcome.status == 3, f'{how}: {outcome}')
        again = t.replay(t.path(how))
        t.check(again.status == DIVERGED and b'more than was recorded' in again.err and b'exit_group' in again.err, f'{how}: {again}')
        plain = t.record([program, how], trace=t.path(how + '-plain'))
        t.check(plain.status == 3 and t.replay(t.path(how + '-plain')).status == 3, f'{how}: not without a mask')


def case_mask_is_checked(t):
    for option in ('--checksum', '--paranoid'):
        outcome = t.record(['true'], options=['--mask-env', option])
        t.check(outcome.status == USAGE and option.encode() in outcome.err, f'{outcome}')
