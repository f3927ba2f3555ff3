"""LEAP's worked example, and what the other schemes of its evaluation write for the same run."""

# Figure 1, schedule 1 5 2 6 7 3 (4 is the error): t1 is x=1; y=1; if(x<0). t2 is y=0; if(y==1) x=-1.
FIGURE_1 = ['t1 w x 1', 't2 w y 0', 't1 w y 1', 't2 r y 1', 't2 w x 18446744073709551615', 't1 r x 18446744073709551615']


def order(t, name, lines, *words):
    return t.run_well([t.heddle, 'order', name, *words], stdin='\n'.join(lines).encode()).out.decode().splitlines()


def same(t, found, wanted):
    t.check(found == wanted, 'printed\n  ' + '\n  '.join(found) + '\nwanted\n  ' + '\n  '.join(wanted))


def case_leap_figure_1(t):
    same(t, order(t, 'leap', FIGURE_1), ['x: t1 t2 t1', 'y: t2 t1 t2'])


case_leap_figure_1.quick = True


def case_leap_other_schedule(t):
    """Section 2.1: the order 5 1 2 6 7 3 is permitted too, having the same vectors: it is among the replays."""
    other = [FIGURE_1[i] for i in (1, 0, 2, 3, 4, 5)]
    same(t, sorted(order(t, 'leap', other)), ['x: t1 t2 t1', 'y: t2 t1 t2'])
    text = order(t, 'leap', FIGURE_1, '--check')[0]
    t.check('these are all' in text and ' 1 replays' not in text, text)


def case_leap_compact_vectors(t):
    """Section 4.2: <t1,t1,t2,t2,t2> is <t1,t2> with the counts <2,3>."""
    same(t, order(t, 'leap', ['t1 w x', 't1 r x', 't2 r x', 't2 w x', 't2 r x']), ['x: t1*2 t2*3'])


def case_leap_one_vector_per_location(t):
    """Corollary 1: what only one thread touches logs nothing, and is a vector of one run."""
    same(t, order(t, 'leap', ['t1 w a', 't2 w b', 't1 r a', 't2 r b']), ['a: t1*2', 'b: t2*2'])


def case_global_figure_1(t):
    """DejaVu: one clock, a thread's ticks as intervals. LEAP counts 7 synchronisations with the error's line; 6
    accesses."""
    same(t, order(t, 'global', FIGURE_1), ['t1: 0 2 5', 't2: 1 3-4'])


def case_two_clocks(t):
    """RacX section 6.1: accesses and synchronisation have a clock each."""
    events = ['t1 acq m', 't1 w x', 't1 rel m', 't2 acq m', 't2 r x', 't2 rel m']
    same(t, order(t, 'global:2clocks', events), ['t1 accesses: 0', 't1 locks: 0-1', 't2 accesses: 1', 't2 locks: 2-3'])
    same(t, order(t, 'global', events), ['t1: 0-2', 't2: 3-5'])


def case_lamport_figure_1(t):
    same(t, order(t, 'lamport', FIGURE_1), ['t1: e1@1 e3@2 e6@5', 't2: e2@1 e4@3 e5@4'])


def case_jarec(t):
    """Only locks: times come through them."""
    same(t, order(t, 'lamport', ['t1 acq m', 't1 rel m', 't2 acq m', 't2 rel m', 't2 w x']), ['t1:', 't2: e5@5'])


def case_crew_figure_1(t):
    """InstantReplay: a reader has a version, a writer version/readers."""
    same(t, order(t, 'crew', FIGURE_1), ['t1: e3:y=1/0 e6:x=2', 't2: e4:y=2 e5:x=1/0'])
    same(t, order(t, 'crew', ['t1 w x', 't2 r x', 't3 r x', 't2 r x', 't1 w x']), ['t1: e5:x=1/3', 't2: e2:x=1', 't3: e3:x=1'])


def case_bad_input(t):
    """Each is refused with its line, never misread."""
    for lines, status, said in [
            (['t1 w x', 't1 q x'], 122, "line 2: no operation 'q'"),
            (['t1 w'], 122, 'line 1 has a word missing'),
            (['t1 w x 1 2'], 122, 'line 1 has a word too many'),
            (['# nothing'], 122, 'no events'),
            ([''], 122, 'no events'),
            (['t1 w x -1'], 122, "line 1: '-1' is not a value"),
            (['t1 w x 18446744073709551616'], 122, 'is not a value'),
            (['t1 w x 1', 't2 r x 2'], 122, 'line 2: t2 reads x = 1, not 2'),
            (['t1 rel m'], 122, 'line 1: t1 does not hold m'),
            (['t1 acq m', '', 't2 acq m'], 122, 'line 3: m is held by t1'),
            (['t1 acq m', 't1 acq m'], 122, 'line 2: m is held by t1'),
            (['t1 rb x'], 122, 'line 1: rv and rb'),
            (['t1 rv x', 't1 r x', 't1 rb x'], 122, 'line 2: rv and rb'),
            (['t1 rv x'], 122, 'line 1: no rb follows'),
            (['t1 fork t1'], 122, 'line 1: a thread cannot fork itself'),
            (['t2 w x', 't1 fork t2'], 122, 'line 2: t2 is there already'),
            (['t2 w x', 't1 join t2', 't2 w x'], 122, 'line 3: t2 has been joined'),
            (['t1 acq m 3'], 122, 'line 1: acq has no value'),
            (['t1 w ' + 'x' * 40], 122, 'is longer than 31 letters'),
            ([f't{i} w x' for i in range(100)], 122, 'line 65: more than 64 threads'),
            ([f't1 w x{i}' for i in range(300)], 122, 'line 257: more than 256 objects'),
            (['t1 w x'] * 5000, 122, 'line 4097: more than 4096 events'),
            (['t1 w x\0y'], 122, 'line 1 has a zero byte')]:
        outcome = t.run([t.heddle, 'order', 'leap'], stdin='\n'.join(lines).encode())
        t.check(outcome.status == status and said in outcome.err.decode() and not outcome.out,
                f'{lines[:3]}: wanted {status} "{said}", got {outcome}')
    for words, said in [(['leep'], 'did you mean leap'), ([], 'which order'), (['leap', 'crew'], 'one order at a time'),
                        (['--list', 'leap'], '--list takes no name'), (['leap', '--limit=-1'], '--limit')]:
        outcome = t.run([t.heddle, 'order', *words], stdin=b't1 w x')
        t.check(outcome.status == 121 and said in outcome.err.decode(), f'{words}: {outcome}')


def case_fork_before_its_events(t):
    outcome = t.run([t.heddle, 'order', 'leap'], stdin=b't1 w x\nt2 w x\nt1 w y\n')
    t.check(outcome.status == 0, f'{outcome}')
    late = t.run([t.heddle, 'order', 'leap'], stdin=b't3 w x\nt1 fork t2\nt2 w x\nt1 join t2\n')
    t.check(late.status == 0 and late.out == b'x: t3 t2\n', f'{late}\n{late.out.decode()}')


def case_list(t):
    text = t.run_well([t.heddle, 'order', '--list']).out.decode()
    for name in ('global', 'global:2clocks', 'lamport', 'crew', 'leap'):
        t.check(f'\n{name} ' in '\n' + text, text)
