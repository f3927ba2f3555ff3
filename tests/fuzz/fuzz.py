"""Every reader of something that a trace holds, fed with damaged bytes, under ASan and UBSan.

The targets are in targets/; `make fuzz` builds them. Seeds are parts of real traces. `make test` makes a fixed number
of runs from a fixed seed by libFuzzer; soak runs each target for a time, an hour at full scale by libFuzzer and another
by AFL++, and keeps what it has learned in BUILD/fuzz-corpus and BUILD/fuzz-corpus-afl. Both begin a new process now and
then, since a reader that ends with a message leaves its memory behind.
"""
import io
import os
import re
import shutil
import struct
import subprocess
import tarfile
import threading
import time

import tracefile
from harness import ROOT, Failure

RUNS = {'where': 300, 'sites': 500, 'ring': 500}       # large inputs
SECONDS = 3600
AT_ONCE = 300
LEAVES_MEMORY = {'pack': 20000}       # inputs at once: each leaves some 40 kB
AFL_INPUTS = 20000                    # the same for AFL++, which has no clock for it
_building = threading.Lock()


def build(t, *how):
    with _building:     # make itself sees what is there already
        done = subprocess.run(['make', '-s', '-j2', '-C', ROOT, f'BUILD={os.path.abspath(t.settings.build)}', 'fuzz', *how],
                              capture_output=True, text=True)
    if done.returncode:
        raise Failure(f'make fuzz: {done.stdout[-500:]}{done.stderr[-1500:]}')


def archive(trace):
    """A pack of the trace without its large files, as a tar that is not yet packed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w', format=tarfile.USTAR_FORMAT) as tar:
        for name in ('meta.json', 'p0.t0.log'):
            tar.add(os.path.join(trace, name), f'trace-1/{name}')
        info = tarfile.TarInfo('trace-1/files/1.2.3')
        info.size = 3
        tar.addfile(info, io.BytesIO(b'abc'))
    return out.getvalue()


def ring(entries):
    """As ring.c wants it: magic, version, arch, image, slot, pid, head, events, tail."""
    header = struct.pack('<QIIIIQQQQ', 0, 0, 0, 0, 0, 1, len(entries), 1, 0)
    return header.ljust(16384, b'\0') + entries


def with_gap(log):
    """The log without its middle, as --ring leaves it: the first chunk and the last."""
    at, chunks = 32, []
    while at < len(log):
        packed, position, raw, events = struct.unpack_from('<IQII', log, at + 4)
        chunks.append((log[at:at + 32 + packed], position, raw, events))
        at += 32 + packed
    header = struct.pack('<Q', tracefile.LOG_CUT_MAGIC) + log[8:24] + struct.pack('<QQQ', chunks[0][2], chunks[-1][1],
                                                                                sum(chunk[3] for chunk in chunks[:-1]))
    return header + struct.pack('<Q', tracefile.xxh64(header)) + chunks[0][0] + chunks[-1][0]


def seeds(t, target):
    """[bytes]: what the target would get from a trace that is whole."""
    source = os.path.join(ROOT, 'tests', 'hostile', 'parts', 'racing.c')
    program = t.path('racing')
    t.run_well([os.path.join(t.settings.build, 'bin', 'heddle-cc'), '-g1', '-o', program, source, '-pthread'], timeout=120)
    if target in ('elf', 'sites', 'where'):
        found = [t.path('racing')] if target != 'elf' else ['/bin/true', '/usr/bin/ldd']
        return [open(name, 'rb').read()[:4096 if target == 'elf' else None] for name in found]
    recorded = t.run([t.heddle, 'record', '-o', t.path('trace'), '--', 'sh', '-c', f'timeout -s KILL 0.2 {program} | head -c 3000; date'],
                     timeout=60)
    t.check(recorded.status == 0, f'{recorded}')
    if target == 'meta':
        return [open(t.path('trace', 'meta.json'), 'rb').read()]
    if target == 'pack':
        return [archive(t.path('trace'))]
    found = []
    for path in tracefile.logs(t.path('trace')):
        if target == 'log':
            found.append(open(path, 'rb').read())
            found.append(with_gap(found[-1]))
            continue
        entries = [bytes(e.data) for e in tracefile.Log(path).entries()]
        some = b''.join(e for e in entries[:400] if len(e) < 4096)
        found.append(ring(some) if target == 'ring' else b'\0' + some)
    return [one for one in found if len(one) < 200000]


def fuzz(t, target):
    build(t)
    soak = t.settings.level == 'soak'
    corpus = t.path('corpus')
    os.makedirs(corpus)
    for number, data in enumerate(seeds(t, target)):
        with open(os.path.join(corpus, f'seed-{number}'), 'wb') as file:
            file.write(data)
    if not soak:
        t.notes.append(f'{session(t, target, corpus, ["-seed=1", f"-runs={RUNS.get(target, 2000)}"], 400)} inputs')
        return
    t.notes.append(f'{with_afl(t, target, corpus)} inputs by AFL++')
    t.notes.append(f'{with_libfuzzer(t, target, corpus)} inputs by libFuzzer')


def with_libfuzzer(t, target, seeds_of_target):
    corpus = os.path.join(os.path.abspath(t.settings.build), 'fuzz-corpus', target)
    shutil.copytree(seeds_of_target, corpus, dirs_exist_ok=True)
    ends, tried = time.monotonic() + t.count(0, SECONDS), 0
    while ends > time.monotonic():
        seconds = int(min(AT_ONCE, ends - time.monotonic() + 1))
        how = [f'-max_total_time={seconds}', f'-runs={LEAVES_MEMORY.get(target, -1)}']
        tried += session(t, target, corpus, how, seconds + 400)
    return tried


def with_afl(t, target, corpus):
    build(t, 'FUZZ_CC=afl-clang-fast')
    out = os.path.join(os.path.abspath(t.settings.build), 'fuzz-corpus-afl', target)
    os.makedirs(out, exist_ok=True)
    seconds = t.count(0, SECONDS)
    settings = {'AFL_AUTORESUME': 1, 'AFL_NO_UI': 1, 'AFL_NO_AFFINITY': 1, 'AFL_SKIP_CPUFREQ': 1,
                'AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES': 1,         # a core_pattern with a pipe makes them late, not missing
                'ASAN_OPTIONS': 'abort_on_error=1:symbolize=0:detect_leaks=0', 'UBSAN_OPTIONS': 'abort_on_error=1:halt_on_error=1:symbolize=0'}
    outcome = t.run(['env', *(f'{name}={value}' for name, value in settings.items()), 'afl-fuzz', '-i', corpus, '-o', out, '-m', 'none', '-t', '60000',
                     '-V', str(seconds), '--', os.path.join(t.settings.build, 'fuzz-afl', target), f'-{AFL_INPUTS}'], timeout=seconds + 600)
    t.check(outcome.status == 0, f'{outcome}: {outcome.out.decode(errors="replace")[-2000:]}')
    with open(os.path.join(out, 'default', 'fuzzer_stats')) as file:
        stats = dict(re.findall(r'^(\w+)\s*: (.*)$', file.read(), re.M))
    found = int(stats['saved_crashes']) + int(stats['saved_hangs'])
    t.check(not found, f'{found} inputs at which it crashes or hangs, kept in {out}/default')
    return int(stats['execs_done'])


def session(t, target, corpus, how, timeout):
    """How many inputs were tried."""
    found = t.path('found')
    os.makedirs(found, exist_ok=True)
    # libraries may leave memory behind when die() comes back
    outcome = t.run(['env', 'ASAN_OPTIONS=detect_leaks=0', os.path.join(t.settings.build, 'fuzz', target), '-rss_limit_mb=2048', '-timeout=60', '-max_len=300000',
                     f'-artifact_prefix={found}/', *how, corpus], timeout=timeout)
    tried = re.search(rb'stat::number_of_executed_units:\s*(\d+)|Done (\d+) runs', outcome.err)
    if outcome.status or os.listdir(found):
        keep = os.path.join(os.path.abspath(t.settings.build), 'fuzz-found', target)
        shutil.copytree(found, keep, dirs_exist_ok=True)
        raise Failure(f'kept in {keep}: {outcome.err.decode(errors="replace")[-3000:]}')
    t.check(tried, f'nothing was run: {outcome}')
    return int(next(filter(None, tried.groups())))


def case_elf(t):
    fuzz(t, 'elf')


def case_entries(t):
    fuzz(t, 'entries')


def case_log(t):
    fuzz(t, 'log')


def case_meta(t):
    fuzz(t, 'meta')


def case_pack(t):
    fuzz(t, 'pack')


def case_ring(t):
    fuzz(t, 'ring')


def case_sites(t):
    fuzz(t, 'sites')


def case_where(t):
    fuzz(t, 'where')
