"""Generated racy programs (tests/generate.py) under every exact order: a slice of them always, and for a time in
soak."""
import os

import soak


def case_slice(t):
    s = soak.Soak(t.settings.build, replays=t.settings.replays, say=lambda text: None)
    t.hint = f'python3 tests/soak.py --build={t.settings.build} --seed=N'
    try:
        failed = s.batch(range(1, 7), soak.exact_orders(t.settings.build), shrinks=False)
    finally:
        s.close()
    t.recordings, t.replays_made = (sum(c[i] for c in s.counts.values()) for i in (1, 2))
    t.check(not failed, '\n'.join(failed))


def case_for_a_while(t):
    """SOAK_MINUTES of them, an hour if nothing is said; the next time it goes on with other seeds."""
    before = soak.State(t.settings.build).made()
    failed, state = soak.run_for(t.settings.build, float(os.environ.get('SOAK_MINUTES', 60)) * t.settings.scale, say=t.notes.append)
    t.recordings, t.replays_made = (now - then for now, then in zip(state.made(), before))
    t.notes.append('so far:\n' + state.text())
    t.check(not failed, '\n'.join(failed))


case_for_a_while.only_soak = True
