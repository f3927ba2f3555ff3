"""What a user can say in gdb, besides what gdb knows by itself."""
import os
import re
import subprocess

import gdb

from .copies import beginnings, show_copies
from .replay import (PARKED, RUNS, alive, is_line_of_program, line_done, need_process, ours, program_frame, quiet,
                     readable, state, thread_of, threads, where)
from .travel import (Place, Travel, event_of, expect, go_to, has_come, resume, search, show, start_run, thread_at, to_beginning, travel_to)

STEPS_MOST = 5000       # of each search for the line before; not a time, or what is found would depend on how busy the machine is
CANNOT = 122            # heddle's exit status


class Heddle(gdb.Command):
    """Look at a replay, and go to any place of it, also backwards.

heddle when                  where each thread is: events, ops and accesses that it has done
heddle edges                 who waits for whom
heddle races                 which accesses of the recording were in no order
heddle restart               begin again, at main()
heddle goto THREAD:EVENT     to where that thread has done so many events (`heddle dump` numbers them)
heddle last-write EXPR       who changed this last, before here
heddle who EXPR              the same
heddle reverse-continue      back to the stop before
heddle reverse-step, reverse-next, reverse-stepi, reverse-finish
heddle checkpoints           from where runs can begin, so that going back takes less than a whole replay"""

    def __init__(self):
        super().__init__('heddle', gdb.COMMAND_RUNNING, prefix=True)

    def invoke(self, argument, from_tty):
        if argument:
            raise gdb.GdbError(f'No command `heddle {argument.split()[0]}`; `help heddle` lists them.')
        gdb.execute('help heddle')


def plainly(function, argument):
    """gdb's own errors without a word about Python."""
    try:
        function(argument)
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from error


def command(name, also=()):
    """Makes `heddle NAME` of a function; `also`: further commands of gdb that do the same here."""
    def make(function):
        for full in (f'heddle {name}', *also):
            body = {'__doc__': function.__doc__, 'invoke': lambda self, argument, from_tty: plainly(function, argument)}
            type('Command', (gdb.Command,), body)(full, gdb.COMMAND_RUNNING)
        return function
    return make


def define_commands():
    Heddle()

    @command('when')
    def when(argument):
        """Where each thread is: events, ops and hooked accesses that it has done. `*`: the selected thread."""
        need_process()
        selected = gdb.selected_thread()
        frame_before = gdb.selected_frame()
        for thread in threads():
            here = thread.gdb_thread()
            if not here:
                gdb.write(f'  thread {thread.slot}: ' + ('has not begun\n' if not thread.state else f'ended after event {thread.event}\n'))
                continue
            here.switch()
            gdb.write(f'{"*" if here.num == selected.num else " "} thread {thread.slot}: event {thread.event}, op {thread.op}, '
                      f'access {thread.events // 2}, gdb\'s thread {here.num}, in {where(program_frame())}\n')
        selected.switch()
        frame_before.select()

    @command('edges')
    def edges(argument):
        """Who waits for whom, as the recording wants it."""
        need_process()
        for thread in threads():
            if thread.state not in (RUNS, PARKED):
                continue
            what, whom = thread.waits()
            waiting = [t.slot for t in threads() if t.state == RUNS and t.waits()[1] == thread.slot]
            gdb.write(f'  thread {thread.slot} ' + (f'waits for {what}' if what else 'runs') +
                      (f'; threads {", ".join(map(str, waiting))} wait for it' if waiting else '') + '\n')

    @command('races')
    def races(argument):
        """Which accesses of the whole recording were in no order, as `heddle replay --races` tells them. Takes a replay
        of its own."""
        image = [f'--image={state.image}'] if state.image else []
        told = subprocess.run([f'/proc/{os.getppid()}/exe', 'replay', '--races', '--quiet', *image, '--', state.trace], capture_output=True,
                              check=False)
        text = told.stderr.decode(errors='replace') + told.stdout.decode(errors='replace')
        if told.returncode == CANNOT:
            raise gdb.GdbError(text.strip())
        gdb.write(text)

    @command('restart', also=('run', 'start'))
    def restart(argument):
        """Begin the replay again, and stop at main()."""
        with Travel():
            to_beginning()
        show()

    @command('goto')
    def goto(argument):
        """heddle goto THREAD:EVENT: to where the thread has done so many events, as `heddle dump` numbers them."""
        found = re.fullmatch(r'\s*(\d+):(\d+)\s*', argument)
        if not found:
            raise gdb.GdbError('heddle goto THREAD:EVENT, both as `heddle when` and `heddle dump` number them.')
        slot, event = int(found.group(1)), int(found.group(2))
        if not os.path.exists(f'{state.trace}/p{state.image}.t{slot}.log'):
            raise gdb.GdbError(f'The recording has no thread {slot}.')
        with Travel():
            if not alive() or event_of(slot) >= event:
                start_run(beginnings(lambda copy: copy.of(slot)[0] < event)[0])
            reached = event == 0 or travel_to(slot, event=event)
        if not reached:
            raise gdb.GdbError(f'Thread {slot} has no event {event}; the replay is at its end.')
        show()

    @command('last-write')
    def last_write(argument):
        """heddle last-write EXPR: which thread, at which event and line, changed the value of EXPR last, before here.
EXPR is something with an address, or an address with a type: *(int *) 0x1234. Runs the replay again, up to here."""
        find_last_write(argument)

    @command('who')
    def who(argument):
        """heddle who EXPR: the same as heddle last-write."""
        find_last_write(argument)

    @command('reverse-continue', also=('reverse-continue', 'rc'))
    def reverse_continue(argument):
        """Back to the last stop at a breakpoint, watchpoint or signal before here; to main() if there is none."""
        back_to_last_stop()

    @command('reverse-step', also=('reverse-step', 'rs'))
    def reverse_step(argument):
        """Back to the line before, in this thread, also into functions."""
        back_by('step')

    @command('reverse-next', also=('reverse-next', 'rn'))
    def reverse_next(argument):
        """Back to the line before of this function, or to the call that led here."""
        back_by('next')

    @command('reverse-stepi', also=('reverse-stepi', 'rsi'))
    def reverse_stepi(argument):
        """Back by one instruction of this thread."""
        back_by('stepi')

    @command('reverse-finish', also=('reverse-finish',))
    def reverse_finish(argument):
        """Back to the beginning of this function."""
        back_to_entry()

    @command('checkpoints')
    def checkpoints(argument):
        """heddle checkpoints: copies of the process that runs have left on their way; what goes back begins at the
        newest that helps.
heddle checkpoints every SECONDS: leave one after so much work of the processors, 0: none."""
        show_copies(argument)


# ---- who wrote it? ------------------------------------------------------------------------------------------


def select_frame(level):
    frame = gdb.newest_frame()
    while frame.older() and frame.level() < level:
        frame = frame.older()
    frame.select()


class Write(gdb.Breakpoint):
    """Notes each change of some bytes, and goes on."""

    def __init__(self, address, size):
        kind = {1: 'char', 2: 'short', 4: 'int', 8: 'long'}.get(size)
        if not kind:
            raise gdb.GdbError(f'{size} bytes are more than a watchpoint can see; name a part of it.')
        super().__init__(f'*(unsigned {kind} *) {address:#x}', type=gdb.BP_WATCHPOINT, wp_class=gdb.WP_WRITE, internal=True)
        self.silent = True
        self.last = None

    def stop(self):
        thread = thread_of(gdb.selected_thread())
        frame = program_frame()
        self.last = (thread, where(frame, line_done) if thread else 'the loader', Place() if thread else None)
        return False


def find_last_write(expression):
    need_process()
    if not expression.strip():
        raise gdb.GdbError('Of what? heddle last-write EXPR')
    value = gdb.parse_and_eval(expression)
    if value.address is None:
        raise gdb.GdbError(f'{expression} has no address; of an address, say *(int *) {expression}.')
    address, size, kind = int(value.address), value.type.sizeof, value.type
    place, frame_level = Place(), gdb.selected_frame().level()
    write = None

    def watch():
        nonlocal write
        if write:
            write.delete()
        write = Write(address, size)
        return readable(address)

    with Travel():
        try:
            search(place, lambda: write.last, prepare=watch)
        finally:
            last = write.last if write else None
            if write and write.is_valid():
                write.delete()
    select_frame(frame_level)
    if not last:
        gdb.write(f'Nobody has changed {expression} before here.\n')
        return
    thread, text, at = last
    gdb.write(f'{expression} was changed last by {at.text() if at else "the loader"}, in {text}; it is '
              f'{gdb.Value(gdb.parse_and_eval(f"*(char(*)[{size}]) {address:#x}").address).cast(kind.pointer()).dereference()} now\n')


# ---- backwards ----------------------------------------------------------------------------------------------


class WayBack:
    """The stops of a run up to a place, for who goes back from one to the next. They are all of one run: threads that do
    not wait for each other come to their stops in another order in every run."""

    def __init__(self, origin):
        self.origin = self.here = origin        # where it began, and where the user stands
        self.breakpoints = users_breakpoints()
        self.stops = []                         # not yet visited, each with the temporary breakpoints that it uses up
        self.visited = {}                       # by slot: the earliest

    def goes_on(self, place):
        return self.here.same(place) and self.breakpoints == users_breakpoints()

    def find_stops(self):
        """False: gdb has lost a watchpoint on the way."""
        hits, passed = {}, set()

        def count_hits():
            hits.update((b, b.hit_count) for b in travel.temporary)

        def forget():
            self.stops.clear()
            passed.clear()
            count_hits()
            return True

        def note():
            spent = [b for b in travel.temporary if b.hit_count != hits[b]]
            count_hits()
            try:
                here = Place()
            except gdb.error:
                return
            if here.slot in self.visited and here.has_passed(self.visited[here.slot]):
                passed.add(here.slot)
            if here.slot not in passed and not here.same(self.origin):
                self.stops.append((here, spent))

        with Travel(breakpoints=True) as travel:
            search(self.origin, lambda: self.stops, over=self.visited.values(), on_stop=note, prepare=forget)
        return not travel.lost()

    def go(self):
        """To the last stop that is left. False: there is none, and this is the beginning."""
        if not self.stops:
            to_beginning()
            return False
        last, spent = self.stops.pop()
        self.visited[last.slot] = last
        go_to(last)
        for b in spent:
            b.delete()
        self.here = Place()
        return True


def users_breakpoints():
    return [(b.number, b.enabled, b.condition, b.thread) for b in gdb.breakpoints() if b.number > 0]


def back_to_last_stop():
    place = Place()
    way, state.way_back = state.way_back, None
    if not way or not way.goes_on(place):
        way = WayBack(place)
    if not way.stops and not way.find_stops():
        raise gdb.GdbError('So it is not known where the last stop was.')
    with Travel():
        found = way.go()
    state.way_back = way
    if not found:
        gdb.write('No stop before; this is the beginning.\n')
    show()


ENTRIES = (0, 1)        # anchors: where the function of the place began, and the one that called it


def anchors(place):
    """Ever earlier moments of the thread from which to step forward."""
    for back in (1, 2, 4, 8, 16, 64):
        if place.events // 2 > back:
            yield {'access': place.events // 2 - 1 - back}
    yield from ENTRIES
    for back in (0, 1, 2, 4, 8):
        if place.event > back:
            yield {'event': place.event - back}
    if place.slot == 0:
        yield None


def steps_to(place, how, from_where, care):
    """The places at which stepping stops on the way to a place; [] if it cannot be done from there."""
    if from_where is None:
        to_beginning()
    elif isinstance(from_where, Place):
        go_to(from_where)
    else:
        start_run(beginnings(lambda copy: copy.is_before_step(place, **from_where))[0])
        if not travel_to(place.slot, **from_where) or thread_at(place.slot).events > place.events:
            return []
        out_of_runtime()
    found = []
    arrival = expect(place, care)
    try:
        for _ in range(STEPS_MOST):
            if not alive():
                break
            here = Place()
            if here.slot != place.slot or here.event > place.event or here.events > place.events:
                return []
            if here.same(place) or has_come(place, arrival):
                return found
            if how == 'stepi' or is_line_of_program(gdb.newest_frame()):
                found.append((here, callers()))
            try:
                quiet(how)
            except gdb.error:       # code without any symbol
                quiet('stepi')
    finally:
        if arrival:
            arrival.delete()
    return []


def callers():
    """Where the calls come from that led here, innermost first. What was inlined is no call."""
    frame, found = program_frame(), []
    while frame.older():
        if frame.type() != gdb.INLINE_FRAME:
            found.append(frame.older().pc())
        frame = frame.older()
    return found


def out_of_runtime():
    """To where the program goes on."""
    frame = gdb.newest_frame()
    while frame and ours(frame.pc()):
        frame = frame.older()
    stop = gdb.Breakpoint(f'*{frame.pc():#x}', internal=True, temporary=True)
    stop.silent = True
    stop.thread = gdb.selected_thread().global_num
    resume()
    if stop.is_valid():
        stop.delete()


def back_by(how):
    place, calls = Place(), callers()
    functions = [function_here(level) for level in ENTRIES]
    with Travel():
        quiet('skip disable')   # or nothing would be seen of a thread, whose first function is ours
        try:
            tries = [(anchor, care) for care in ((1, 0) if place.events else (2,)) for anchor in anchors(place)]
            before = next(filter(None, (step_before(place, calls, functions, how, *words) for words in tries)), None)
            go_to(before or place)      # first: while a thread that has ended is the selected one, no command works
        finally:
            quiet('skip enable')
    if not before:
        raise gdb.GdbError('The line before was not found; `heddle goto` and `heddle reverse-continue` go further back.')
    show()


def step_before(*words):
    """The last stop of stepping from an anchor to the place; None if there was none, or if a thread ended under gdb's
    hands on the way."""
    try:
        return find_step_before(*words)
    except gdb.error:
        return None


def find_step_before(place, calls, functions, how, anchor, care):
    if anchor in ENTRIES:
        return step_from_entry(place, calls, anchor, functions[anchor], how, care)
    steps = stops_of(place, calls, how, anchor, care)
    # the first one is where it began to step, in the middle of a line, except at main()
    return steps[-1] if len(steps) > (anchor is not None) else None


def stops_of(place, calls, how, anchor, care):
    """`next`: only those in this function, or one that called it."""
    return [here for here, theirs in steps_to(place, how, anchor, care) if how != 'next' or not theirs or calls[-len(theirs):] == theirs]


def step_from_entry(place, calls, level, function, how, care):
    """Over all that the function calls, to its last line before the place; then into what that line calls, if that is
    not too far."""
    entries = find_entries(place, calls[level:], function) if function and how != 'stepi' else []
    lines = stops_of(place, calls, 'next', entries[-1], care)[1:] if entries else []
    if not lines or how == 'next':
        return lines[-1] if lines else None
    return (stops_of(place, calls, 'step', lines[-1], care) or lines)[-1]


class Entry(gdb.Breakpoint):
    """Notes when a thread enters a function at a certain depth of its stack."""

    def __init__(self, address, slot):
        super().__init__(f'*{address:#x}', internal=True)
        self.silent = True
        self.slot, self.places = slot, []

    def stop(self):
        thread = thread_of(gdb.selected_thread())
        if thread and thread.slot == self.slot:
            self.places.append((Place(), callers()))
        return False


def function_here(level=0):
    """The address of the function that the thread is in (1: of the one that called it); None if it has no symbol, or is
    not the program's."""
    frame = program_frame()
    while frame and (level or frame.type() == gdb.INLINE_FRAME):
        level -= frame.type() != gdb.INLINE_FRAME
        frame = frame.older()
    function = frame.function() if frame and is_line_of_program(frame) else None
    return int(function.value().address) if function else None


def find_entries(place, calls, address):
    """Where the thread entered that function, at the same depth, on the way to the place; the last is the one that
    leads there."""
    entry = None

    def prepare():
        nonlocal entry
        if entry:
            entry.delete()
        entry = Entry(address, place.slot) if readable(address) else None
        return entry

    def places():
        return [p for p, theirs in entry.places if theirs == calls] if entry else []

    try:
        search(place, places, prepare=prepare)
    finally:
        found = places()
        if entry and entry.is_valid():
            entry.delete()
    return found


def back_to_entry():
    place, calls, function = Place(), callers(), function_here()
    if not function:
        raise gdb.GdbError('This function has no symbol, so its beginning is not known.')
    with Travel():
        found = find_entries(place, calls, function)
        if not found:
            raise gdb.GdbError('The beginning of this function was not found.')
        go_to(found[-1])
    show()
