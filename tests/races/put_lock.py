"""A lock that the analysis has put around an access is taken, recorded and replayed like any other; outside of heddle
it is just taken."""
import os

import golden


def case_put_lock(t):
    program = golden.build(t, os.path.join(golden.FOLDER, 'possible_init.c'), 'races')
    t.run_well([program])
    for seed in range(t.count(4, 40)):
        trace = t.path(f'trace-{seed}')
        recorded = t.record([program], trace=trace, options=['--quiet', '--verify', f'--chaos={seed}'])
        t.check(recorded.status == 0, f'recording: {recorded}')
        replayed = t.replay(trace)
        t.check((replayed.status, replayed.out) == (recorded.status, recorded.out), f'recorded {recorded}, replayed {replayed}')
