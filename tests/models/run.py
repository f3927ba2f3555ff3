#!/usr/bin/env python3
"""The models of --order=region, checked by spin: python3 tests/models/run.py [--deep]

Each model must be free of errors as it is, and spin must find one whenever something that the scheme needs is left out
(the names at the top of the .pml files). What takes longer than a few seconds is for make soak.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

SAMPLED = 'ACCESSES=3 OWNS'      # more states than memory holds: as many of them as fit into a gigabit, three bits each
# Model and definitions; deep: takes minutes. With FAULTS the names of which each must give an error.
RIGHT = [('claims', 'ACCESSES=2'), ('claims', 'ACCESSES=2 QUICK ASKS'), ('claims', 'ACCESSES=2 SHIFT=0'), ('claims', 'ACCESSES=2 SHIFT=0 LOOPS'), ('claims', 'ACCESSES=2 SHIFT=0 HELD'),
         ('claims', 'ACCESSES=2 SHIFT=0 LETS_GO=1'),
         ('word', 'ACCESSES=2'), ('change', 'ACCESSES=1')]
RIGHT_OWNS = [('word', 'ACCESSES=2 OWNS'), ('change', 'ACCESSES=1 AT_REST')]     # a minute
RIGHT_DEEP = [('claims', 'ACCESSES=2 SHIFT=0 LETS_GO=1 QUICK'), ('claims', 'ACCESSES=2 LETS_GO=2 QUICK'), ('claims', 'ACCESSES=2 SHIFT=0 LETS_GO=2 QUICK'), ('claims', 'ACCESSES=2 SHIFT=0 LETS_GO=1 LETS_GO_TIMES=2 QUICK'), ('claims', 'ACCESSES=2 SHIFT=0 HELD ASKS'), ('claims', 'ACCESSES=2 SHIFT=0 LETS_GO=1 QUICK ASKS'), ('claims', 'ACCESSES=3'), ('claims', 'ACCESSES=3 LOOPS'), ('claims', 'ACCESSES=2 HELD'), ('claims', 'THREADS=3 ACCESSES=1'), ('word', 'ACCESSES=2 LOCKS=1'), ('word', 'ACCESSES=2 LOCKS=1 SIGNALS'), ('word', 'ACCESSES=2 SHIFT=0'),
              ('word', 'ACCESSES=2 OWN_ACCESSES'), ('word', 'ACCESSES=2 OWNS SHIFT=0'), ('word', 'ACCESSES=2 OWNS OWN_ACCESSES'), ('word', 'THREADS=3 ACCESSES=1'),
              ('change', 'ACCESSES=2'), ('change', 'ACCESSES=2 SHIFT=0'), ('change', 'ACCESSES=2 AT_REST'), ('word', SAMPLED)]
FAULTS = [
    ('claims', 'ACCESSES=2', 'NO_MEMBARRIER NO_WAIT LATE_CLEAR PLAIN_CLOSE NO_READER_EDGES NO_OPEN FINISHED_ONLY NO_CUT'),
    ('claims', 'ACCESSES=2 ASKS', 'PLAIN_ANSWER EARLY_QUESTION NO_ANSWER'),
    ('claims', 'ACCESSES=3 SHIFT=0 LOOPS', 'SEEN_ONLY'),
    ('claims', 'ACCESSES=2 SHIFT=0 HELD', 'PLAIN_PUBLISH NO_PUBLISH CHECKED_ONCE'),
    ('claims', 'ACCESSES=2 SHIFT=0 LETS_GO=1', 'PLAIN_LET_GO LATE_LET_GO OLD_LET_GO OLD_NAME'),
    ('claims', 'ACCESSES=2 SHIFT=0 LETS_GO=1 QUICK', 'NO_FOLLOWING'),
    ('word', 'ACCESSES=2', 'NO_VALIDATION EARLY_LOOK NO_STORE_BARRIER PLAIN_UNLOCK NO_READER_EDGES NO_WRITER_EDGES FINISHED_ONLY NO_CUT'),
    ('word', 'ACCESSES=2 OWNS', 'NO_MEMBARRIER NO_WAIT SEEN_EARLY PLAIN_CLOSE KEPT'),
    ('word', 'ACCESSES=2 LOCKS=1', 'STALE_REGION FENCED_FOR_GOOD NO_READ_FENCE NO_WRITE_FENCE NO_PAUSE'),
    ('word', 'ACCESSES=2 LOCKS=1 SIGNALS', 'FENCED_AFTER_ALL'),
    ('change', 'ACCESSES=2', 'NOT_LOCKED NO_WORD_EDGE NOT_CLEARED NO_PAGE_WRITER NO_SECOND_LOOK'),
    ('change', 'ACCESSES=2 AT_REST', 'NOT_LOCKED NOT_PAST BEGUN_ONLY OLD_WRITER'),
]
FAULTS_DEEP = [('change', 'ACCESSES=2', 'NO_PAGE_EDGE'), ('change', 'THREADS=3 ACCESSES=1', 'PLAIN_CLEAR'), ('word', SAMPLED, 'AMONG_READERS'), ('claims', 'ACCESSES=2 SHIFT=0 LETS_GO=2', 'ANY_NAME')]


def run(argv, cwd, timeout):
    return subprocess.run(argv, cwd=cwd, timeout=timeout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def errors(model, definitions, folder, optimised, timeout=1500):
    """What spin finds: (number of errors, the first of them, states)."""
    flags = [f'-D{word}' for word in definitions.split()]
    made = run(['spin', '-a', *flags, os.path.join(HERE, model + '.pml')], folder, 60)
    if made.returncode or 'rror' in made.stdout:
        raise RuntimeError(f'spin {" ".join(flags)} {model}.pml: {made.stdout}')
    sampled = definitions.startswith(SAMPLED)
    built = run(['gcc', '-O1' if optimised else '-O0', '-w', '-DSAFETY', '-DBITSTATE' if sampled else '-DCOLLAPSE', '-DVECTORSZ=4096', '-o', 'pan', 'pan.c'],
                folder, 600)
    if built.returncode:
        raise RuntimeError(built.stdout)
    out = run(['./pan', '-m200000', '-w30' if sampled else '-w24'], folder, timeout).stdout
    count = re.search(r'errors: (\d+)', out)
    states = re.search(r'(\d+) states, stored', out)
    if not count or 'max search depth too small' in out or 'out of memory' in out:
        raise RuntimeError(f'{model} {definitions}: the search was not complete\n{out}')
    return int(count[1]), next((line for line in out.split('\n') if re.match(r'pan:\d+:', line)), ''), int(states[1])


def check_right(models, say, optimised=True):
    """Complaints; what was found goes to say(). Optimised: gcc may take minutes for what it saves seconds of."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for model, definitions in models:
            count, first, states = errors(model, definitions, folder, optimised)
            say(f'{model} {definitions}: {states} states' + (f', {first}' if count else ''))
            if count:
                wrong.append(f'{model} {definitions}: {first}')
    return wrong


def check_faults(faults, say, optimised=False):
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for model, definitions, names in faults:
            for name in names.split():
                count, first, _ = errors(model, f'{definitions} {name}', folder, optimised)
                say(f'{model} {definitions} {name}: {first or "no error"}')
                if not count:
                    wrong.append(f'{model} {definitions}: {name} is not noticed')
    return wrong


def case_region(t):
    wrong = check_right(RIGHT, t.notes.append, optimised=False)
    t.check(not wrong, '\n'.join(wrong))


case_region.quick = True


def case_region_owns(t):
    wrong = check_right(RIGHT_OWNS, t.notes.append)
    t.check(not wrong, '\n'.join(wrong))


def case_region_faults(t):
    wrong = check_faults(FAULTS, t.notes.append)
    t.check(not wrong, '\n'.join(wrong))


def case_region_deep(t):
    wrong = check_right(RIGHT_DEEP, t.notes.append) + check_faults(FAULTS_DEEP, t.notes.append, optimised=True)
    t.check(not wrong, '\n'.join(wrong))


case_region_deep.only_soak = True

if __name__ == '__main__':
    def say(line):
        print(line, flush=True)
    deep = '--deep' in sys.argv[1:]
    complaints = check_right(RIGHT, say, optimised=False) + check_right(RIGHT_OWNS + (RIGHT_DEEP if deep else []), say) + check_faults(FAULTS, say)
    complaints += check_faults(FAULTS_DEEP, say, optimised=True) if deep else []
    print('\n'.join(complaints))
    sys.exit(1 if complaints else 0)
