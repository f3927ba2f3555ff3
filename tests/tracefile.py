"""Reading and rewriting the packed streams of a trace, for tests that damage one. See doc/trace-format.md."""
import ctypes
import ctypes.util
import glob
import json
import os
import re
import struct

LOG_MAGIC, LOG_CUT_MAGIC, CHUNK_MAGIC = 0x676f6c2e64656805, 0x676f6c2e64656806, 0x6b6e6843
LOG_HEADER, CHUNK_HEADER, ENTRY, BLOCK = '<QIIIIQ', '<IIQIIQ', '<IHBBq', '<QIBBH'
ENTRY_SYSCALL, ENTRY_FAULT, ENTRY_LAST, ENTRY_ORDER = 2, 4, 12, 14
BLOCK_OUT, BLOCK_HASH, BLOCK_CHILD, BLOCK_SHOWN, BLOCK_FILE, BLOCK_START = 1, 3, 4, 5, 6, 7

_zstd = ctypes.CDLL(ctypes.util.find_library('zstd') or 'libzstd.so.1')
_xxhash = ctypes.CDLL(ctypes.util.find_library('xxhash') or 'libxxhash.so.0')
for _function in (_zstd.ZSTD_compress, _zstd.ZSTD_decompress, _zstd.ZSTD_compressBound):
    _function.restype = ctypes.c_size_t
_zstd.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
_zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
_zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
_xxhash.XXH64.restype = ctypes.c_uint64
_xxhash.XXH64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]


def xxh64(data):
    return _xxhash.XXH64(data, len(data), 0)


def unpack(data, size):
    out = ctypes.create_string_buffer(size)
    got = _zstd.ZSTD_decompress(out, size, data, len(data))
    if got != size:
        raise ValueError(f'a chunk unpacks to {got} bytes, not {size}')
    return out.raw[:size]


def pack(data):
    room = _zstd.ZSTD_compressBound(len(data))
    out = ctypes.create_string_buffer(room)
    got = _zstd.ZSTD_compress(out, room, data, len(data), 3)
    return out.raw[:got]


class Entry:
    """One entry; `data` is all of it, and the fields below are read from it."""

    def __init__(self, data):
        self.data = bytearray(data)

    nr = property(lambda self: struct.unpack_from('<H', self.data, 4)[0])
    kind = property(lambda self: self.data[6])
    flags = property(lambda self: self.data[7])
    result = property(lambda self: struct.unpack_from('<q', self.data, 8)[0])

    def args(self):
        return list(struct.unpack_from(f'<{self.flags & 7}Q', self.data, 16))

    def blocks(self):
        """(offset of its header, kind, arg, addr, data) of each block."""
        at = 16 + 8 * (self.flags & 7) + (16 if self.flags & 8 else 0)
        while at < len(self.data):
            addr, length, kind, arg, _ = struct.unpack_from(BLOCK, self.data, at)
            length = 8 if kind == BLOCK_HASH else 0 if kind in (BLOCK_CHILD, BLOCK_SHOWN) else length
            yield at, kind, arg, addr, bytes(self.data[at + 16:at + 16 + length])
            at += 16 + (length + 7) // 8 * 8

    def put(self, form, offset, value):
        struct.pack_into(form, self.data, offset, value)


class Log:
    """A whole t<M>.log in memory."""

    def __init__(self, path):
        self.path = path
        with open(path, 'rb') as file:
            data = file.read()
        self.header = list(struct.unpack_from(LOG_HEADER, data))
        if self.header[0] != LOG_MAGIC or self.header[5] != xxh64(data[:24]):
            raise ValueError(f'{path}: bad header')
        self.chunks, at = [], 32        # each a list of entries
        while at < len(data):
            magic, packed, _, raw, events, digest = struct.unpack_from(CHUNK_HEADER, data, at)
            body = data[at + 32:at + 32 + packed]
            if magic != CHUNK_MAGIC or digest != xxh64(data[at:at + 24] + body):
                raise ValueError(f'{path}: bad chunk at {at}')
            plain, entries, pos = unpack(body, raw), [], 0
            while pos < raw:
                size = struct.unpack_from('<I', plain, pos)[0]
                if size < 16 or size % 8:
                    raise ValueError(f'{path}: bad entry at {at}')
                entries.append(Entry(plain[pos:pos + size]))
                pos += size
            if len(entries) != events:
                raise ValueError(f'{path}: chunk at {at} holds {len(entries)} entries, says {events}')
            self.chunks.append(entries)
            at += 32 + packed

    def entries(self):
        return [entry for chunk in self.chunks for entry in chunk]

    def write(self):
        """Write it back with every length and checksum right."""
        head = struct.pack(LOG_HEADER, *self.header)[:24]
        out, position = head + struct.pack('<Q', xxh64(head)), 0
        for entries in self.chunks:
            for entry in entries:
                entry.put('<I', 0, len(entry.data))
            plain = b''.join(bytes(e.data) for e in entries)
            body = pack(plain)
            front = struct.pack(CHUNK_HEADER, CHUNK_MAGIC, len(body), position, len(plain), len(entries), 0)[:24]
            out += front + struct.pack('<Q', xxh64(front + body)) + body
            position += len(plain)
        with open(self.path, 'wb') as file:
            file.write(out)


def get_numbers(data):
    """All LEB128 numbers of some bytes."""
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers


def put_numbers(numbers):
    out = bytearray()
    for n in numbers:
        while n >= 128:
            out.append(n & 127 | 128)
            n >>= 7
        out.append(n)
    return bytes(out)


class OrderLog:
    """The order log of a thread: what its ENTRY_ORDER entries hold, as a list of [event, numbers...]."""

    def __init__(self, log):
        self.log = log
        self.pieces = [e for e in log.entries() if e.kind == ENTRY_ORDER]
        numbers = get_numbers(b''.join(bytes(e.data[24:24 + e.result]) for e in self.pieces))
        self.entries, at, event = [], 0, 0
        while at < len(numbers):
            event += numbers[at] >> 4
            self.entries.append([event, *numbers[at + 1:at + 1 + (numbers[at] & 15)]])
            at += 1 + (numbers[at] & 15)

    def write(self):
        """Put the entries back, all into the first piece: replay does not mind where they are cut."""
        numbers, before = [], 0
        for event, *rest in self.entries:
            numbers += [(event - before) << 4 | len(rest), *rest]
            before = event
        data = put_numbers(numbers)
        for n, piece in enumerate(self.pieces):
            if n or not data:
                next(chunk for chunk in self.log.chunks if piece in chunk).remove(piece)
            else:
                piece.put('<q', 8, len(data))
                piece.data[24:] = data + bytes(-len(data) % 8)
        self.log.write()


def logs(trace):
    return sorted(glob.glob(os.path.join(trace, 'p*.t*.log')))


def copy(trace, to):
    """A copy of a trace that shares no file that a test then writes: hard links, broken by rewrite()."""
    for folder, _, files in os.walk(trace):
        target = os.path.join(to, os.path.relpath(folder, trace))
        os.makedirs(target, exist_ok=True)
        for name in files:
            os.link(os.path.join(folder, name), os.path.join(target, name))


def rewrite(path, data):
    """Replace a file without touching what other names it has."""
    mode = os.stat(path).st_mode & 0o777
    os.unlink(path)
    with open(path, 'wb') as file:
        file.write(data)
    os.chmod(path, mode)


def change_meta(trace, change=lambda meta: None):
    """Let change(meta) edit meta.json, then seal it: the list of streams as they are now, and the checksum."""
    path = os.path.join(trace, 'meta.json')
    with open(path) as file:
        meta = json.load(file)
    meta['streams'] = []
    for name in sorted(logs(trace), key=lambda n: list(map(int, re.findall(r'/p(\d+)\.t(\d+)', n)[-1]))):
        entries = Log(name).entries()
        image, slot = map(int, re.findall(r'/p(\d+)\.t(\d+)', name)[-1])
        meta['streams'].append({'image': image, 'slot': slot, 'raw': sum(len(e.data) for e in entries), 'events': len(entries)})
    change(meta)
    del meta['checksum']
    rest = json.dumps(meta, separators=(',', ':'), ensure_ascii=False).encode()
    meta['checksum'] = f'{xxh64(rest):016x}'
    rewrite(path, json.dumps(meta, indent=1, ensure_ascii=False).encode())
