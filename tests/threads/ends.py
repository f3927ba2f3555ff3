"""What a thread's end must not take with it, where a replay is not exact: signals that come in loops without events."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def case_signals_at_end(t):
    program = t.compile(os.path.join(HERE, 'parts', 'signals_at_end.c'), ['-pthread'], name='signals_at_end')
    for n in range(t.count(3, 50)):
        recorded = t.record([program], trace=t.path(f'trace-{n}'), options=[f'--chaos={n}'] * (n > 0))
        t.check(recorded.status == 0, f'{recorded}')


def case_exit_beside_reader(t):
    """exit() does not ask whether another thread has a FILE's lock: no op orders the answer, a yield would show it."""
    program = t.compile(os.path.join(HERE, 'parts', 'exit_beside_reader.c'), ['-pthread'], name='exit_beside_reader')
    recorded = t.record([program])
    t.check(recorded.status == 0 and recorded.out == b'ended\n', f'{recorded}')
    events = t.run_well([t.heddle, 'dump', t.path('trace')])
    t.check(b'exit_group' in events.out and b'sched_yield' not in events.out, f'{events}')
    t.replays(recorded)
