"""The replayed process, as gdb and the runtime know it: threads, what they wait for, and their frames."""
import mmap
import os
import re
import struct
import types

import gdb
from gdb.unwinder import Unwinder

OURS = (0x600000000000, 0x700000000000)         # the loader's and the runtime's addresses: runtime/memory/map.h
STACKS = (0x600100000000, 0x601000000000)       # of the runtime
RUNS, PARKED = 1, 2                             # enum thread_state

MACHINES = {
    # names in the order of struct regs; those that every call preserves
    'aarch64': ([f'x{n}' for n in range(31)] + ['sp', 'pc'], [f'x{n}' for n in range(19, 30)] + ['sp']),
    'i386:x86-64': (['rax', 'rcx', 'rdx', 'rbx', None, 'rbp', 'rsi', 'rdi'] + [f'r{n}' for n in range(8, 16)] + ['rsp', 'rip'],
                    ['rbx', 'rbp', 'r12', 'r13', 'r14', 'r15', 'rsp']),
}


class Area:
    """The page that the loader, the runtime and we share; its members by name."""

    def open(self, control, at, members):
        self.__dict__['at'] = {name: at + 8 * n for n, name in enumerate(members.split())}
        with open(control, 'r+b') as file:
            self.__dict__['map'] = mmap.mmap(file.fileno(), 0)

    def __getattr__(self, name):
        return struct.unpack_from('<Q', self.map, self.at[name])[0]

    def __setattr__(self, name, value):
        struct.pack_into('<Q', self.map, self.at[name], value)


area = Area()
state = types.SimpleNamespace(
    trace='', image=0,          # what is replayed: its directory, and which process image
    checkpoint=False,           # not from the program's beginning, but from a checkpoint
    origin=None,                # the copy at which this run began; None: at the beginning
    passed=frozenset(),         # numbers of the copies before that, and its own
    travelling=False,           # we run again, and what happens on the way is not for the user's eyes
    way_back=None,              # the last reverse-continue: commands.WayBack
    runtime_stop=None,          # the breakpoint at debug_stop()
    faults=set())               # numbers of our catchpoints, of the program's faults


def ours(pc):
    return OURS[0] <= pc < OURS[1]


def machine():
    return MACHINES[gdb.selected_inferior().architecture().name()]


def read(address, form='<Q'):
    return struct.unpack(form, gdb.selected_inferior().read_memory(address, struct.calcsize(form)).tobytes())[0]


def readable(address):
    try:
        return read(address, '<B') is not None
    except gdb.MemoryError:
        return False


FAULTS = ('SIGSEGV', 'SIGBUS', 'SIGILL')


def traps_for_us(pc):
    """A read of the cycle counter, or, on x86-64, a question what processor it is, what gave way to the patch of the
    system call before it, or what leads an access of OpenMP's libraries away: the runtime sees to all of them."""
    try:
        code, before = read(pc, '<I'), read(pc - 2, '<H')
    except gdb.MemoryError:
        return False
    if gdb.selected_inferior().architecture().name() == 'aarch64':
        return code & ~31 in (0xd53be000, 0xd53be020, 0xd53be040, 0xd53be0a0, 0xd53be0c0)
    return code & 0xffff in (0x310f, 0xa20f) or code & 0xffffff == 0xf9010f or before == 0xe948 or code & 0xff == 0xf4


class IsFault(gdb.Function):
    """Is the signal that has come the program's own, raised by one of its instructions?"""
    NAME = '_heddle_is_fault'

    def __init__(self):
        super().__init__(self.NAME)

    def invoke(self):
        pc = int(gdb.parse_and_eval('(unsigned long)$pc'))
        return pc < OURS[0] and not traps_for_us(pc)


def alive():
    return gdb.selected_inferior().pid != 0


def need_process():
    if not alive():
        raise gdb.GdbError('The replay is not running; `heddle restart` begins another one.')


def quiet(command):
    return gdb.execute(command, to_string=True)


def quoted(word):
    """One word of a command, whatever is in it."""
    return re.sub(r'([\\\'"\s])', r'\\\1', word)


# ---- threads ------------------------------------------------------------------------------------------------


class Thread:
    """What the runtime knows of one thread."""

    def __init__(self, slot):
        self.slot = slot
        self.address = area.threads + slot * area.thread_room
        self.state = self.field('of_state', '<I')
        self.lwp = self.field('of_tid', '<I')
        self.event = self.field('of_event')
        front, self.self = self.field('of_front'), self.field('of_self')
        self.op = read(front) if front else 0
        self.events = read(self.self) if self.self else 0       # twice the hooked accesses, plus 1 inside one

    def field(self, name, form='<Q'):
        return read(self.address + getattr(area, name), form)

    def gdb_thread(self):
        for thread in gdb.selected_inferior().threads():
            if thread.ptid[1] == self.lwp and self.state in (RUNS, PARKED):
                return thread
        return None

    def in_hook(self):
        """Given that it is in the runtime: did it come by a hooked access?"""
        came_by = read(self.address + 8 * (len(machine()[0]) - 1))
        return 'hook_entry' in quiet(f'info symbol {came_by:#x}')

    def waits(self):
        """What it waits for, for people, and the slot of whom."""
        stamp = self.field('of_waits_for')
        if stamp:
            return f'op {stamp & 0xffffffffffff} of thread {stamp >> 48}', stamp >> 48
        if self.field('of_waits_ticket'):
            return f'system calls of other threads, up to number {self.field("of_waits_ticket")}', None
        if self.field('of_waits_ready'):
            why = self.field('of_waits_why')
            return (gdb.Value(why).cast(gdb.lookup_type('char').pointer()).string() if why else 'another thread'), None
        if self.field('of_waits_futex', '<B'):
            return 'a futex of the program\'s own', None
        if self.state == PARKED:
            return 'nothing: the recording has no more of it', None
        return None, None


def threads():
    return [Thread(slot) for slot in range(read(area.highest, '<I'))]


def thread_of(gdb_thread):
    for thread in threads():
        if thread.lwp == gdb_thread.ptid[1] and thread.state in (RUNS, PARKED):
            return thread
    return None


def current():
    need_process()
    thread = thread_of(gdb.selected_thread())
    if not thread:
        raise gdb.GdbError('This thread is not one of the recorded program\'s.')
    return thread


def in_library_of_ours(frame):
    """Or in what heddle-cc puts into the program, for a thread's first access."""
    name = gdb.solib_name(frame.pc()) or ''
    return ours(frame.pc()) or name.endswith('/libheddle.so') or (frame.name() or '').startswith('__heddle_')


def is_line_of_program(frame):
    """Has it a source line, and is it neither ours nor ld.so's?"""
    name = gdb.solib_name(frame.pc()) or ''
    return frame.find_sal().symtab and not in_library_of_ours(frame) and not re.search(r'/ld[^/]*$', name)


def program_frame(frame=None):
    """The innermost frame of the program itself."""
    frame = frame or gdb.newest_frame()
    while frame and in_library_of_ours(frame) and frame.older():
        frame = frame.older()
    return frame


def line_done(frame):
    """The line of the instruction that was executed last, in the newest frame, too; unless that was the call."""
    if frame == gdb.newest_frame() and ' + ' in quiet(f'info symbol {frame.pc():#x}'):
        return gdb.find_pc_line(frame.pc() - 1)
    return frame.find_sal()


def place_of(frame, line_of):
    line = line_of(frame)
    name = frame.name() or f'{frame.pc():#x}'
    if line.symtab:
        return f'{name} at {os.path.basename(line.symtab.filename)}:{line.line}'
    return name


def where(frame, line_of=gdb.Frame.find_sal):
    """In which function and line; of a library's also who called it."""
    caller = frame
    while caller and gdb.solib_name(caller.pc()):
        caller = caller.older()
    if not caller or caller == frame:
        return place_of(frame, line_of)
    return f'{frame.name() or "a library"}, called by {place_of(caller, line_of)}'


# ---- unwinding out of the runtime ---------------------------------------------------------------------------


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class OutOfRuntime(Unwinder):
    """A thread inside the runtime is on a stack of ours; what the program had in its registers is in its struct
    thread."""

    def __init__(self):
        super().__init__('heddle')

    def __call__(self, pending):
        names, _ = MACHINES[gdb.selected_inferior().architecture().name()]
        sp = int(pending.read_register(names[-2]))
        pc = int(pending.read_register(names[-1]))
        if not ours(pc) or not STACKS[0] <= sp < STACKS[1]:
            return None
        slot = (sp - STACKS[0]) // area.thread_room
        base = area.threads + slot * area.thread_room
        saved = {name: read(base + 8 * n) for n, name in enumerate(names) if name}
        if ours(saved[names[-1]]):              # it came by a call, else by a system call
            self.undo_call(saved)
        else:
            saved[names[-1]] += 4 if 'x30' in saved else 2
        # a frame must lie below its caller's, or gdb calls the stack corrupt
        info = pending.create_unwind_info(FrameId(gdb.Value(saved[names[-2]] - 16), gdb.Value(pc)))
        kind = gdb.lookup_type('unsigned long')
        pointers = {names[-2]: gdb.lookup_type('char').pointer(), names[-1]: gdb.lookup_type('char').pointer()}
        for name, value in saved.items():
            info.add_saved_register(name, gdb.Value(value).cast(pointers.get(name, kind)))
        return info

    @staticmethod
    def undo_call(saved):
        if 'x30' in saved:
            saved['pc'] = saved['x30']
        else:
            saved['rip'] = read(saved['rsp'])
            saved['rsp'] += 8
