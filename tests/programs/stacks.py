"""Programs that run code on their stacks, as those of gcc's nested functions do."""
import os

from harness import ROOT

PARTS = os.path.join(ROOT, 'tests', 'programs', 'parts')


def case_executable_stack(t):
    """The program asks for it: its first stack, and those of its threads."""
    program = t.compile(os.path.join(PARTS, 'runs_on_stack.c'), ['-Wl,-z,execstack'], 'programs/executable_stack')
    t.reproduce([program], same=True)


def case_executable_stack_later(t):
    """A library asks for it that is loaded later: also the stack of a thread that is there already. One that is too large
    for Heddle's own is made afterwards."""
    program = t.compile(os.path.join(PARTS, 'runs_on_stack.c'), ['-Wl,-z,noexecstack'], 'programs/executable_stack_later')
    library = t.compile(os.path.join(PARTS, 'empty.c'), ['-shared', '-fPIC', '-Wl,-z,execstack'], 'programs/executable_stack.so')
    if t.run([program, library]).status:
        t.skip('ld.so refuses such libraries here')
    t.reproduce([program, library], same=True)
