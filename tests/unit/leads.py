"""x86-64: instructions that access memory are led away by branches, which replace their neighbours, too. Against objdump, which
knows all instructions and where each branch goes: over the two libraries behind OpenMP, and libstdc++."""
import os
import platform
import re

from harness import ROOT

LIBRARIES = ('libgomp.so.1', 'libomp.so.5', 'libstdc++.so.6')


def path_of(t, name):
    listed = re.findall(rf'^\s*{re.escape(name)} .*=> (\S+)$', t.run_well(['/sbin/ldconfig', '-p']).out.decode(), re.M)
    known = f'/usr/lib/llvm-19/lib/{name}'
    return listed[0] if listed else known if os.path.exists(known) else None


def disassemble(t, library):
    """Of each instruction: its address and its text."""
    out = t.run_well(['objdump', '-d', '--no-show-raw-insn', library], timeout=120).out.decode()
    instructions = {int(a, 16): text for a, text in re.findall(r'^ *([0-9a-f]+):\t(.*?)\s*$', out, re.M)}
    # which it shows as one: a wait for the old floating-point unit, and what comes then
    return {**{a + 1: text for a, text in instructions.items() if text.startswith('fst')}, **instructions}


def case_leads(t):
    if platform.machine() != 'x86_64':
        t.skip('a branch of aarch64 takes the place of one instruction')
    program = t.path('leads')
    t.run_well(['gcc', '-std=gnu17', '-O1', '-g', '-DHEDDLE_TOOL', '-I.', '-o', program, 'tests/unit/leads.c'], cwd=ROOT, timeout=120)
    seen = 0
    for library in filter(None, (path_of(t, name) for name in LIBRARIES)):
        instructions = disassemble(t, library)
        targets = {int(to, 16) for text in instructions.values() for to in re.findall(r'^(?:bnd |notrack )?(?:j\w+|call) +([0-9a-f]+)\b', text)}
        leads = [(int(a, 16), int(b, 16), int(n)) for a, b, n in re.findall(r'^(\w+) (\w+) (\d+)$', t.run_well([program, library], timeout=120).out.decode(), re.M)]
        # between functions, objdump may take padding for the beginning of an instruction
        wrong = [f'{first:#x} to {after:#x}' for first, after, _ in leads if first not in instructions or after not in instructions]
        t.check(len(wrong) < 5, f'{library}: not where instructions begin and end: {wrong[:9]}')
        end = 0
        for first, after, size in leads:
            inside = [a for a in range(first + 1, after) if a in targets]
            t.check(not inside, f'{library}: somebody jumps to {inside[0] if inside else 0:#x}, between {first:#x} and {after:#x}')
            t.check(first >= end, f'{library}: {first:#x} is replaced twice')
            t.check(size == 1 or (size == 5 and after - first >= 5), f'{library}: {size} bytes at {first:#x}')
            between = [instructions[a] for a in range(first, after) if a in instructions]
            t.check(not any(text.startswith('call') for text in between[:-1]), f'{library}: a call returns between {first:#x} and {after:#x}')
            end = after
        # atomics are certainly among what is led away
        led = {a for first, after, _ in leads for a in range(first, after)}
        missed = [f'{a:#x} {text}' for a, text in instructions.items() if re.match(r'lock \w+ .*\(%', text) and a not in led]
        t.check(not missed, f'{library}: not led away: {missed[:3]}')
        traps = sum(size == 1 for _, _, size in leads)
        t.check(len(leads) > 1000 and traps < len(leads) / 20, f'{library}: {traps} of {len(leads)} trap')
        seen += 1
    t.check(seen > 1, 'neither libgomp nor libomp is here')
