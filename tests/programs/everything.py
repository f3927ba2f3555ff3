"""Every program that this machine has in /usr/bin and /usr/sbin, asked for its version or its help.

They link what the tests elsewhere do not: each library once, with its constructors and its own ways of starting. A
program that has threads of its own with data races (a Java machine, a JavaScript engine) may leave its recording, if
that is told; all others must be exact, with the memory that they leave.
"""
import os
import shutil

from harness import DIVERGED, Failure, without_ours

FOLDERS = ('/usr/bin', '/usr/sbin')
QUESTIONS = ('--version', '--help')
# They end the machine, change it, or do nothing without somebody who types.
LEFT_ALONE = {'halt', 'init', 'poweroff', 'reboot', 'runlevel', 'shutdown', 'telinit', 'systemctl', 'yes'}
TOLD = b'the program has threads: a data race'
BATCHES = 15


def programs():
    found = {}
    for folder in FOLDERS:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if name not in LEFT_ALONE and os.path.isfile(path) and os.access(path, os.X_OK):
                found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def outcome_of(t, program, question):
    """None: exact. Otherwise what happened, and whether that is allowed."""
    shutil.rmtree(t.path('trace'), ignore_errors=True)
    try:
        native = t.run([program, question], timeout=10)
    except Failure:
        return f'{program} {question}: does not end by itself', True
    recorded = t.record([program, question], options=['--checksum'])
    again = t.run([program, question], timeout=20)
    if recorded.status not in (native.status, again.status):
        return f'{program} {question}: {native.status} without Heddle, recorded {recorded.status}: {recorded.err[-300:]!r}', False
    replayed = t.replay(offline=False)
    if replayed.status == DIVERGED and TOLD in replayed.err:
        return f'{program} {question}: left its recording, and said so', True
    if (replayed.status, replayed.out) != (recorded.status, recorded.out) or without_ours(replayed.err) != without_ours(recorded.err):
        return f'{program} {question}: recorded {recorded.status}, replayed {replayed.status}: {replayed.err[-600:]!r}', False
    return None


def case_every_program(t):
    wrong = []
    for program in programs()[t.batch::BATCHES]:
        for question in QUESTIONS:
            outcome = outcome_of(t, program, question)
            if outcome:
                t.notes.append(outcome[0])
                wrong += [] if outcome[1] else [outcome[0]]
    t.check(not wrong, '\n'.join(wrong))


case_every_program.only_soak = True
case_every_program.batches = BATCHES
