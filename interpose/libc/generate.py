#!/usr/bin/env python3
"""Make the stubs of ordered libc functions out of functions.list.

    generate.py ARCH stubs.S functions.h     ARCH: aarch64 or x86_64

A stub works for any signature: it keeps all registers that can carry arguments, leaves the stack as it is, and calls
the real function with its own return address; where to return to is kept in a frame outside the stack (sections.c).
The same list is read by tests/unit/libc_list.py (which functions exist) and by compiler/libc_table.py (memory words).
"""
import os
import re
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'functions.list')
CLASSES = {'ordered', 'unordered', 'refused', 'malloc', 'thread', 'syscall', 'pure'}
FLAGS = {'input': 1, 'closes': 2, 'caller': 4, 'symbol': 8, 'status': 16}
LISTED = 32     # closes a FILE, which has to come off the list of all
ONLY_HERE = {'always', 'special', 'lock', 'trylock', 'unlock'}
STREAMS = {'stdin': 2, 'stdout': 3, 'stderr': 4}
# Sections of several objects are entered in this order, FILEs after dl and before all others: see the list.
GROUPS = ['dl', 'files', 'syslog', 'nss', 'utmp', 'fmtmsg', 'getopt', 'locale', 'env', 'atexit', 'rand', 'drand48',
          'printf', 'static', 'strtok', 'strfry', 'hsearch', 'fork', 'finalize', 'system']
MEMORY = re.compile(r'(?:[rw]\*?\d(?:\+?@(?:\d|ret))?(?:\?|[sW](?::\d)?|[uU]\d(?::\d)?|=\d+|:(?:\d(?:[*x]\d+)?|ret(?:\+1)?(?::\d)?)|:\d|\*\d)?'
                    r'|[fvsS]W?\d|[ck]\d)')


class Function:
    def __init__(self, name, kind, words, remark):
        self.name, self.kind, self.words, self.remark = name, kind, words, remark
        self.objects = [w for w in words if w.startswith(('FILE:', 'object:', 'group:'))]
        self.flags = [w for w in words if w in FLAGS or w in ONLY_HERE]
        self.memory = [w for w in words if w not in self.objects and w not in self.flags]

    def special(self):
        return bool({'special', 'lock', 'trylock', 'unlock'} & set(self.flags))

    def problem(self):
        """What is wrong with this line, or None."""
        if self.kind not in CLASSES:
            return f'unknown class {self.kind}'
        if self.kind != 'ordered' and (self.objects or self.flags):
            return 'only ordered functions have objects'
        if self.kind in ('unordered', 'refused') and not self.remark:
            return 'needs a reason (# ...)'
        if self.kind == 'ordered' and not self.objects and 'special' not in self.flags:
            return 'ordered by what?'
        if len(self.objects) > 2:
            return 'more than two objects'
        bad = [w for w in self.memory if not MEMORY.fullmatch(w)]
        if bad:
            return f'unknown words {" ".join(bad)}'
        try:
            rank = [object_rank(o) for o in self.objects]
        except (ValueError, KeyError):
            return f'unknown object in {" ".join(self.objects)}'
        if rank != sorted(rank):
            return 'objects in the wrong order'
        return None


def object_rank(word):
    what, _, name = word.partition(':')
    if what == 'group':
        return 100 + GROUPS.index(name) if name != 'dl' else 0
    if name not in STREAMS:
        int(name)
    return 1


def read(path=LIST):
    functions = []
    with open(path) as file:
        for line in file:
            text, _, remark = line.partition('#')
            words = text.split()
            if words:
                functions.append(Function(words[0], words[1] if len(words) > 1 else '', words[2:], remark.strip()))
    return functions


def encode(word):
    """(how to find the object, value): see struct libc_ordered in libc.h"""
    what, _, name = word.partition(':')
    if what == 'group':
        return 5, GROUPS.index(name) + 1
    return (STREAMS[name], 0) if name in STREAMS else (1, int(name))


STUB = {
    'aarch64': '''\
	.hidden libc_stub_{name}
	.globl libc_stub_{name}
	.type libc_stub_{name}, %function
	.p2align 4
libc_stub_{name}:
	.cfi_startproc
	bti c
{test}	mov w17, #{index}
	b libc_stub{variant}
	.cfi_endproc
	.size libc_stub_{name}, . - libc_stub_{name}
''',
    'x86_64': '''\
	.hidden libc_stub_{name}
	.globl libc_stub_{name}
	.type libc_stub_{name}, @function
	.p2align 4
libc_stub_{name}:
	.cfi_startproc
	endbr64
{test}	movl ${index}, %r11d
	jmp libc_stub{variant}
	.cfi_endproc
	.size libc_stub_{name}, . - libc_stub_{name}
'''}
TEST = {
    'aarch64': '''\
	adrp x16, libc_threads
	ldr x16, [x16, :lo12:libc_threads]
	adrp x17, libc_real + 8 * {index}
	ldr w16, [x16]
	ldr x17, [x17, :lo12:libc_real + 8 * {index}]
	cbnz w16, 1f
	mov x16, x17
	br x16
1:
''',
    'x86_64': '''\
	movq libc_threads(%rip), %r11
	cmpl $0, (%r11)
	jne 1f
	jmp *libc_real + 8 * {index}(%rip)
1:
'''}
# An exported function of special.c, or what comes instead if another library has one of that name.
JUMP = {
    'aarch64': '''\
	.globl {name}
	.type {name}, %function
{name}:	bti c
	adrp x16, libc_entry + 8 * {index}
	ldr x16, [x16, :lo12:libc_entry + 8 * {index}]
	br x16
''',
    'x86_64': '''\
	.globl {name}
	.type {name}, @function
{name}:	endbr64
	jmp *libc_entry + 8 * {index}(%rip)
'''}
EARLY = {'aarch64': 'early_{index}:	bti c\n	mov w17, #{index}\n	b libc_early\n', 'x86_64': 'early_{index}:	endbr64\n	movl ${index}, %r11d\n	jmp libc_early\n'}


def gnu_hash(name):
    value = 5381
    for c in name.encode():
        value = (value * 33 + c) & 0xffffffff
    return value


def make_stubs(arch, wrapped):
    out = ['/* Made by interpose/libc/generate.py from functions.list. */', '	.text']
    for index, f in enumerate(wrapped):
        if f.objects:
            test = '' if 'always' in f.flags else TEST[arch].format(index=index)
            out.append(STUB[arch].format(name=f.name, index=index, test=test, variant='_caller' if 'caller' in f.flags else ''))
        kind = '%function' if arch == 'aarch64' else '@function'
        if f.special():
            out.append(JUMP[arch].format(name=f.name, index=index))
        else:
            out.append(f'	.globl {f.name}\n	.type {f.name}, {kind}\n	.set {f.name}, libc_stub_{f.name}\n')
    # Where the first call of each goes: it finds the real function.
    for index, _ in enumerate(wrapped):
        out.append(EARLY[arch].format(index=index))
    out += ['	.section .data, "aw"', '	.p2align 3', '	.hidden libc_real', '	.globl libc_real', 'libc_real:']
    out += [f'	.quad early_{i}' for i, _ in enumerate(wrapped)]
    out += ['	.hidden libc_entry', '	.globl libc_entry', 'libc_entry:']
    out += [f'	.quad early_{i}' for i, _ in enumerate(wrapped)]
    out += ['	.section .data.rel.ro, "aw"', '	.p2align 3', '	.hidden libc_stubs', '	.globl libc_stubs', 'libc_stubs:']
    out += [f'	.quad {"libc_special_" if f.special() else "libc_stub_"}{f.name}' for f in wrapped]
    out += ['	.section .rodata', '	.p2align 3', '	.hidden libc_ordered', '	.globl libc_ordered', 'libc_ordered:']
    for f in wrapped:
        codes = [encode(o) for o in f.objects] + [(0, 0)] * 2
        flags = sum(FLAGS[w] for w in f.flags if w in FLAGS)
        if 'closes' in f.flags and f.objects[0].startswith('FILE:'):
            flags |= LISTED
        out.append('	.byte ' + ', '.join(str(n) for n in (*codes[0], *codes[1], flags, 0, 0, 0)) + f'	/* {f.name} */')
    out += ['	.p2align 2', '	.hidden libc_wanted', '	.globl libc_wanted', 'libc_wanted:']
    out += [f'	.long {gnu_hash(f.name)}, name_{i} - libc_names' for i, f in enumerate(wrapped)]
    out += ['	.hidden libc_names', '	.globl libc_names', 'libc_names:']
    out += [f'name_{i}:	.asciz "{f.name}"' for i, f in enumerate(wrapped)]
    out += ['	.section .note.GNU-stack, "", %progbits']
    return '\n'.join(out) + '\n'


def make_header(wrapped):
    out = ['/* Made by interpose/libc/generate.py from functions.list. */', 'enum libc_index {']
    out += [f'	LIBC_{f.name},' for f in wrapped]
    out += ['	LIBC_COUNT,', f'	LIBC_SPECIALS = {sum(f.special() for f in wrapped)} /* they come first */', '};', 'enum libc_group {', '	GROUP_NONE,']
    out += [f'	GROUP_{g},' for g in GROUPS] + ['};']
    return '\n'.join(out) + '\n'


def main():
    arch, stubs, header = sys.argv[1:]
    functions = read()
    for f in functions:
        if f.problem():
            sys.exit(f'{LIST}: {f.name}: {f.problem()}')
    wrapped = sorted((f for f in functions if f.kind == 'ordered'), key=lambda f: not f.special())
    for path, text in ((stubs, make_stubs(arch, wrapped)), (header, make_header(wrapped))):
        with open(path, 'w') as file:
            file.write(text)


if __name__ == '__main__':
    main()
