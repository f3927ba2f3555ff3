"""Stride, as AggrePlay describes it, on traces σ2 and σ3: which write a read is linked to."""

SIGMA_2 = ['t1 w x', 't2 w y', 't3 w x', 't2 r x', 't3 w y', 't2 w z', 't3 r z', 't2 r z', 't1 w z']
# Figure 3: e7 takes the value 1 of e6 (the print says e5), then z becomes 0 (ei: e8) and 1 again (ek: e9) before e7
# takes its version. The line of rb is e10.
SIGMA_3 = SIGMA_2[:5] + ['t2 w z 1', 't3 rv z 1', 't2 w z 0', 't2 w z 1', 't3 rb z', 't2 r z', 't1 w z 2']


def order(t, name, lines, *words):
    return t.run_well([t.heddle, 'order', name, *words], stdin='\n'.join(lines).encode()).out.decode().splitlines()


def same(t, found, wanted):
    t.check(found == wanted, 'printed\n  ' + '\n  '.join(found) + '\nwanted\n  ' + '\n  '.join(wanted))


def case_stride_sigma_2(t):
    """Value and bound of each read, and what it is linked to. AggrePlay also lists ⟨value e8,version e6⟩: t2 has
    written that value itself, so the last-one value predictor leaves it out. The print leaves out e2⇝e5 of the writes'
    order."""
    same(t, order(t, 'stride', SIGMA_2),
         ['Wx=⟨e1,e3⟩', 'Wy=⟨e2,e5⟩', 'Wz=⟨e6,e9⟩', '⟨value 3,version e3⟩: e3→e4', '⟨value 6,version e6⟩: e6→e7'])


def case_stride_figure_3(t):
    """The wrong pairing: e7 read what e6 wrote, and is linked to e9, which wrote the same value before the version was
    taken."""
    same(t, order(t, 'stride', SIGMA_3),
         ['Wx=⟨e1,e3⟩', 'Wy=⟨e2,e5⟩', 'Wz=⟨e6,e8,e9,e12⟩', '⟨value 3,version e3⟩: e3→e4', '⟨value 1,version e9⟩: e9→e7'])
    whole = [line.replace('rv', 'r') for line in SIGMA_3 if ' rb ' not in line]
    t.check('⟨value 1,version e6⟩: e6→e7' in order(t, 'stride', whole), 'in one step it would be linked to e6')


case_stride_figure_3.quick = True


def case_stride_value_between(t):
    """If no later write has the same value, the link is right although the bound is too high."""
    text = order(t, 'stride', ['t1 w z 1', 't2 rv z 1', 't1 w z 2', 't1 w z 3', 't2 rb z'])
    same(t, text, ['Wz=⟨e1,e3,e4⟩', '⟨value 1,version e4⟩: e1→e2'])


def case_stride_values(t):
    """Each read returns what it read, under any order of the events, though not always from the same write."""
    for lines in (SIGMA_2, ['t1 w x 1', 't1 w x 0', 't1 w x 1', 't2 r x', 't2 r x', 't2 w y', 't1 r y']):
        text = order(t, 'stride', lines, '--every-order', '--limit=200')[0]
        t.check('every one with the same reads' in text, text)
