"""Negative controls: a replay whose order log was changed must be reported, or else be the same, never quietly
another."""
import os
import shutil
import struct

import cells
import tracefile
from harness import CANNOT, DIVERGED, Failure, Skip, without_ours

SOURCE = os.path.join(cells.BUGS, 'lost_update.c')
THREADS = 4
RECORDINGS = 4          # an order that is changed where it does not matter gives the same run: then another recording is changed


def changed(t, order, edit):
    """Record lost_update; let edit(order_log) change the log of each thread in turn; replay. Returns (changes,
    reported)."""
    for old in [n for n in os.listdir(t.dir) if n.startswith('trace-')]:
        shutil.rmtree(t.path(old))
    recorded, trace = cells.record_failing(t, SOURCE, order, THREADS, 5)
    changes = reported = 0
    for number in range(len(tracefile.logs(trace))):
        shutil.rmtree(t.path('edited'), ignore_errors=True)
        tracefile.copy(trace, t.path('edited'))
        path = tracefile.logs(t.path('edited'))[number]
        tracefile.rewrite(path, open(path, 'rb').read())    # a file of its own, no longer a link
        log = tracefile.OrderLog(tracefile.Log(path))
        if len(log.entries) < 3:
            continue
        edit(log.entries)
        log.write()
        tracefile.change_meta(t.path('edited'))
        changes += 1
        again = t.replay(t.path('edited'), timeout=cells.LIMIT)
        if again.status in (DIVERGED, CANNOT):
            t.check(b'heddle:' in again.err, 'no message')
            reported += 1
            continue
        t.check((again.status, again.out, without_ours(again.err)) == (recorded.status, recorded.out, without_ours(recorded.err)),
                f'another run, and nothing is said of it: {again}\n{again.out.decode()}')
    return changes, reported


def changed_until_reported(t, order, edit):
    """Change recordings of one order until one change is reported. Returns (changes, reported)."""
    changes = reported = 0
    for _ in range(RECORDINGS):
        more, reported = changed(t, order, edit)
        changes += more
        if reported:
            break
    return changes, reported


def each_order(t, edit):
    """Under every exact order: at least one of the changed threads is reported, none is quietly wrong."""
    silent = []
    tried = 0
    for order, guarantee in cells.orders(t.settings.build):
        if not cells.is_exact(guarantee):
            continue
        try:
            changes, reported = changed_until_reported(t, order, edit)
        except Failure as failure:
            raise Failure(f'{order}: {failure}') from None
        t.notes.append(f'{order}: {reported} of {changes} reported')
        tried += changes
        if changes and not reported:
            silent.append(order)
    if not tried:
        raise Skip('no order logged anything')
    t.check(not silent, f'nothing was noticed under {", ".join(silent)}')


def case_unchanged(t):
    """The control of the controls: logs that are read and written back replay exactly."""
    for order, guarantee in cells.orders(t.settings.build):
        if cells.is_exact(guarantee):
            changes, reported = changed(t, order, lambda entries: None)
            t.check(not reported, f'{order}: {reported} of {changes} unchanged logs were called changed')


def case_entry_dropped(t):
    """One entry in the middle of a thread's log is missing."""
    def edit(entries):
        del entries[len(entries) // 2]
    each_order(t, edit)


def case_all_dropped(t):
    """A thread has no order at all."""
    each_order(t, lambda entries: entries.clear())


def case_number_changed(t):
    """An entry says another number than it did."""
    def edit(entries):
        entries[len(entries) // 2][-1] += 1
    each_order(t, edit)


def case_entry_moved(t):
    """From the middle on, each entry stands at the access after its own: as if the order had been logged for other
    accesses.

    One entry that stands an access too early is mostly harmless: the thread waits sooner than it must, and the run is
    the same.
    """
    def edit(entries):
        for entry in entries[len(entries) // 2:]:
            entry[0] += 1
    each_order(t, edit)


def order_entry(position, data=b''):
    return tracefile.Entry(struct.pack(tracefile.ENTRY + 'Q', 24 + (len(data) + 7) // 8 * 8, 0, tracefile.ENTRY_ORDER, 1,
                                       len(data), position) + data.ljust((len(data) + 7) // 8 * 8, b'\0'))


def case_empty_pieces(t):
    """Pieces of the order log without a byte, before and after each that has some: replay must not read beyond them."""
    recorded, trace = cells.record_failing(t, SOURCE, 'leap', THREADS, 5)
    pieces = 0
    for path in tracefile.logs(trace):
        log = tracefile.Log(path)
        for chunk in log.chunks:
            for e in [e for e in chunk if e.kind == tracefile.ENTRY_ORDER]:
                at, position = chunk.index(e), e.args()[0]
                chunk[at:at + 1] = [order_entry(position), e, order_entry(position + e.result)]
                pieces += 1
        log.write()
    tracefile.change_meta(trace)
    t.check(pieces, 'nothing was logged')
    t.replays(recorded, trace=trace, timeout=cells.LIMIT)


def case_missing_piece(t):
    """A piece of the order log that is not there, though a later one is."""
    _, trace = cells.record_failing(t, SOURCE, 'leap', THREADS, 5)
    log = tracefile.Log(tracefile.logs(trace)[2])
    chunk = next(c for c in log.chunks if any(e.kind == tracefile.ENTRY_ORDER for e in c))
    piece = next(e for e in chunk if e.kind == tracefile.ENTRY_ORDER)
    piece.put('<Q', 16, piece.args()[0] + 1)
    log.write()
    tracefile.change_meta(trace)
    again = t.replay(trace, timeout=cells.LIMIT)
    t.check(again.status == CANNOT and b'is missing' in again.err, f'not noticed: {again}')
