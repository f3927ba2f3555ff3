"""TPLAY's thread abstraction and matching (Algorithms 3 and 4): a thread is the k-th child of its parent, at replay
too.

Heddle has it for every order: the entry of the call that created a thread, in its parent's stream, names the thread's
slot. tLog is the list of these pairs."""
import json
import os
import random
import re

from harness import ROOT

SOURCE = os.path.join(ROOT, 'tests', 'papers', 'parts', 'families.c')


def recorded(t, *args, seed, order='tplay'):
    program = t.path('families')
    if not os.path.exists(program):
        t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '-g', '--select=all', '-o', program, SOURCE, '-pthread'])
    trace = t.path(f'trace-{seed}-{order}')
    outcome = t.record([program, *args], trace=trace, options=[f'--order={order}', '--verify', f'--chaos={seed}'], timeout=60)
    t.check(outcome.status == 0, f'{outcome}')
    return outcome, trace


def abstractions(t, trace):
    """Algorithm 3: ⟨child, parent⟩ for each thread but the first, each parent's in the order in which it created
    them."""
    entries = [json.loads(line) for line in t.run_well([t.heddle, 'dump', '--json', trace]).out.splitlines()]
    return [(block['addr'], entry['thread']) for entry in entries if entry.get('name') in ('clone', 'clone3')
            for block in entry.get('blocks', ()) if block['kind'] == 'child' and block['arg'] == 1]


def matching(log, creations):
    """Algorithm 4. creations: (new thread, its parent) as they come at replay, under names of the replay's own. (Line
    11 prints replayFreq for childFreq.)"""
    children, match = {}, {0: 0}
    for thread, parent in creations:
        children[parent] = children.get(parent, 0) + 1
        frequency = 1
        for a, b in log:
            if b == match[parent] and frequency == children[parent]:
                match[thread] = a
                break
            if b == match[parent]:
                frequency += 1
    return match


def any_order(log, rng):
    """The same creations in another order: each parent's one after the other, and nobody before its own creation."""
    waiting, ready, order = {}, [], []
    for child, parent in log:
        waiting.setdefault(parent, []).append(child)
    ready.append(0)
    while any(waiting.get(parent) for parent in ready):
        parent = rng.choice([p for p in ready if waiting.get(p)])
        child = waiting[parent].pop(0)
        order.append((child, parent))
        ready.append(child)
    return order


def case_thread_abstraction_figure_1(t):
    """The set that the paper gives for its figure 1: three threads, all children of the first."""
    outcome, trace = recorded(t, '3', seed=1)
    found = set(abstractions(t, trace))
    t.check(found == {(1, 0), (2, 0), (3, 0)}, f'{found}')
    t.replays(outcome, trace=trace, timeout=60)


def case_thread_matching(t):
    """Parents race to create children, so that a thread's number varies; who is whose child does not, and at replay
    every thread is again who it was."""
    rng, numbers, paths = random.Random(1), set(), set()
    for seed in range(1, t.count(4, 40) + 1):
        outcome, trace = recorded(t, '3', '4', seed=seed)
        log = abstractions(t, trace)
        t.check(len(log) == 15 and len({child for child, _ in log}) == 15, f'{log}')
        numbers.add(tuple(sorted(log)))
        paths.add(tuple(re.findall(rb'^(\S+):', outcome.out, re.M)))
        for _ in range(50):
            other = any_order(log, rng)
            # at replay threads get new names as they come; Algorithm 4 must find the old ones
            name = {0: 0, **{child: 100 + i for i, (child, _) in enumerate(other)}}
            match = matching(log, [(name[child], name[parent]) for child, parent in other])
            t.check(all(match[name[child]] == child for child, _ in log), f'{log}\n{other}\n{match}')
        t.replays(outcome, trace=trace, timeout=60)
    t.check(len(numbers) > 1, 'threads were always created in the same order: this shows nothing')
    t.check(len(paths) == 1, 'a family has another shape in another run')


def case_thread_matching_every_order(t):
    """It is common to all orders."""
    names = [line.split()[0] for line in t.run_well([t.heddle, 'record', '--order=help']).out.decode().splitlines() if line[0] != ' ']
    for n, order in enumerate(('region', 'leap', 'global', 'aggreplay')):
        t.check(order in names, f'{names}')
        outcome, trace = recorded(t, '3', '3', seed=n + 50, order=order)
        t.replays(outcome, trace=trace, timeout=60)
