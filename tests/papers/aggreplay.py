"""AggrePlay's worked traces (figures 1 to 5), under every scheme that the paper speaks of."""

# Figure 1: both writes under one lock. The print calls t2's read r1 and both writes w1, w2.
FIGURE_1 = ['t1 acq m', 't1 w x', 't1 rel m', 't2 r x', 't3 acq m', 't3 w x', 't3 rel m']
# Figure 2, trace σ2: e1 .. e9.
SIGMA_2 = ['t1 w x', 't2 w y', 't3 w x', 't2 r x', 't3 w y', 't2 w z', 't3 r z', 't2 r z', 't1 w z']
# Figure 3, trace σ3: t3 takes the value of z at e7 (1, of e6; the print says e5), then t2 writes 0 (ei: e8 here) and 1
# again (ek: e9), and only then t3 takes the version (the line of rb is e10).
SIGMA_3 = SIGMA_2[:5] + ['t2 w z 1', 't3 rv z 1', 't2 w z 0', 't2 w z 1', 't3 rb z', 't2 r z', 't1 w z 2']
# All that promise to be exact: figures 1 and 3 are right under each of them.
EXACT = ('region', 'global', 'global:2clocks', 'lamport', 'crew', 'leap', 'light:ww', 'aggreplay', 'tplay')


def order(t, name, lines, *words):
    return t.run_well([t.heddle, 'order', name, *words], stdin='\n'.join(lines).encode()).out.decode().splitlines()


def same(t, found, wanted):
    t.check(found == wanted, 'printed\n  ' + '\n  '.join(found) + '\nwanted\n  ' + '\n  '.join(wanted))


def exact(t, name, lines):
    """All replays that the log allows read the same."""
    text = order(t, name, lines, '--check', '--limit=2000')[0]
    t.check('every one with the same reads and the same memory' in text, text)


def case_aggreplay_figure_5(t):
    """As printed. Algorithm 1, line 18, would also list e6→e8, which is within t2 and costs nothing to keep; the figure
    leaves it out, and so do we. Vectors are those of the writes that had reads to wait for (O1, O2)."""
    wanted = ['Wx=⟨e1,e3⟩', 'Wy=⟨e2,e5⟩', 'Wz=⟨e6,e9⟩', 'WRx=⟨e3→e4⟩', 'WRz=⟨e6→e7⟩', 't1.z=⟨[0,1,1],e9⟩']
    same(t, order(t, 'aggreplay', SIGMA_2), wanted)
    same(t, order(t, 'aggreplay:published', SIGMA_2), wanted)
    exact(t, 'aggreplay', SIGMA_2)


case_aggreplay_figure_5.quick = True


def case_aggreplay_figure_3(t):
    """aggreplay knows that t3 read e6: it has the pair, and t2's next write waits for that read. Of all others only
    stride, which takes value and version apart, pairs it with another write (stride.py)."""
    same(t, order(t, 'aggreplay', SIGMA_3),
         ['Wx=⟨e1,e3⟩', 'Wy=⟨e2,e5⟩', 'Wz=⟨e6,e8,e9,e12⟩', 'WRx=⟨e3→e4⟩', 'WRz=⟨e6→e7⟩', 't2.z=⟨[0,0,1],e8⟩',
          't1.z=⟨[0,1,1],e12⟩'])
    for name in EXACT:
        exact(t, name, SIGMA_3)


def case_aggreplay_figure_1(t):
    """The read comes before the second write: aggreplay counts it, tplay too, light:ww has the edge, region keeps it.
    Light has not, and a replay that it allows reads the second write. (The text names the two races against its own
    figure: what Light loses is read → second write.)"""
    same(t, order(t, 'aggreplay', FIGURE_1), ['Wx=⟨e2,e6⟩', 'WRx=⟨e2→e4⟩', 't3.x=⟨[0,1,0],e6⟩'])
    t.check('rwSet={⟨[0,1,0],t3,tr3⟩}' in order(t, 'tplay', FIGURE_1), 'tplay does not count the read')
    same(t, order(t, 'light:ww', FIGURE_1), ['edges={e2→e4,e4→e6}'])
    same(t, order(t, 'light', FIGURE_1)[:1], ['flows={e2→e4}'])
    for name in EXACT:
        exact(t, name, FIGURE_1)
    lost = t.run([t.heddle, 'order', 'light', '--check'], stdin='\n'.join(FIGURE_1).encode())
    t.check(lost.status == 123 and b't2 reads x = 6 at e4, recorded was 2' in lost.out, f'{lost}\n{lost.out.decode()}')


case_aggreplay_figure_1.quick = True


def case_aggreplay_optimisations(t):
    """O1: nothing read since, nothing logged. O2: only its own reads, nothing logged. O3: equal counts of neighbours
    are one entry, over a hole at the writer's own place."""
    same(t, order(t, 'aggreplay', ['t1 w x', 't2 w x']), ['Wx=⟨e1,e2⟩'])
    same(t, order(t, 'aggreplay', ['t1 w x', 't1 r x', 't1 w x']), ['Wx=⟨e1,e3⟩'])
    many = ['t1 w x'] + [f't{i} r x' for i in range(1, 9)] + ['t4 w x']
    same(t, order(t, 'aggreplay', many)[-1:], ['t4.x=⟨[1,1,1,1,1,1,1,1],e10⟩'])
    told = order(t, 'traced:aggreplay', many)
    t.check('t4 event 1   entries: 1' in told, '\n'.join(told))


def case_aggreplay_published_loses(t):
    """Algorithm 1 counts a read before it happens and outside the lock (lines 15 to 17): some order of two threads
    shows it."""
    lines = ['t1 w x', 't1 w x', 't2 r x', 't2 w y', 't1 r y']
    found = t.run([t.heddle, 'order', 'aggreplay:published', '--every-order'], stdin='\n'.join(lines).encode())
    t.check(found.status == 123, f'{found}\n{found.out.decode()}')
    text = order(t, 'aggreplay', lines, '--every-order')[0]
    t.check('the same reads' in text, text)
