"""Faults planted in the race detector, one at a time: a golden program must notice each.

The first half lets it see less order than there is, so that a program without races shows one; the second half more, so
that a race is not seen.
"""
import os

import golden
from harness import Failure

OBJECTS, CLOCKS, RECORDS, WRAP = (f'runtime/races/{name}.c' for name in ('objects', 'clocks', 'records', 'wrap'))
FAULTS = {
    # name: file, what is there, what is put there, the program that notices
    'no_mutex': (OBJECTS, '{ sync_mutex_lock, locks },', '', 'counter_locked.c'),
    'no_unlock': (OBJECTS, '{ sync_mutex_unlock, mutex_unlocks },', '', 'lock_in_callee.c'),
    'no_rwlock': (OBJECTS, '{ sync_rwlock_lock, rwlock_locks },', '', 'rwlock.c'),
    'no_readers': (OBJECTS, 'acquire(r, o, &o->read);', '', 'rwlock.c'),
    'no_spinlock': (OBJECTS, '{ sync_spin_lock, locks },', '', 'spin_lock.c'),
    'no_condition': (OBJECTS, '{ sync_cond_enter, cond_enters },', '', 'barrier_handmade.c'),
    'no_barrier': (OBJECTS, '{ sync_barrier_leave, leaves },', '', 'barrier_phases.c'),
    'no_semaphore': (OBJECTS, '{ sync_sem_take, gets },', '', 'detached_semaphore.c'),
    'no_once': (OBJECTS, '{ sync_once_end, gives },', '', 'once.c'),
    'no_guard': (OBJECTS, '{ sync_guard_release, gives },', '', 'cxx_static_local.cpp'),
    'no_join': (OBJECTS, '{ sync_thread_joined, joins },', '', 'join_before_read.c'),
    'no_creation': (CLOCKS, 'clocks_join(&r->clocks, &p->clocks);', '', 'ocean_init.c'),
    'no_dead_owner': (OBJECTS, 'if (result && o->holder)', 'if (0)', 'robust_mutex.c'),
    'no_acquire': (WRAP, 'parts |= ATOMIC_ACQUIRES;', ';', 'atomic_flag.c'),
    'no_release': (WRAP, 'parts |= ATOMIC_RELEASES;', ';', 'atomic_flag.c'),
    'chain_ends': (OBJECTS, 'release(r, o, &o->released, parts & ATOMIC_STORES);', 'release(r, o, &o->released, true);',
                   'release_chain.c'),
    'no_pipe': (OBJECTS, '__NR_read,', '__NR_getpid,', 'pipe_hands_over.c'),
    'no_signal': (OBJECTS, '__NR_tgkill,', '', 'signal_hands_over.c'),
    'stacks_kept': (OBJECTS, 'races_forget(stack, MAP_THREAD_STACK_ROOM);', '(void)stack;', 'detached_one_by_one.c'),
    'blocks_kept': (WRAP, 'if (function == (uint64_t)sync_heap_refill && !result)', 'if (0)', 'blocks_go_round.c'),
    'whole_words': (RECORDS, 'a->bytes & b->bytes &&', '', 'adjacent_bytes.c'),
    'long_strings': (WRAP, 'size = cut_string(', 'cut_string(', 'strings_side_by_side.c'),
    'atomics_race': (RECORDS, '&& !(a->flags & b->flags & RECORD_ATOMIC)', '', 'atomic_counter.c'),

    'readers_tell': (OBJECTS, 'wrote ? &o->released : &o->read, wrote)', '&o->released, false)', 'rwlock_readers_in_turn.c'),
    'failed_trylock': (OBJECTS, 'if (result && result != EOWNERDEAD)', 'if (0)', 'trylock_failed.c'),
    'relaxed_orders': (OBJECTS, 'o->released.n = 0;', 'release(r, o, &o->released, false);', 'release_chain_broken.c'),
    'relaxed_acquires': (WRAP, 'a->site->flags & HOOK_SITE_ACQUIRE', 'a->site->flags & HOOK_SITE_ATOMIC', 'atomic_relaxed_load.c'),
    'numbers_again': (CLOCKS, 'numbers >= RACERS_MAX', 'true', 'detached_unordered.c'),
    'clock_stands': (OBJECTS, '\torder_unlock(&o->lock);\n\tracer_next(r);\n}\n\n/* ---- locks', '\torder_unlock(&o->lock);\n}\n\n/* ---- locks',
                     'heap_kept.c'),
}


def loader_with(t, file, old, new):
    """A build in which only the loader differs, by that change."""
    tree, build = golden.changed_tree(t, file, old, new, ('bin', 'lib', 'obj/loader'))
    t.run_well(['make', '-C', tree, f'BUILD={build}', 'WARN=', f'{build}/lib/heddle/loader'], timeout=300)
    return build


def make(file, old, new, program):
    def case(t):
        source = os.path.join(golden.FOLDER, program)
        good = golden.build(t, source, 'all')
        t.heddle = os.path.join(loader_with(t, file, old, new), 'bin', 'heddle')
        try:
            golden.check_program(t, source, good, range(3))
        except Failure as noticed:
            t.notes.append(str(noticed).split('\n')[0][:160])
        else:
            raise Failure(f'{program} does not notice it')
    case.only_soak = True
    return case


for _name, _fault in FAULTS.items():
    globals()['case_fault_' + _name] = make(*_fault)
