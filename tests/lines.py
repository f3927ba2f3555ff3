"""What the threads of a program print, a line at a time, each "THREAD NUMBER ...", and what a replay made of it."""


def lines_by_thread(printed):
    """Lines are "THREAD NUMBER ...": those of each thread, in their order."""
    threads = {}
    for line in printed.split(b'\n')[:-1]:
        threads.setdefault(line.split()[0], []).append(line)
    return threads


def lost_of_threads(printed, before, replayed):
    """What is wrong with the replay of a killed threaded program; None if nothing is."""
    all_lines, sure, again = (lines_by_thread(p) for p in (printed, printed[:before], replayed))
    for thread, lines in again.items():
        if all_lines.get(thread, [])[:len(lines)] != lines:
            return f'thread {thread} printed other lines than in the recording: {lines[-1]!r}'
    for thread, lines in sure.items():
        if len(lines) - len(again.get(thread, [])) > 2:     # it may have been between its write and its entry
            return f'thread {thread} lost lines: {len(lines)} printed before the kill, {len(again.get(thread, []))} replayed'
    return None
