"""The environment: what only ld.so is to see, and what a library makes of it before the program starts."""
import os

from harness import ROOT


def library(t):
    return t.compile(os.path.join(ROOT, 'tests', 'programs', 'parts', 'sets_variables.c'), ['-shared', '-fPIC'], 'programs/sets_variables.so')


def case_environment_of_a_library(t):
    """The program's own LD_PRELOAD is there, and nothing of ours, also in a copy of the list that setenv() has made."""
    preload = {'LD_PRELOAD': library(t), 'GOES': 'x'}
    t.reproduce(['env'], same=True, extra=preload)
    recorded = t.run_well([t.heddle, 'replay', t.path('trace')]).out
    t.check(f'LD_PRELOAD={preload["LD_PRELOAD"]}\n'.encode() in recorded and b'COMES=1\n' in recorded, f'{recorded!r}')


def case_environment_without_preload(t):
    """The library belongs to the program, which has no LD_PRELOAD."""
    with open(t.path('program.c'), 'w') as file:
        file.write('#include <stdio.h>\nextern char **environ;\nint main(int argc, char **argv, char **envp)\n{\n'
                   '\tfor (char **e = environ; *e; e++)\n\t\tputs(*e);\n\tfor (char **e = envp; *e; e++)\n\t\tputs(*e);\n\treturn argc - 1;\n}\n')
    t.run_well(['gcc', '-o', t.path('program'), t.path('program.c'), '-Wl,--no-as-needed', library(t)])
    t.reproduce([t.path('program')], same=True, extra={'GOES': 'x', 'STAYS': 'y'})
