"""light from recording to replay: `heddle replay` finds a schedule first, and says so when it does not."""
import os

PARTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'parts', 'programs')


def recorded(t, source, *args, options=('--verify',)):
    """The program under light. Returns outcome and trace."""
    compiler = os.path.join(t.settings.build, 'bin', 'heddle-cc')
    program = t.compile(os.path.join(PARTS, source), ['--select=all'], compiler=compiler)
    trace = t.path('trace')
    outcome = t.record([program, *args], trace=trace, options=['--order=light', *options], timeout=60)
    t.check(outcome.status == 0, f'recording: {outcome}')
    return outcome, trace


def case_light_flows(t):
    """Every write is read by others, so light promises all of it: the replays are the same run. The runs vary."""
    seen = set()
    for n in range(t.count(4, 40)):
        outcome, trace = recorded(t, 'who_saw_what.c', '6', '24', options=('--verify', f'--chaos={n + 1}'))
        seen.add(outcome.out)
        t.replays(outcome, trace=trace, timeout=60)
        t.run_well(['rm', '-rf', trace])
    t.check(len(seen) > 1, 'all recordings were the same run: this shows nothing')


def case_light_flows_of_children(t):
    """Events of a forked child count from elsewhere, and what was written before the fork was there at first."""
    outcome, trace = recorded(t, 'who_saw_what.c', '4', '24', 'fork')
    t.check(outcome.out.count(b'child') == 1, outcome.out.decode())
    t.replays(outcome, trace=trace, timeout=60)


def case_light_without_solver(t):
    """No library, or another one of that name: said with what to do, and nothing is left behind."""
    outcome, trace = recorded(t, 'who_saw_what.c', '2', '4')
    folder = t.folder('empty')
    with open(os.path.join(folder, 'libz3.so.4'), 'w') as file:
        file.write('this is no library')
    lost = t.run([t.heddle, 'replay', trace], env=dict(os.environ, LD_LIBRARY_PATH=folder, TMPDIR=folder))
    t.check(lost.status == 122 and b'libz3-4' in lost.err and b'light:ww' in lost.err, f'{lost}')
    t.check(not [name for name in os.listdir(folder) if name.startswith('heddle-')], 'a work directory is left')


def case_light_time_is_up(t):
    """All at once the solver does not answer; it ends when its time is up, and what is lost is only the schedule."""
    program = os.path.join(t.settings.build, 'tests', 'order-stress')
    text = t.run_well([program, 'light', '--solve=1', '--at-once', '--threads=8', '--workload=updates', '--accesses=100000'],
                      timeout=60).out.decode()
    t.check('"solved": false' in text, text)
    text = t.run_well([program, 'light', '--solve=60', '--threads=8', '--workload=updates', '--accesses=20000'],
                      timeout=200).out.decode()
    t.check('"solved": true' in text, text)


def case_light_bad_options(t):
    for words, said in [(['--solve-time=-1'], '--solve-time'), (['--solve-time=x'], 'solve-time')]:
        outcome = t.run([t.heddle, 'replay', *words])
        t.check(outcome.status == 121 and said in outcome.err.decode(), f'{words}: {outcome}')


def case_order_help_tells(t):
    """What is not exact says what it is."""
    text = t.run_well([t.heddle, 'record', '--order=help']).out.decode()
    for name, promise in (('light ', 'flow determinism'), ('stride ', 'values:'), ('light:ww ', 'exact')):
        lines = text.splitlines()
        at = [i for i, line in enumerate(lines) if line.startswith(name)]
        t.check(at and promise in lines[at[0] + 1], f'{name}\n{text}')


case_light_flows.quick = True
