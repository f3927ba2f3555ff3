"""TPLAY's worked trace (figures 1 and 2), cycles of transactions, and what its print gets wrong. Algorithms 3 and 4:
threads.py."""
import json
import os

from harness import ROOT

SIGMA_1 = ['t1 w x', 't1 r x', 't1 r x', 't2 w y', 't2 r x', 't2 r x', 't3 w x', 't3 w y', 't3 r y', 't3 r x', 't2 r y', 't2 r x',
           't1 w y', 't1 r y']
# Each waits for the one before, and the first for the last.
CYCLE_2 = ['t1 w a', 't2 r a', 't2 w b', 't1 r b']
CYCLE_3 = ['t1 w a', 't2 w p', 't2 r a', 't3 w q', 't3 r p', 't1 r q']
CYCLE_4 = ['t1 w a', 't2 w p', 't2 r a', 't3 w q', 't3 r p', 't4 w s', 't4 r q', 't1 r s']
# The edge into t1's transaction comes last although the path through t2 and t3 was not yet one when t3 read: t2 follows
# t1 only after t3 has followed t2. Clocks that are taken at events do not see it.
LATE_3 = ['t2 w a', 't3 w q', 't3 r a', 't1 w p', 't2 r p', 't3 r q', 't1 r q']
# The wait that closes the cycle is at a lock, not at an access.
THROUGH_LOCK = ['t1 w a', 't2 acq m', 't2 r a', 't2 w b', 't2 rel m', 't1 acq m', 't1 r b', 't1 rel m']


def order(t, name, lines, *words):
    return t.run_well([t.heddle, 'order', name, *words], stdin='\n'.join(lines).encode()).out.decode().splitlines()


def same(t, found, wanted):
    t.check(found == wanted, 'printed\n  ' + '\n  '.join(found) + '\nwanted\n  ' + '\n  '.join(wanted))


def case_tplay_figure_2(t):
    """As printed.

    Lines 6 and 7 of Algorithm 1 would also record the write-write pairs e1→e7 and e8→e13, which the print leaves out.
    The read counts imply them: at e7 rwSet says that t1 has made 2 reads, and these follow e1 in t1; at e13 that t3 has
    made 2, which follow e8. So an edge is left out where the counts logged at the same event include a later read of
    the writer's. (e4→e8 is recorded, since no counts are logged at e8; it becomes aSet's pair.) Lines 13 and 14 would
    record ⟨t3,tr3,t2,tr2⟩ at e11 and e12: beside aSet that would be a deadlock, and a pair in bSet is not also in dSet.
    bSet's last component is the event e11, as figure 2 has it, not the transaction of line 32."""
    wanted = ['dSet={⟨t1,tr1,t2,tr2⟩}', 'aSet={⟨t2,e6,t3,tr3⟩}', 'bSet={⟨t3,tr3,t2,e11⟩}',
              'rwSet={⟨[2,0,0],t2,tr2⟩, ⟨[2,2,0],t3,tr3⟩, ⟨[2,4,2],t1,tr4⟩}']
    same(t, order(t, 'tplay', SIGMA_1), wanted)
    same(t, order(t, 'tplay:published', SIGMA_1), wanted)
    for name in ('tplay', 'tplay:published'):
        text = order(t, name, SIGMA_1, '--check', '--limit=2000')[0]
        t.check('every one with the same reads' in text, text)


case_tplay_figure_2.quick = True


def case_tplay_split_is_the_artificial_pair(t):
    """Two transactions: the second waits for the first up to e1 (aSet: the event before the violating one), and e4
    waits for the second (bSet). The split says the same: what waited for the transaction waits for the part that e1
    ended, which is over exactly when e1 is. The published rules print the same."""
    same(t, order(t, 'tplay', CYCLE_2),
         ['dSet={}', 'aSet={⟨t1,e1,t2,tr2⟩}', 'bSet={⟨t2,tr3,t1,e4⟩}', 'rwSet={}'])
    same(t, order(t, 'tplay:published', CYCLE_2), order(t, 'tplay', CYCLE_2))


def case_tplay_cycles(t):
    """Through three and more transactions: the pair mends none of them, the split all. Every order of the events,
    too."""
    for lines in (CYCLE_2, CYCLE_3, CYCLE_4, LATE_3, THROUGH_LOCK):
        text = order(t, 'tplay', lines, '--check', '--limit=2000')[0]
        t.check('every one with the same reads' in text, f'{lines}: {text}')
        text = order(t, 'tplay', lines, '--every-order', f'--limit={t.count(200, 5000)}')[0]
        t.check('every one with the same reads' in text, f'{lines}: {text}')
    for lines in (CYCLE_3, CYCLE_4):
        still = t.run([t.heddle, 'order', 'tplay:published', '--check'], stdin='\n'.join(lines).encode())
        t.check(still.status == 123 and b'wait for ever' in still.out, f'{lines}: {still}\n{still.out.decode()}')


def case_tplay_violations_are_told(t):
    """A cycle is a violation, told with the transaction that made it; a split that only keeps waits acyclic is none."""
    same(t, order(t, 'tplay', CYCLE_3)[1:3], ['aSet={⟨t1,e1,t2,tr2⟩}', 'bSet={⟨t3,tr3,t1,e6⟩}'])
    # t1's transaction began first and reads what a later one wrote, but nobody follows t1: no violation
    same(t, order(t, 'tplay', ['t1 w a', 't2 w b', 't1 r b'])[:3], ['dSet={⟨t2,tr2,t1,tr1⟩}', 'aSet={}', 'bSet={}'])


def case_tplay_transactions(t):
    """A transaction begins at the thread's first write and at each write after a read (Ψ is set to read after a read;
    line 15 prints write)."""
    same(t, order(t, 'tplay', ['t1 w a', 't1 w b', 't1 r a', 't1 r b', 't1 w a', 't2 r b', 't2 r a'])[:1],
         ['dSet={⟨t1,tr1,t2,tr3⟩, ⟨t1,tr2,t2,tr3⟩}'])


def case_tplay_violations_have_lines(t):
    """A recording keeps the violations; `heddle stat` tells where they were, and `heddle dump` in which event."""
    source, program, trace = os.path.join(ROOT, 'tests', 'papers', 'parts', 'violated.c'), t.path('violated'), t.path('trace')
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '-O1', '-g', '--select=all', '-o', program, source, '-pthread'])
    for seed in range(1, 21):       # until the threads have met
        t.run_well(['rm', '-rf', trace])
        outcome = t.record([program], trace=trace, options=['--order=tplay', '--verify', f'--chaos={seed}'], timeout=60)
        t.check(outcome.status == 0, f'{outcome}')
        found = json.loads(t.run_well([t.heddle, 'stat', '--json', trace]).out)['violations']
        if found:
            break
    t.check(found, 'twenty recordings without a violation')
    with open(source) as file:
        lines = {number for number, line in enumerate(file, 1) if '// violated' in line}
    for row in found:
        for place in (row['at'], row['after']):
            t.check(any(f'violated.c:{n}:' in place for n in lines), f'{row}')
    text = t.run_well([t.heddle, 'stat', trace]).out.decode()
    counted = text.split('logged by --order=tplay:')[-1].split('\n')[0]
    t.check(' violations' in counted and ' transactions' in counted, f'what the order logged is not counted: {text}')
    t.check(f'{sum(row["count"] for row in found)} violations of atomicity' in text and found[0]['at'] in text, text)
    t.check(b'atomicity violated by transaction' in t.run_well([t.heddle, 'dump', trace]).out, 'heddle dump does not tell')
    t.replays(outcome, trace=trace, timeout=60)
