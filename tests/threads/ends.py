"""What a thread's end must not take with it, where a replay is not exact: signals that come in loops without events."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def case_signals_at_end(t):
    program = t.compile(os.path.join(HERE, 'parts', 'signals_at_end.c'), ['-pthread'], name='signals_at_end')
    for n in range(t.count(3, 50)):
        recorded = t.record([program], trace=t.path(f'trace-{n}'), options=[f'--chaos={n}'] * (n > 0))
        t.check(recorded.status == 0, f'{recorded}')
