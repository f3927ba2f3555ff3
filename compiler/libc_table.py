#!/usr/bin/env python3
"""Write what libc's functions access through pointers as a C table: libc_table.py functions.list libc_table.h

The words r, w, f, v, s, S of interpose/libc/functions.list are passed on as they are; libc.c reads them. System calls are left
out, since the runtime sees their buffers, and so are threads and memory allocation.
"""
import re
import sys

WORD = re.compile(r'([rw](\d|\*)|[fvsS]W?\d|c\d)')


def main():
    rows = []
    with open(sys.argv[1]) as file:
        for line in file:
            words = line.split('#')[0].split()
            if len(words) < 3 or words[1] in ('syscall', 'thread', 'malloc', 'refused'):
                continue
            memory = [w for w in words[2:] if WORD.match(w)]
            if any(not w.startswith('c') for w in memory):
                rows.append((words[0], int(words[1] == 'pure'), ' '.join(memory)))
    with open(sys.argv[2], 'w') as file:
        for name, pure, memory in sorted(rows):
            file.write(f'{{ "{name}", {pure}, "{memory}" }},\n')


if __name__ == '__main__':
    main()
