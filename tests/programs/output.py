"""The order of what several processes write to one place."""
import os
import shutil

from harness import ROOT


def case_first_child(t):
    """A parent that has just been alone, and may be between a write and its place in the order of all when its child
    begins: of 600 recordings 13 were replayed in another order when the child itself said that it is there."""
    program = t.compile(os.path.join(ROOT, 'tests', 'programs', 'parts', 'first_child.c'))
    wrong = []
    for n in range(60):
        shutil.rmtree(t.path('trace'), ignore_errors=True)
        recorded, replayed = t.record([program]), t.replay(offline=False)
        t.check(recorded.status == replayed.status == 0, f'recorded {recorded}, replayed {replayed}')
        wrong += [n] if recorded.out != replayed.out else []
    t.check(not wrong, f'{len(wrong)} of 60 replays had another order of lines')


case_first_child.batches = 20
