#!/usr/bin/env python3
"""Print every include that points the wrong way. Who may include whom:

commands -> trace, the table of system calls, order.h; loader -> runtime, trace; trace -> nobody. runtime -> trace, and
of the loader only what the machine offers, the patching of a site, since SIGSYS arrives in the runtime, and what exec
accepts. The runtime
never sees command-line code.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAY = {
    'trace': ('trace/',),
    'runtime': ('runtime/', 'compiler/hooks.h', 'trace/format.h', 'trace/debug.h', 'trace/watched.h', 'trace/turns.h', 'trace/numbers.h', 'loader/arch/', 'loader/patch.h', 'loader/elf.h'),
    'loader': ('loader/', 'runtime/', 'trace/format.h', 'trace/checkpoint.h'),
    'commands': ('commands/', 'compiler/hooks.h', 'trace/', 'runtime/order/order.h', 'runtime/order/model.h', 'runtime/order/light.h', 'runtime/syscalls/describe.h', 'runtime/memory/map.h'),
    'interpose': ('interpose/', 'compiler/hooks.h', 'runtime/', 'trace/format.h'),
    'compiler': ('compiler/',),
}


def named(path, include):
    """The include as seen from the root: a file beside the including one comes first, as the compiler has it."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), include))
    return beside if os.path.exists(os.path.join(ROOT, beside)) else include


def main():
    wrong = 0
    for folder, allowed in MAY.items():
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if not name.endswith(('.c', '.h', '.S', '.cpp')):
                    continue
                path = os.path.relpath(os.path.join(where, name), ROOT)
                with open(os.path.join(ROOT, path), errors='replace') as file:
                    for number, line in enumerate(file, 1):
                        found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
                        if found and not named(path, found.group(1)).startswith(allowed):
                            print(f'{path}:{number}: {folder}/ may not include "{found.group(1)}" (may: {" ".join(allowed)})')
                            wrong += 1
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
