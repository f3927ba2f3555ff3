"""What heddle-cc puts into programs (compiler/fast.c), and what the runtime does for it: a program with such code must
notice when something of it is missing."""
import shutil

from harness import ROOT, Failure
from planting import FAST, plant

RUNS = 8        # without a fault
PLANTED = 60    # with one, at most: which interleaving shows it is chance
LOOK = 'return (claim_at((const uint8_t *)claims, mask, addr) & kind) != 0;'
# Of brackets that are held over loops (compiler/held.c), what is left out: [(text, instead)] in compiler/fast.c.
HELD = {
    'the look at a claim': [(LOOK, 'return 1;')],
    'the count at a miss': [('\t__atomic_store_n(&self->events, events, __ATOMIC_RELEASE);\n\t__atomic_signal_fence', '\t__atomic_signal_fence')],
    'the next entry of the log': [('uint64_t until = GET(self->group_until), most = events + 2 * HOOK_HELD;',
                                   'uint64_t until = ~0ull, most = events + 2 * HOOK_HELD;')],
}
# Of accesses that may lie in two pages.
ACROSS = {
    'whether it is aligned': [('return !(addr & (size - 1));', 'return 1;')],
    'the claims of two pages': [('return (claim_at(all, mask, addr) & claim_at(all, mask, addr + size - 1) & kind) != 0;', LOOK.replace("(const uint8_t *)claims", "all"))],
}
# Of calls whose bytes are known before.
BYTES = {
    'the look at the claims of a few bytes': [('(range_claimed(self, first, size, kind) ||', '(last >> 12 == first >> 12 || range_claimed(self, first, size, kind) ||')],
    'the look at the claims of many': [('|| pages_claimed(self, first, last, kind, 1));', '|| 1);')],
}
# Of calls on strings.
STRINGS = {
    'the look at the claim of a string': [('if (!string || !(claim(self, (uint64_t)string) & kind))', 'if (!string)')],
    'the bytes of a copy': [('return events < self->group_until ? __heddle_string_claimed(', 'return events < self->group_until ? !!__heddle_string_claimed('),
                            ('return size <= HOOK_BYTES_MAX &&', 'return size == 1 || size <= HOOK_BYTES_MAX &&')],
}
# Of loops whose ranges are known before they begin (compiler/loops.c).
LOOPS = {
    'the claims of a short range': [('if (last - page <= 1 && (page | last) < HOOK_PAGES && GET(self->claims[page]) & GET(self->claims[last]) & kind)', 'if (last - page <= 1)')],
    'the claims of a long range': [('\treturn __heddle_pages(self, page, last, kind, 1);\n', '\treturn last - page > 1 || __heddle_pages(self, page, last, kind, 1);\n')],
    'the next entry of the log': [('events + 2 * (more + 1) * each < self->group_until);', '1);')],
}
# Of loops in loops, likewise.
NESTS = {
    'the claims': [('return ok && size <= HOOK_BYTES_MAX && pages_claimed(self, first, first + size - 1, kind, 2 * touched >= size);', 'return ok;')],
    'the claims of all but the beginning': [('pages_claimed(self, first, first + size - 1, kind, 2', 'pages_claimed(self, first, first, kind, 2')],
    'the next entry of the log': [('return both(events + 2 * accesses < self->group_until, ', 'return both(1, ')],
}
# Of accesses that follow one another (compiler/groups.c), and of loops with long steps.
GROUPS = {
    'the claims between long steps': [('\treturn __heddle_apart(self, first, stride, more, size, kind);', '\treturn 1;')],
    'the claim of one': [(LOOK, 'return 1;')],
    'the claims of a page and the next': [('return !(~pair & kind * 0x0101);', 'return 1;'), ('return pair == (HOOK_READ | HOOK_WRITE) * 0x0101;', 'return 1;')],
    'the claims of two pages': [('return (claim_at(all, mask, addr) & claim_at(all, mask, addr + size - 1) & kind) != 0;', 'return 1;')],
}
# Of accesses that fault where the thread had the claim, in the runtime.
AGAIN = {
    'the group of an access that is made again': [('grouped = group_of_access(t, addr);', ';')],
}
# Of unlocks that libheddle.so makes by itself, and with them lets go of pages. Not under --chaos, where none is.
GIVING = {
    'the end of the region before': [('\tcut_now(c);\n\tcut_note', '\tif (hands_on)\n\t\tcut_give(c);\n\tcut_now(c);\n\tcut_note')],
}


def is_same(t, top, program, seed):
    """program: its arguments, too. seed 0: without --chaos."""
    trace = t.path('trace')
    shutil.rmtree(trace, ignore_errors=True)
    chaos = [f'--chaos={seed}'] if seed else []
    recorded = t.run([f'{top}/bin/heddle', 'record', '-q', '-o', trace, '--order=region', *chaos, '--', *program], timeout=120)
    replayed = t.run([f'{top}/bin/heddle', 'replay', trace], timeout=120)
    return (replayed.status, replayed.out) == (recorded.status, recorded.out)


def build(t, top, bug, rounds):
    program = t.path('program')
    t.run_well([f'{top}/bin/heddle-cc', '--select=all', '-O2', '-g', '-pthread', f'{ROOT}/tests/bugs/{bug}.c', '-o', program])
    return [program, '4', *rounds]


def is_noticed(t, top, bug, what, rounds, chaos):
    program = build(t, top, bug, rounds)
    for seed in range(1, PLANTED + 1):
        try:
            same = is_same(t, top, program, seed if chaos else 0)
        except Failure:     # it stands still: that, too
            same = False
        if not same:
            t.notes.append(f'without {what}: run {seed}')
            return True
    return False


def each_is_noticed(t, bug, faults, place=FAST, rounds=(), chaos=True):
    program = build(t, t.settings.build, bug, rounds)
    for seed in range(1, RUNS + 1):
        t.check(is_same(t, t.settings.build, program, seed if chaos else 0), f'run {seed}: nothing is planted, and the replay is another run')
    for what, changes in faults.items():
        if not is_noticed(t, plant(t, place, changes), bug, what, rounds, chaos):
            raise Failure(f'{place} without {what}: not noticed in {PLANTED} runs')


def case_held_faults(t):
    each_is_noticed(t, 'held_loops', HELD)


def case_loop_faults(t):
    each_is_noticed(t, 'loop_claims', LOOPS)


def case_nest_faults(t):
    each_is_noticed(t, 'nest_claims', NESTS)


def case_group_faults(t):
    each_is_noticed(t, 'side_by_side', GROUPS)


def case_across_faults(t):
    each_is_noticed(t, 'across_pages', ACROSS)


def case_bytes_faults(t):
    each_is_noticed(t, 'compared_bytes', BYTES)


def case_string_faults(t):
    each_is_noticed(t, 'claimed_strings', STRINGS)


def case_again_faults(t):
    each_is_noticed(t, 'fault_by_oneself', AGAIN, 'runtime/signals_fault.c', ['150'])


def case_giving_faults(t):
    each_is_noticed(t, 'handed_over', GIVING, 'interpose/pthread.c', chaos=False)


# Pages become fine at the first contest, and stay so.
FINE = [('#define CONTESTS 16', '#define CONTESTS 1'), ('#define LONG_USE 512', '#define LONG_USE (1ull << 40)')]


def case_two_addresses(t):
    """Of one granule, held at once: not for ever."""
    top, program = plant(t, 'runtime/order/region_claims.c', FINE), t.path('program')
    t.run_well([f'{top}/bin/heddle-cc', '--select=all', '-O2', '-pthread', f'{ROOT}/tests/compiler/parts/two_addresses.c', '-o', program])
    for _ in range(3):
        t.check(is_same(t, top, [program], 0), 'the replay is another run')
