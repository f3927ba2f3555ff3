"""Heddle inside gdb: `heddle replay --gdb` loads this package.

A replay cannot run backwards, but it can run again, and comes to the same places. So going back is: note where we are,
start another run, and let it come to the place before. The loader forks such runs (trace/debug.h), from the beginning
or from a copy that a run has left on its way; gdb attaches to each of them before its first instruction.

A *place* is where one thread is: how many events of its stream it has taken, how many hooked accesses it has made, its
pc and registers. Threads run in parallel, so a run that is stopped when one thread has come to its place has the others
somewhere; whatever the recording puts before that place has been done, and nothing that it puts after.
"""
import time

import gdb
from gdb.unwinder import register_unwinder

from .commands import define_commands
from .replay import FAULTS, IsFault, OutOfRuntime, area, quiet, quoted, state
from .travel import RuntimeStop, Travel, print_end, show, to_beginning

SPACING = 300 * 10**6   # ns of work between two copies, at first


def on_exit(event):
    if not state.travelling:
        print_end()


def on_leaving(event):
    """gdb 13 crashes at its end if somebody still listens. And a run that it lets go would print the rest."""
    gdb.events.exited.disconnect(on_exit)
    area.map[area.quiet_at] = 1


def begin(control, at, members, symbols, **recording):
    """Called by the script that heddle has written."""
    state.trace, state.image, state.checkpoint = recording['trace'], recording['image'], recording['checkpoint']
    area.open(control, at, members)
    deadline = time.monotonic() + 60
    while not area.stop_at:                     # the loader has not come so far
        if time.monotonic() > deadline:
            raise gdb.GdbError('The replay does not start; leave gdb and look at `heddle replay`.')
        time.sleep(0.002)
    register_unwinder(None, OutOfRuntime(), replace=True)
    define_commands()
    with Travel():
        quiet(f'add-symbol-file {quoted(symbols)}')
        quiet('skip -gfi *interpose/*')         # of libheddle.so, which programs know as pthread, malloc and libc
        quiet(f'handle {" ".join(FAULTS)} nostop noprint pass')
        state.runtime_stop = RuntimeStop()
        gdb.events.exited.connect(on_exit)
        gdb.events.gdb_exiting.connect(on_leaving)
        area.spacing = SPACING
        to_beginning()
        IsFault()
        for sig in FAULTS:
            quiet(f'catch signal {sig}')
            quiet(f'condition $bpnum ${IsFault.NAME}()')
            state.faults.add(int(gdb.parse_and_eval('$bpnum')))
    quiet('set print inferior-events off')  # or it would tell of each copy that is made
    show()
