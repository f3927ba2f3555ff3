"""Programs that heddle-cc has not built, recorded with --every-access: their data races replay exactly.

The racy programs of tests/bugs, built by gcc alone, and Debian's servers, whose races threads/servers.py can only
measure. Not seen are accesses that libc's functions and the kernel make for a program, and when memory is taken away
beside an access: what needs these is left out, with the reason.
"""
import glob
import os

from harness import ROOT, USAGE
from servers import SERVERS, record

PARTS = os.path.join(ROOT, 'tests', 'threads', 'parts')
LIBC, KERNEL, MEMORY = 'libc\'s functions race', 'system calls race', 'memory is taken away beside accesses'
LEFT_OUT = {
    'compared_bytes': LIBC, 'copied_lines': LIBC, 'copied_strings': LIBC, 'scanned_text': LIBC, 'struct_copy': LIBC, 'sorting': LIBC, 'strings': LIBC, 'claimed_strings': LIBC,
    'fault_in_libc': LIBC, 'growing_array': LIBC, 'split_strings': LIBC, 'thread_ids': LIBC, 'first_call': KERNEL, 'kernel_buffers': KERNEL, 'message_buffers': KERNEL, 'waiting_calls': KERNEL,
    'fault_by_oneself': MEMORY, 'fault_retried': MEMORY, 'own_words': MEMORY, 'protections': MEMORY, 'unmapped': MEMORY,
}
FEW = ('lost_update', 'flag_spin', 'mixed_sizes', 'bit_fields', 'double_checked', 'aba', 'string_buffer', 'memcached_incr', 'rcu_misuse',
       'contest_linked_list', 'many_readers', 'atomic16')


def racy(t, name):
    program = t.compile(os.path.join(ROOT, 'tests', 'bugs', name), ['-latomic'], f'every_access/{os.path.splitext(name)[0]}')
    trace = t.path(name)
    recorded = t.record([program], trace=trace, options=['--every-access'], timeout=120)
    t.check(recorded.status in (0, 1) or recorded.status < 0, f'{name}: {recorded}')
    t.replays(recorded, trace=trace)


def programs():
    """Those that need no other compiler."""
    found = sorted(os.path.basename(p) for p in glob.glob(os.path.join(ROOT, 'tests', 'bugs', '*.c')))
    return [name for name in found if name[:-2] not in LEFT_OUT]


def case_racy_programs(t):
    for name in programs():
        if name[:-2] in FEW:
            racy(t, name)


def case_all_racy_programs(t):
    for name in programs()[t.batch::case_all_racy_programs.batches]:
        racy(t, name)


case_all_racy_programs.only_soak, case_all_racy_programs.batches = True, 6


def case_tables_of_branches(t):
    """A switch, as both compilers make it, in programs at fixed addresses or not."""
    source = os.path.join(PARTS, 'switches.c')
    for compiler in ('gcc', 'clang'):
        for number, flags in enumerate((['-O0'], ['-O0', '-no-pie'], ['-O2'], ['-O2', '-no-pie'], ['-Os'], ['-O3', '-march=native'])):
            program = t.compile(source, flags, f'every_access/switches-{compiler}-{number}', compiler)
            trace = t.path(f'{compiler}-{number}')
            recorded = t.record([program], trace=trace, options=['--every-access'], timeout=60)
            t.check(recorded.status == 0, f'{compiler} {flags}: {recorded}')
            t.replays(recorded, trace=trace, times=2)


def led(t, flags, *words, status=0):
    """Twice: the second time the sites of its system calls are known."""
    program = t.compile(os.path.join(PARTS, 'led.c'), flags, 'every_access/led' + ''.join(flags))
    for n in range(2):
        trace = t.path(f'{"".join(flags)}-{n}')
        recorded = t.record([program, *words], trace=trace, options=['--every-access', '--checksum'], timeout=60)
        t.check(recorded.status == status, f'{flags} {words}: {recorded}')
        t.replays(recorded, trace=trace)


def case_led_to_a_crash(t):
    led(t, ['-O2'], 'crash', status=3)


def case_led_in_a_loop(t):
    led(t, ['-O1'], 'spin')


def case_led_by_labels(t):
    for flags in (['-O0'], ['-Os'], ['-O2'], ['-O2', '-no-pie']):
        led(t, flags, 'goto')


def case_led_behind_calls(t):
    led(t, ['-O1'], 'calls')


def case_led_in_libraries(t):
    """Without a name, and so new that each part of its file is saved by itself; in the program and in its child."""
    library = t.path('library.so')
    t.run_well(['gcc', '-O2', '-shared', '-fPIC', '-o', library, os.path.join(PARTS, 'led_library.c')])
    led(t, ['-O2'], 'library', library)


def case_says_what_it_covers(t):
    """The level of the recording; and that the option is refused where it would do nothing."""
    source = os.path.join(ROOT, 'tests', 'bugs', 'lost_update.c')
    t.check(t.record([t.compile(source, ['-latomic'], 'every_access/lost_update')], options=['--every-access'], timeout=60).status in (0, 1), 'no recording')
    out = t.run_well([t.heddle, 'stat', t.path('trace')]).out
    t.check(b'every access except inside libc' in out, out.decode())
    outcome = t.record([t.compile(source, ['-latomic', '-static'], 'every_access/static')], trace=t.path('static'), options=['--every-access'], timeout=60)
    t.check(outcome.status == USAGE and b'static' in outcome.err, f'{outcome}')
    outcome = t.record(['/bin/true'], trace=t.path('both'), options=['--every-access', '--no-atomics'], timeout=60)
    t.check(outcome.status == USAGE and b'--no-atomics' in outcome.err, f'{outcome}')


def served(t, name):
    t.replays(record(t, SERVERS[name], options=['--every-access', '--checksum']), timeout=240)


def case_races_of_memcached(t):
    served(t, 'memcached -vv')


def case_races_of_apache2(t):
    served(t, 'apache2')


def case_races_of_redis_io_threads(t):
    served(t, 'redis, 4 io-threads')


def case_races_of_python3_switching(t):
    served(t, 'python3, switching')


case_races_of_redis_io_threads.only_soak = case_races_of_python3_switching.only_soak = True
