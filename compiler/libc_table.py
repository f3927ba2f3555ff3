#!/usr/bin/env python3
"""Write what is known of functions of libc and libstdc++ as C tables: libc_table.py LIST... libc_table.h libc_names.h

The words r, w, f, v, s, S of interpose/libc/functions.list are passed on as they are; libc.c reads them. System calls
are left out, since the runtime sees their buffers, and so are threads and memory allocation. libc_names.h: those that
neither create threads, nor call the program back, nor keep what they are given.
"""
import fileinput
import re
import sys

WORD = re.compile(r'([rw](\d|\*)|[fvsS]W?\d|c\d)')


# What the list does not say: these keep or call a function of the program's, or return more than once.
CALL_BACK = {'atexit', 'on_exit', '__cxa_atexit', '__cxa_thread_atexit_impl', 'signal', 'sigaction', 'bsd_signal', 'sigset', 'ssignal',
             'sysv_signal', '__sysv_signal', 'sigvec', 'qsort', 'qsort_r', 'bsearch', 'lsearch', 'lfind', 'tsearch', 'tfind', 'twalk',
             'tdelete', 'tdestroy', 'twalk_r', 'ftw', 'ftw64', 'nftw', 'nftw64', 'fts_open', 'fts64_open', 'glob', 'glob64', 'scandir',
             'scandir64', 'scandirat', 'scandirat64', 'dl_iterate_phdr', 'dlopen', 'dlmopen', 'dlsym', 'dlvsym', 'makecontext', 'swapcontext',
             'setcontext', 'clone', 'exit', 'quick_exit', 'at_quick_exit', 'fopencookie', 'register_printf_function',
             'register_printf_specifier', 'register_printf_modifier', 'register_printf_type', 'argp_parse', 'obstack_free', '_obstack_begin',
             '_obstack_begin_1', '_obstack_newchunk', 'error', 'error_at_line', 'putenv', 'setbuf', 'setvbuf', 'timer_create', 'mq_notify',
             'getaddrinfo_a', 'aio_read', 'aio_write', 'lio_listio', 'syscall', 'longjmp', '_longjmp', 'siglongjmp', '__longjmp_chk',
             'svc_run', 'pthread_atfork', '__register_atfork', 'pthread_once', 'call_once'}

# Nor this: these allocate or free, which is an operation at which replay may wait. So must nobody who holds ranges.
ALLOCATE = {'strdup', '__strdup', 'strndup', '__strndup', 'wcsdup', 'asprintf', '__asprintf', '__asprintf_chk', 'vasprintf', '__vasprintf_chk',
            'obstack_printf', '__obstack_printf_chk', 'obstack_vprintf', '__obstack_vprintf_chk', 'regcomp', 'regexec', 'fnmatch',
            'strcoll', '__strcoll_l', 'strcoll_l', 'wcscoll', 'wcscoll_l', '__wcscoll_l'}


def main():
    rows, names = [], []
    *lists, table, plain = sys.argv[1:]
    with fileinput.input(lists) as lines:
        for line in lines:
            words = line.split('#')[0].split()
            if len(words) > 1 and words[1] not in ('thread', 'refused') and not any(re.match(r'[ck]\d', w) for w in words[2:]) \
                    and words[0] not in CALL_BACK:
                names.append(words[0])
            if len(words) < 3 or words[1] in ('syscall', 'thread', 'malloc', 'refused'):
                continue
            memory = [w for w in words[2:] if WORD.match(w)]
            if any(not w.startswith('c') for w in memory):
                rows.append((words[0], int(words[1] == 'pure' and words[0] not in ALLOCATE), ' '.join(memory)))
    with open(table, 'w') as file:
        for name, pure, memory in sorted(rows):
            file.write(f'{{ "{name}", {pure}, "{memory}" }},\n')
    with open(plain, 'w') as file:
        for name in sorted(names):
            file.write(f'"{name}",\n')


if __name__ == '__main__':
    main()
