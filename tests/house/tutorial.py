"""doc/tutorial.md, typed in from top to bottom: each command must work, and what is printed there must be what it
prints.

An indented line that begins with "$ " is a command; the lines below it are what it prints, in order. Numbers may be
others (but not those of source lines), `...` stands for any lines, and of a block after <!-- varies --> or <!-- not run
--> only that much is tried.
"""
import os
import re

from harness import ROOT

YOURS = '/home/you/.local/share/heddle'


def blocks(text):
    """(how, [(command, [lines that it prints])]) of each block of commands."""
    how, session = '', []
    for line in text.splitlines() + ['end']:
        if line.startswith('    $ '):
            session.append((line[6:].split('   #')[0].strip(), []))
        elif session and (line.startswith('    ') or not line.strip()):
            session[-1][1].append(line.strip())
        else:
            if session:
                yield how, session
                how, session = '', []
            mark = re.match(r'<!-- (.*) -->', line)
            how = mark.group(1) if mark else how if not line.strip() else ''


def masked(line):
    """Without numbers, but with those of source lines, and with as many blanks as one."""
    line = re.sub(r'it is \w+ \w+ .*', 'it is #', line)
    kept = re.split(r'(\w+\.c:\d+(?::\d+)?)', line)
    kept[::2] = [re.sub(r'(0x[0-9a-f]+|\d+)', '#', part) for part in kept[::2]]
    return ' '.join(''.join(kept).split())


def missing(expected, printed):
    """The first expected line that is not there, after those before it; None: all are."""
    at = 0
    for line in expected:
        if not line or line == '...':
            continue
        while at < len(printed) and printed[at] != masked(line):
            at += 1
        if at == len(printed):
            return line
        at += 1
    return None


def case_tutorial(t):
    with open(os.path.join(ROOT, 'doc', 'tutorial.md')) as file:
        text = file.read()
    for name in ('examples', 'tests', 'doc'):
        os.symlink(os.path.join(ROOT, name), t.path(name))
    bin_folder = os.path.join(os.path.abspath(t.settings.build), 'bin')
    t.env.update(PATH=f'{bin_folder}:{os.environ["PATH"]}', HEDDLE_TRACE_DIR=t.folder('traces'), NO_COLOR='1')
    ran = 0
    for how, session in blocks(text):
        for command, expected in session if how != 'not run' else ():
            # as on a terminal, where more is said
            outcome = t.run(['script', '-qec', f'cd {t.path(".")} && {{ {command}\n}}', '/dev/null'], timeout=300)
            said = outcome.out.decode(errors='replace').replace(t.path('traces'), YOURS).replace(t.path('examples'), '/home/you/heddle/examples')
            said = re.sub(r'[^\n]*\x1b\[K', '', said)        # lines that were written over
            t.check(outcome.status < 121 and 'Traceback' not in said, f'$ {command}\n{outcome}\n{said}')
            lost = None if how == 'varies' else missing(expected, [masked(line) for line in said.splitlines()])
            t.check(lost is None, f'$ {command}\ndoes not print: {lost}\nbut\n{said}')
            ran += 1
    t.check(ran >= 15, f'only {ran} commands were found')
