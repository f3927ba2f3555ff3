"""A program that is started by ld.so, which somebody has started by hand: its locks are ordered all the same."""
import os
import subprocess

from harness import ROOT


def case_by_ld_so(t):
    program = t.compile(os.path.join(ROOT, 'tests', 'threads', 'mutex_normal.c'))
    text = subprocess.run(['readelf', '-l', program], stdout=subprocess.PIPE, text=True, check=True).stdout
    interpreter = text.split('interpreter: ')[1].split(']')[0]
    t.reproduce([interpreter, program], varies=True)
