"""Every scheme of the list, by itself: real threads (order-stress), and the reference model (heddle order --check)."""
import os

# What threads do, for --every-order: each line once, in whatever order the threads come to it.
PROGRAMS = {
    'lost update': ['t1 r x', 't1 w x', 't2 r x', 't2 w x'],
    'publication': ['t1 w x', 't1 w y', 't2 r y', 't2 r x'],
    'store buffering': ['t1 w x', 't1 r y', 't2 w y', 't2 r x'],
    'three writers': ['t1 w x', 't2 w x', 't3 w x', 't3 r x'],
    'blind writes': ['t1 w x', 't1 w y', 't2 w y', 't2 w x'],
    'a lock': ['t1 acq m', 't1 w x', 't1 rel m', 't2 acq m', 't2 r x', 't2 rel m', 't2 r x'],
    'fork and join': ['t1 w x', 't1 fork t2', 't1 r x', 't2 w x', 't1 join t2', 't1 r x'],
    'read twice': ['t1 r x', 't1 r x', 't2 w x', 't2 r x'],
}


def schemes(t):
    """(name, is it exact?) of every scheme."""
    lines = t.run_well([program(t), '--list']).out.decode().splitlines()
    return [(name, guarantee.startswith('exact')) for name, guarantee, _ in (line.split('\t') for line in lines)]


def program(t):
    return os.path.join(t.settings.build, 'tests', 'order-stress')


def stressed(t, *words, runs):
    for name, exact in schemes(t):
        if exact:
            t.hint = f'{program(t)} {name} --runs={runs} {" ".join(words)}'
            outcome = t.run([program(t), name, f'--runs={runs}', *words], timeout=1800)
            t.check(outcome.status == 0, f'{name}: {outcome}\n{outcome.out.decode()}')


def case_threads(t):
    stressed(t, '--threads=2,4,8', runs=t.count(44, 4400))


def case_quick(t):
    stressed(t, '--threads=2,4', '--accesses=500', runs=11)


def case_chaos(t):
    stressed(t, '--threads=2,3,8', '--chaos', '--replays=2', runs=t.count(22, 2200))


def case_many_threads(t):
    stressed(t, '--threads=40', '--accesses=300', runs=t.count(11, 220))


def case_not_exact(t):
    """What is not exact as published is measured: how many replays were other runs."""
    for name, exact in schemes(t):
        if not exact:
            outcome = t.run([program(t), name, f'--runs={t.count(11, 220)}', '--threads=2,4', '--accesses=200', '--stall=1',
                             '--keep-going'], timeout=1800)
            t.check(outcome.status in (0, 1), f'{name}: {outcome}\n{outcome.out.decode()}')
            t.notes.append(outcome.out.decode().strip().split('\n')[-1])


def case_model(t):
    """Every order in which small programs can be recorded, and every replay that each log allows."""
    for name, exact in schemes(t):
        for what, lines in PROGRAMS.items():
            outcome = t.run([t.heddle, 'order', name, '--every-order', f'--limit={t.count(300, 20000)}'],
                            stdin='\n'.join(lines).encode(), timeout=900)
            text = outcome.out.decode().strip()
            t.check(outcome.status == 0 or (outcome.status == 123 and not exact), f'{what}: {outcome}\n{text}')
            if outcome.status:
                t.notes.append(f'{what}: {text}')


def case_traced(t):
    """A scheme that is traced writes the same log, and every call is told."""
    events = b't1 w x\nt2 w y\nt1 w y\nt2 r y\nt2 w x\nt1 r x\n'
    for name, _ in schemes(t):
        plain = t.run_well([t.heddle, 'order', name], stdin=events).out
        told = t.run_well([t.heddle, 'order', 'traced:' + name], stdin=events).out
        t.check(told.endswith(plain) and told.count(b' event ') >= 6, f'{name}:\n{plain.decode()}\ntraced:\n{told.decode()}')


case_quick.quick = True
