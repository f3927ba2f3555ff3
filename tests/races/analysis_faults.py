"""Faults planted in the analysis of --select=races, one at a time: a golden program must lose a race, and that must be
noticed."""
import os
import shutil

import golden
from harness import Failure

C = 'compiler/races/'
FAULTS = {
    # name: file, what is there, what is put there, the program that notices; in make test?
    'pointer_edge': (C + 'constraints.c', 'solve_store(', '(void)(', 'publish_unlocked.c', True),
    'call_ignored': (C + 'locksets.c', 'all.minus |= of_function[c->callees[i]].minus;', '', 'unlock_in_callee.c', True),
    'barrier_count': (C + 'barriers.c', 'bool enough = terms_surely(', 'bool enough = true || terms_surely(', 'barrier_wrong_count.c', True),
    'lock_of_others': (C + 'warnings.c', 'return (a->held.writing & b->held.reading)', 'return a->held.writing ? a->held.writing : (a->held.writing & b->held.reading)', 'wrong_lock.c', False),
    'join_of_others': (C + 'joins.c', 'from->words[0].bits == to->words[0].bits ?', 'from->words[0].bits ?', 'join_one_of_two.c', False),
    'called_once': (C + 'threads.c', 'return program_function_is_once(create->block) ||', 'return true ||', 'created_by_calls.c', False),
    'same_way': (C + 'uniform.c', 'u->failed |= block_waits(u, s, from);', '', 'barrier_other_way.c', False),
    'same_round': (C + 'rounds.c', 'state == SAME ? NEXT : ANY', 'SAME', 'rounds_wrong_half.c', False),
    'same_call': (C + 'rounds.c', 'at || !begin ?', '!begin ?', 'rounds_called_again.c', False),
    'last_choice': (C + 'ranges.c', 'return true;\n\t}\n\treturn false;', 'return --*count > 0;\n\t}\n\treturn false;', 'butterfly_overlap.c', False),
    'one_bit_less': (C + 'ranges.c', 'UINT64_MAX >> __builtin_clzll(n)', 'UINT64_MAX >> __builtin_clzll(n) >> 1', 'bits_reversed_nine.c', False),
    'one_remainder': (C + 'numbers.c', 'apply("remainder", Z3_simplify(z, a)', 'apply("remainder", number(0)', 'owners_differ.c', False),
    'off_by_one': (C + 'prune_partitions.c', 'q->to - p->from - 1 }', '-1 }', 'blocked_off_by_one.c', False),
    'one_column': (C + 'distances.c', '*i = (struct interval){ (int64_t)ends[0], (int64_t)ends[1] };', '*i = (struct interval){ 0, 0 };', 'rows_one_column_more.c', False),
    'one_byte': (C + 'distances.c', 'return first > to;', 'return first == from || first >= to;', 'members_overlap.c', False),
    'another_question': (C + 'questions.c', '| Z3_get_ast_id(z, fact)', '| 0 * Z3_get_ast_id(z, fact)', 'rows_one_column_more.c', False),
    'number_without_lock': (C + 'tickets.c', 'return g->locks;', 'return true;', 'id_counter_two_locks.c', False),
    'number_again': (C + 'tickets.c', 'if (!load)\n\t\treturn false;', 'if (!load)\n\t\treturn true;', 'id_counter_reset.c', False),
    'released_early': (C + 'taken.c', 'return may_release(c) ? NULL : before;', 'return before;', 'lock_array_released_early.c', False),
    'wakes_early': (C + 'handmade.c', 'scene == NOT_LAST || scene == EARLY ||', 'scene == NOT_LAST ||', 'barrier_handmade_if.c', True),
    'not_set_back': (C + 'handmade.c', '(scene == LAST ? !zero :', '(scene == LAST ? false :', 'barrier_handmade_not_reset.c', False),
    'begins_anywhere': (C + 'handmade_cells.c', '(first && LLVMIsNull(first))', 'first', 'barrier_handmade_begins_at_one.c', False),
    'others_write': (C + 'handmade_cells.c', 'return p->function == handmade.number &&', 'return p->function != handmade.number ||', 'barrier_handmade_other_writes.c', False),
    'handmade_count': (C + 'barriers.c', 'bool enough = terms_surely(', 'bool enough = true || terms_surely(', 'barrier_handmade_main_too.c', False),
    'locks_held': (C + 'prune_initialisation.c', '!may_hold_any(p->inst)', 'true', 'possible_init_called_locked.c', False),
    'holder_waits': (C + 'prune_initialisation.c', 'return !may_hold_waits(lock);', 'return true;', 'possible_init_waits.c', False),
    'holder_goes_round': (C + 'may_hold.c', 'return found &&', 'return false && found &&', 'possible_init_spins.c', False),
    'released_by_other': (C + 'taken.c', 'other && last_taken(c->inst) != other', 'other && 0', 'lock_array_released_by_other.c', False),
}


def compiler_with(t, file, old, new):
    """A build in which only the pass differs, by that change."""
    tree, build = golden.changed_tree(t, file, old, new, ('bin', 'lib', 'obj/pass'))
    t.run_well(['make', '-C', tree, f'BUILD={build}', 'WARN=', f'{build}/lib/heddle/heddle-pass.so'], timeout=600)
    return build


def make(file, old, new, program, in_test):
    def case(t):
        source = os.path.join(golden.FOLDER, program)
        build = compiler_with(t, file, old, new)
        faulty = t.compile(source, ['--select=races', '-O1', '-lm'], name=t.path('faulty'), compiler=os.path.join(build, 'bin', 'heddle-cc'))
        shutil.rmtree(build)
        try:
            golden.check_analysis(t, source, faulty)
        except Failure as noticed:
            t.check(str(noticed).startswith(('lost: ', 'a lock was put')), str(noticed))
            t.notes.append(str(noticed).split('\n')[0][:160])
        else:
            raise Failure(f'{program} does not notice it')
    case.only_soak = not in_test
    return case


for _name, _fault in FAULTS.items():
    globals()['case_fault_' + _name] = make(*_fault)
