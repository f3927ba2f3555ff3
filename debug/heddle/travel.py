"""Going to a place of a replay, by running it again: from the beginning, or from a copy that an earlier run has
left."""
import os
import re
import struct
import time

import gdb

from .copies import beginnings, copies, passed
from .replay import (alive, area, current, machine, ours, program_frame, quiet, read, readable, state, thread_of, threads)

REACHED, END = 1, 2     # enum debug_why
STACK_BYTES = 512       # to compare


class Place:
    """Where the selected thread is."""

    def __init__(self):
        thread = current()
        frame = gdb.newest_frame()
        self.slot, self.event, self.events = thread.slot, thread.event, thread.events
        self.pc = frame.pc()
        self.registers = registers(frame)
        self.stack = stack(self.registers)
        self.in_hook = ours(self.pc) and thread.in_hook()
        copies()
        self.passed = passed()

    def text(self):
        return f'thread {self.slot}, event {self.event}' + (f', access {self.events // 2}' if self.events else '')

    def same_code(self, other):
        return (self.slot, self.event, self.events, self.pc) == (other.slot, other.event, other.events, other.pc)

    def same(self, other):
        return self.same_code(other) and self.registers == other.registers

    def looks_like(self, values, care):
        """Given the same counters and pc, do registers and stack say that it is this place? What must be the same
        depends on `care`: 2: registers and stack; 1: the stack, and those registers that calls preserve; 0: only these.
        Hooks that went another way the first time leave other values in registers, and in parts of the stack that are
        not in use."""
        names = self.registers if care == 2 else machine()[1]
        return all(values[name] == self.registers[name] for name in names) and (not care or stack(values) == self.stack)

    def has_passed(self, other):
        """Of the same thread, as it stands now: is this the other place, or behind it?"""
        mine, theirs = (self.event, self.events), (other.event, other.events)
        return mine > theirs or (self.same_code(other) and other.looks_like(self.registers, 1 if other.events else 2))


def registers(frame):
    return {name: int(frame.read_register(name)) & 0xffffffffffffffff for name in machine()[0] if name}


def stack(values):
    """What the thread has on top of its stack: rounds of a loop often differ there alone."""
    try:
        return gdb.selected_inferior().read_memory(values['sp' if 'sp' in values else 'rsp'], STACK_BYTES).tobytes()
    except gdb.MemoryError:
        return b''


class Arrival(gdb.Breakpoint):
    """Stops where a thread comes to a place, with so much care (Place.looks_like)."""

    def __init__(self, place, care):
        super().__init__(f'*{place.pc:#x}', internal=True)
        self.silent = True
        self.place, self.care, self.hit = place, care, False

    def stop(self):
        thread = thread_of(gdb.selected_thread())
        if not thread or thread.slot != self.place.slot or thread.event != self.place.event or thread.events != self.place.events:
            return False
        self.hit = self.place.looks_like(registers(gdb.newest_frame()), self.care)
        return self.hit


class RuntimeStop(gdb.Breakpoint):
    """debug_stop(): a thread has come to the event that we asked for, or the recording is over."""

    def __init__(self):
        super().__init__(f'*{area.stop_at:#x}', internal=True)
        self.silent = True
        self.why = 0

    def stop(self):
        self.why = area.why
        if self.why == END and not state.travelling:
            gdb.write('heddle: the recording ends here; every thread stands where it stood then\n')
        return True


def hide_output():
    """What gdb says at a stop goes past to_string=True and past its own logging."""
    gdb.flush()
    kept = [os.dup(1), os.dup(2)]
    null = os.open('/dev/null', os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)
    return kept


def show_output(kept):
    gdb.flush()
    for fd, old in zip((1, 2), kept):
        os.dup2(old, fd)
        os.close(old)


WATCHPOINTS = (gdb.BP_WATCHPOINT, gdb.BP_HARDWARE_WATCHPOINT, gdb.BP_READ_WATCHPOINT, gdb.BP_ACCESS_WATCHPOINT)
ALWAYS = 2**31 - 1      # stops


class Travel:
    """The user's breakpoints are off (or stay on, but none is spent: temporary ones stay, and nothing is ignored) and
    nothing is printed, until we are there. The user is told where that is."""

    def __init__(self, breakpoints=False):
        self.keep = breakpoints

    def __enter__(self):
        state.travelling = True
        user = [b for b in gdb.breakpoints() if b.enabled and b.number > 0 and b.number not in state.faults]
        self.enabled = [] if self.keep else user
        self.temporary = [b for b in user if b.temporary] if self.keep else []
        self.ignored = [(b, b.ignore_count) for b in user if self.keep and b.ignore_count]
        self.watched = [(b, b.expression) for b in gdb.breakpoints() if b.number > 0 and b.type in WATCHPOINTS]
        self.settings = {name: gdb.parameter(name) for name in ('confirm', 'pagination', 'print thread-events', 'print inferior-events')}
        for name in self.settings:
            quiet(f'set {name} off')
        for b in self.enabled:
            b.enabled = False
        for b in self.temporary:
            quiet(f'enable count {ALWAYS} {b.number}')
        for b, _ in self.ignored:
            b.ignore_count = 0
        self.was_quiet = area.map[area.quiet_at]
        area.map[area.quiet_at] = 1             # what the program prints has been seen
        self.streams = hide_output()
        return self

    def __exit__(self, *_):
        state.travelling = False
        for b in filter(gdb.Breakpoint.is_valid, self.enabled):
            b.enabled = True
        for b in self.temporary:
            quiet(f'enable delete {b.number}')
        for b, count in self.ignored:
            b.ignore_count = count
        show_output(self.streams)
        area.map[area.quiet_at] = self.was_quiet
        for name, value in self.settings.items():
            quiet(f'set {name} {"on" if value else "off"}')
        for expression in self.lost():
            gdb.write(f'`watch {expression}` is gone, since gdb keeps it for one run alone; '
                      f'`watch -l {expression}` stays.\n')

    def lost(self):
        """What was watched, in variables of a function, until the run was ended."""
        return [expression for b, expression in self.watched if not b.is_valid()]


def start_run(copy=None):
    """Another run, stopped before the program's first instruction, or where the copy was made."""
    copies()                                    # those of the run before are noted as its own
    if alive():
        quiet('kill')
    area.stop_slot = area.stop_event = area.stop_access = 0
    area.origin = copy.number if copy else 0
    state.origin, state.passed = copy, copy.passed | {copy.number} if copy else frozenset()
    area.wanted = area.started + 1
    deadline = time.monotonic() + 30
    while area.started != area.wanted:
        if time.monotonic() > deadline:
            raise gdb.GdbError('The replay does not start again; leave gdb and look at `heddle replay`.')
        time.sleep(0.002)
    quiet(f'attach {area.pid}')
    area.go = area.started


def resume():
    """Runs until something stops it. False: the run is over."""
    state.runtime_stop.why = 0
    quiet('continue')
    return alive()


def ask_for(slot, event=0, access=None):
    """The runtime is to stop the thread when it has taken so many events, or before that access."""
    area.stop_event, area.stop_access, area.stop_slot = event, 0 if access is None else access + 1, slot + 1
    for thread in threads():
        if thread.slot == slot and thread.self and access is not None:      # or it would look only at its next event
            for at in (area.self_until, area.self_group_until):
                until = min(read(thread.self + at), 2 * access)
                gdb.selected_inferior().write_memory(thread.self + at, struct.pack('<Q', until))


def travel_to(slot, event=0, access=None, on_stop=None):
    """False: the run ended before. on_stop is called wherever it stops on the way."""
    ask_for(slot, event, access)
    while resume():
        if state.runtime_stop.why:
            return state.runtime_stop.why == REACHED
        if on_stop:
            on_stop()
    return False


def come_to_event(place, on_stop):
    return event_of(place.slot) >= place.event or travel_to(place.slot, event=place.event, on_stop=on_stop)


def come_near(place, by_access, on_stop=None):
    """To the last event of a place, and to the access before the last. False: that is not before the place."""
    if not come_to_event(place, on_stop):
        return False
    last = place.events // 2 - 1
    if not by_access or last <= thread_at(place.slot).events // 2:
        return True
    # numbers are left out at ops: it may have stopped at a later one than this
    return travel_to(place.slot, access=last, on_stop=on_stop) and thread_at(place.slot).events // 2 == last


def come_into_hook(place, on_stop):
    """To a place inside the runtime, where it makes an access: before that."""
    return come_to_event(place, on_stop) and travel_to(place.slot, access=place.events // 2, on_stop=on_stop)


def thread_at(slot):
    return next(thread for thread in threads() if thread.slot == slot)


def event_of(slot):
    return next((thread.event for thread in threads() if thread.slot == slot), 0)


def expect(place, care):
    """A breakpoint at the place; None where nothing can be executed: a jump to nowhere stops by its signal."""
    return Arrival(place, care) if readable(place.pc) else None


def has_come(place, arrival):
    return arrival.hit if arrival else Place().same_code(place)


def arrive(place, care, on_stop=None):
    """From near the place to it. False: it has passed it."""
    arrival = expect(place, care)
    ask_for(place.slot, event=place.event + 1)
    try:
        while resume():
            if has_come(place, arrival):
                return True
            if state.runtime_stop.why:
                return False
            if on_stop:
                on_stop()
        return False
    finally:
        area.stop_slot = 0
        if arrival:
            arrival.delete()


def ways(place):
    """How to come to a place, the most careful first. A thread that waits inside the runtime perhaps does not wait there
    the next time: then the event before must do."""
    if place.in_hook:
        return [lambda on_stop: come_into_hook(place, on_stop)]
    inside = ours(place.pc)
    tries = ((1, True), (1, False), (0, False)) if place.events and not inside else ((2, False), (0, False))

    def way(care, by_access):
        return lambda on_stop: come_near(place, by_access, on_stop) and arrive(place, care, on_stop)
    return [way(*words) for words in tries] + ([lambda on_stop: come_to_event(place, on_stop)] if inside else [])


def go_to(place, on_stop=None, prepare=None, begins=None):
    """Another run, up to the place, from the first of `begins` (without: from the newest copy before it), at worst from
    the beginning.
`prepare` is called when the run is there, before its first instruction."""
    begin = (begins or beginnings(lambda copy: copy.is_before(place)))[0]
    for copy in (begin, None) if begin else (None,):
        for way in ways(place):
            start_run(copy)
            if prepare and not prepare():
                to_beginning()                       # its memory was not there yet
                prepare()
            if way(on_stop):
                thread_at(place.slot).gdb_thread().switch()
                return
    raise gdb.GdbError(f'The place ({place.text()}) was not found again. The replay is at another one.')


def search(place, found, over=(), **how):
    """Goes to the place from ever earlier moments, all before the places `over`, too, until something was found on the
    way."""
    begins, at = beginnings(lambda copy: all(copy.is_before(p) for p in (place, *over))), 0
    while True:
        go_to(place, begins=begins[at:], **how)
        if at == len(begins) - 1 or found():
            return
        at = min(2 * at + 1, len(begins) - 1)


def has_main():
    if gdb.lookup_global_symbol('main') or gdb.lookup_static_symbol('main'):
        return True
    try:
        return 'main' in quiet('info line main')
    except gdb.error:                           # a stripped program: gdb knows no such function at all
        return False


def first_of_program():
    """The first thread that gdb knows of; it hears of one that has just been made when the others move."""
    for _ in range(100):
        found = [thread for thread in (t.gdb_thread() for t in threads()) if thread]
        if found:
            return found[0]
        quiet('stepi')
    raise gdb.GdbError('The threads of the checkpoint do not come; `heddle restart` tries again.')


def to_beginning():
    """Another run, up to main(), or to the program's first instruction if it has no such symbol; or to the checkpoint
    at which it
begins, when its threads are there."""
    start_run()
    entry = re.search(r'AT_ENTRY.*?(0x[0-9a-f]+)', quiet('info auxv'))
    first = 'main' if has_main() else f'*{entry.group(1)}'
    stop = gdb.Breakpoint('heddle_debug_entered' if state.checkpoint else first, internal=True, temporary=True)
    stop.silent = True
    resume()
    if stop.is_valid():
        stop.delete()
    if state.checkpoint:
        first_of_program().switch()


def show():
    """Where we are, as gdb says it after a stop."""
    if not alive():
        print_end()
        return
    frame = program_frame()
    frame.select()
    thread = thread_of(gdb.selected_thread())
    if thread:
        gdb.write(f'[thread {thread.slot}, event {thread.event}' +
                  (f', access {thread.events // 2}' if thread.events else '') + ']\n')
    gdb.execute('frame')


def print_end():
    """The runtime's last words, if it had any: a divergence, say."""
    if struct.unpack_from('<I', area.map, area.ended_at)[0]:
        text = area.map[area.text_at:area.text_at + 8192].split(b'\0')[0].decode(errors='replace')
        gdb.write(f'heddle: {text.rstrip()}\n')
    gdb.write('heddle: the run is over; `heddle restart` begins another one\n')
