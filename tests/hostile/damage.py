"""A real trace, cut and flipped at random, through dump and replay: never a crash, a hang, or a wrong replay called
right."""
import os
import random
import shutil

import tracefile
from harness import CANNOT, DIVERGED, USAGE

# Three processes and a status that is not heddle's: exit 7.
SCRIPT = 'date +%s.%N; head -c 300 /dev/urandom | od -A n -t x1; exit 7'
EACH = 100


def flip(data, rng):
    at = rng.randrange(len(data))
    bit = 1 << rng.randrange(8)
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1:], f'bit {bit:#x} of byte {at} flipped'


def cut(data, rng):
    at = rng.randrange(len(data))
    return data[:at], f'cut at byte {at}'


def zero(data, rng):
    at = rng.randrange(len(data))
    n = min(len(data) - at, rng.choice((1, 8, 64, 4096)))
    return data[:at] + bytes(n) + data[at + n:], f'{n} bytes at {at} zeroed'


def scramble(data, rng):
    at = rng.randrange(len(data))
    n = min(len(data) - at, rng.choice((1, 4, 8, 32)))
    return data[:at] + rng.randbytes(n) + data[at + n:], f'{n} random bytes at {at}'


def drop(data, rng):
    at = rng.randrange(len(data))
    n = min(len(data) - at, rng.choice((1, 8, 32, 100)))
    return data[:at] + data[at + n:], f'{n} bytes at {at} taken out'


def grow(data, rng):
    n = rng.choice((1, 8, 32, 100))
    return data + rng.randbytes(n), f'{n} bytes added at the end'


def files_of(trace):
    """Most damage goes to the streams: they are what a reader interprets."""
    streams, others = tracefile.logs(trace), []
    for folder, _, names in os.walk(trace):
        others += [os.path.join(folder, n) for n in sorted(names) if not os.path.islink(os.path.join(folder, n))]
    return streams, sorted(set(others) - set(streams))


def damaged(rng, trace):
    streams, others = files_of(trace)
    path = rng.choice(streams if rng.random() < 0.7 else others)
    with open(path, 'rb') as file:
        data = file.read()
    while True:
        changed, what = rng.choice((flip, flip, flip, cut, cut, zero, scramble, drop, grow))(data, rng) if data else grow(data, rng)
        if changed != data:
            break
    tracefile.rewrite(path, changed)
    return os.path.relpath(path, trace), what


def judge(again):
    """None, or what is wrong with how a damaged trace was replayed. meta.json lists all files of a finished trace
    with their sizes and checksums, so that no damage is too small to be noticed."""
    if again.status not in (USAGE, CANNOT, DIVERGED):
        return f'not noticed: {again}'
    return None if b'heddle:' in again.err else 'refused without a message'


def case_mutations(t):
    original = t.record(['sh', '-c', SCRIPT])
    t.check(original.status == 7, f'recording: {original}')
    whole = t.replay()
    t.check((whole.status, whole.out) == (7, original.out) and original.out, f'the undamaged trace does not replay: {whole}')
    wrong = []
    for n in range(EACH):
        seed = t.batch * EACH + n
        rng = random.Random(seed)
        trace = t.path(f'damaged{seed}')
        tracefile.copy(t.path('trace'), trace)
        name, what = damaged(rng, trace)
        printed = t.run([t.heddle, 'dump', trace], timeout=20)
        text = None
        if printed.status not in (0, CANNOT):
            text = f'dump: {printed}'
        text = text or judge(t.replay(trace, timeout=20, offline=False))
        if text:
            wrong.append(f'seed {seed}: {name}, {what}: {text}')
            t.hint = f'{t.heddle} replay {trace}'
        else:
            shutil.rmtree(trace)
    t.check(not wrong, f'{len(wrong)} of {EACH} wrong:\n' + '\n'.join(wrong[:10]))


case_mutations.batches = 30


def case_message_names_file_and_offset(t):
    t.check(t.record(['sh', '-c', SCRIPT]).status == 7, 'recording failed')
    log = tracefile.logs(t.path('trace'))[0]
    with open(log, 'rb') as file:
        data = bytearray(file.read())
    data[32 + 40] ^= 0x10           # inside the first chunk's packed bytes
    tracefile.rewrite(log, bytes(data))
    for verb in ('dump', 'replay'):
        outcome = t.run([t.heddle, verb, t.path('trace')])
        t.check(outcome.status == CANNOT, f'{verb}: expected {CANNOT}, got {outcome}')
        text = outcome.err.decode(errors='replace')
        t.check(os.path.relpath(log, t.path('trace')) in text and '32' in text, f'{verb} names no file and offset: {text}')
