"""Planted faults: generated programs must notice when region, or what calls it, lacks something.

A fault is a change of one source of the runtime or of libheddle.so, compiled into a loader or library of its own, so
that the sources stay free of switches. The faults inside region are those of orders/faults.py; here they meet the real
hooks, threads and system calls.
"""
import importlib.util

import soak
from harness import ROOT, Failure
from planting import plant

SEEDS, ROUNDS = 36, 3     # what is noticed is mostly noticed in the first round; other work changes that

# Outside the scheme: source, [(text, instead)].
RUNTIME = {
    'the end of a region before an op or a call':
        ('runtime/hooks/sync.c', [('pauses(&t->order, why);', ';')]),
    'what a call writes as an access':
        ('runtime/hooks/kernel.c', [('if (likely(!t->hooked))\n\t\treturn user_copy', 'if (t)\n\t\treturn user_copy')]),
    'that an event is not yet known': ('runtime/hooks/services.c', [('event < fork_base || learn(', 'event < fork_base || !learn(')]),
    'the accesses before an op': ('runtime/hooks/services.c', [('clock + 1, t->self->events / 2);', 'clock + 1, t->self->events / 2 + 600);')]),
    'the end of a region before an op of libheddle.so': ('interpose/pthread.c', [('\tcut_now(c);\n', '')]),
    'the accesses before an op of libheddle.so': ('interpose/pthread.c', [('clock + 1, *c->events / 2);', 'clock + 1, *c->events / 2 + 600);')]),
    'waiting for an access': ('runtime/hooks/services.c', [('return order_events(slot) >= event ||', 'return order_events(slot) + 1 >= event / 2 ||')]),
}
# Too rare in whole programs, or without a place there: orders/faults.py and models/ find them.
NOT_HERE = {'the wait for a bracket', 'an event that has begun', 'the lock of a page', 'the region in which the owner got its page',
            'the last look at a word', 'the second granule of 16 bytes',
            'the edges of the rest of a block', 'whether the rest of a block was let go', 'the region in which the owner left the next pages',
            'the wait for who reads the next pages', 'whether others own one of several words', 'whether somebody holds one of several words'}


def faults_of_region():
    spec = importlib.util.spec_from_file_location('orders_faults', f'{ROOT}/tests/orders/faults.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {what: (f'runtime/order/{file}', changes) for file in ('region.c', 'region_claims.c', 'region_words.c', 'region_hold.c')
            for what, (changes, _) in module.FAULTS[file].items() if what not in NOT_HERE}


def must_notice(t, what, place, changes, binary, seeds):
    s = soak.Soak(plant(t, place, changes), replays=5, say=lambda text: None)
    try:
        for seed in [*seeds] * ROUNDS:
            s.trial(binary, seed, 'region')
    except soak.Wrong as wrong:
        t.notes.append(f'without {what}: seed {seed}: {str(wrong).splitlines()[0][:150]}')
        return
    finally:
        s.close()
    raise Failure(f'{place} without {what}: not noticed by {len(seeds)} programs in {ROUNDS} rounds')


def case_noticed(t):
    soak.LIMIT = 20     # standing still is noticed, too
    good = soak.Soak(t.settings.build)
    seeds = range(1, 1 + SEEDS)
    missed = []
    try:
        binary = good.compile([soak.generate.Program(seed) for seed in seeds])
        for what, (place, changes) in {**RUNTIME, **faults_of_region()}.items():
            try:
                must_notice(t, what, place, changes, binary, seeds)
            except Failure as failure:
                missed.append(str(failure))
    finally:
        good.close()
    t.check(not missed, '\n'.join(missed))


case_noticed.only_soak = True
