"""Where a run can begin, besides the beginning: at copies of the process that runs have left on their way
(runtime/checkpoint.c)."""
import os
import struct

import gdb

from .replay import area, ours, state

known = {}      # by number


class Copy:
    """A process that waits where a run once was; each run that begins there is a copy of it."""

    def __init__(self, number, pid, run, passed):
        self.number, self.pid, self.run = number, pid, run
        self.passed = passed    # numbers of those before it
        with open(f'/proc/{pid}/mem', 'rb', buffering=0) as memory:
            def read(address, form='<Q'):
                return struct.unpack(form, os.pread(memory.fileno(), struct.calcsize(form), address))[0]
            self.threads = [self.counters(read, area.threads + slot * area.thread_room) for slot in range(read(area.highest, '<I'))]

    @staticmethod
    def counters(read, thread):
        own = read(thread + area.of_self)
        return read(thread + area.of_event), read(own) if own else 0

    def of(self, slot):
        """Events, and twice the accesses, that the thread has done."""
        return self.threads[slot] if slot < len(self.threads) else (0, 0)

    def is_before(self, place):
        """Is it certain that a run from here comes to the place?"""
        event, events = self.of(place.slot)
        if event != place.event:
            return event < place.event
        if ours(place.pc):
            return place.in_hook and events // 2 < place.events // 2
        return self.number in place.passed or events // 2 + 1 < place.events // 2

    def is_before_step(self, place, event=0, access=0):
        """The same, for that event or access of the place's thread."""
        now, events = self.of(place.slot)
        return now < event if event else now <= place.event and events // 2 + 1 < access

    def text(self):
        return f'{self.number}: ' + ', '.join(f'thread {slot} event {event}' + (f' access {events // 2}' if events else '')
                                              for slot, (event, events) in enumerate(self.threads) if event)


def copies():
    """All, the newest last."""
    table = area.at['copies'] + 8
    rows = [struct.unpack_from('<4Q', area.map, table + 32 * n) for n in range(area.copies)]
    for number, pid, run, _ in rows:
        if number not in known:
            known[number] = Copy(number, pid, run, passed(run, number))
    for number in set(known) - {row[0] for row in rows}:
        del known[number]
    return [known[row[0]] for row in rows]


def passed(run=None, number=None):
    """Those that the present run has come by, or was begun at; before it left that copy."""
    return state.passed | {copy.number for copy in known.values() if copy.run == (run or area.started) and copy.number < (number or 1 << 63)}


def beginnings(is_before):
    """Where to begin in order to come to a place: the newest first, at last None, the beginning."""
    return [copy for copy in reversed(copies()) if is_before(copy)] + [None]


def show_copies(argument):
    words = argument.split()
    if len(words) == 2 and words[0] == 'every':
        try:
            area.spacing = max(int(float(words[1]) * 1e9), 0)
        except (ValueError, OverflowError):
            raise gdb.GdbError('heddle checkpoints every SECONDS, 0: none') from None
    elif words:
        raise gdb.GdbError('heddle checkpoints, or heddle checkpoints every SECONDS')
    else:
        for copy in copies():
            gdb.write(f'  {copy.text()}\n')
        gdb.write(f'A run leaves one after every {area.spacing / 1e9:g} seconds of work; this run began at ' +
                  (f'{state.origin.number}.\n' if state.origin else 'the beginning.\n'))
