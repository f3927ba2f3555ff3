"""heddle pack: a recording that is carried elsewhere."""
import os
import shutil
import signal
import subprocess
import tarfile
import time

import tracefile
from harness import CANNOT, USAGE, end_session

LIBRARY = 'int secret(void) { return 7; }\n'
PROGRAM = '#include <stdio.h>\n#include <time.h>\nint secret(void);\n' \
          'int main(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); printf("%d %ld\\n", secret(), t.tv_nsec); return 3; }\n'


def build(t):
    """A program with a library of its own."""
    folder = t.folder('there')
    for name, text in (('secret.c', LIBRARY), ('program.c', PROGRAM)):
        with open(os.path.join(folder, name), 'w') as file:
            file.write(text)
    library = os.path.join(folder, 'libsecret.so')
    t.run_well(['gcc', '-shared', '-fPIC', '-o', library, os.path.join(folder, 'secret.c')])
    t.run_well(['gcc', '-o', os.path.join(folder, 'program'), os.path.join(folder, 'program.c'), library, f'-Wl,-rpath,{folder}'])
    return folder


def packed(t):
    folder = build(t)
    recorded = t.record([os.path.join(folder, 'program')])
    t.check(recorded.status == 3, f'recording: {recorded}')
    t.run_well([t.heddle, 'pack', '-o', t.path('file.heddle'), t.path('trace')])
    return folder, recorded


def case_pack_elsewhere(t):
    """Program and trace are gone, the library is another one: the pack has them all."""
    folder, recorded = packed(t)
    os.remove(os.path.join(folder, 'program'))
    with open(os.path.join(folder, 'libsecret.so'), 'w') as file:
        file.write('no library')
    shutil.rmtree(t.path('trace'))
    t.env['HEDDLE_TRACE_DIR'] = t.folder('home')
    opened = t.run_well([t.heddle, 'pack', '--open', t.path('file.heddle')])
    t.check(b'trace-1' in opened.err, f'{opened}')
    replayed = t.run([t.heddle, 'replay', 'trace-1'])
    t.check(replayed.out == recorded.out and replayed.status == 3, f'recorded {recorded}, replayed {replayed}')
    again = t.run_well([t.heddle, 'pack', '--open', '-o', t.path('other'), t.path('file.heddle')])
    t.check(os.path.exists(t.path('other', 'meta.json')), f'{again}')


def case_pack_of_tar(t):
    """It is an archive that tar opens, and what comes out is the trace."""
    _, recorded = packed(t)
    t.run_well(['sh', '-c', f'zstd -q -d < {t.path("file.heddle")} > {t.path("plain.tar")}'])
    with tarfile.open(t.path('plain.tar')) as archive:
        archive.extractall(t.path('out'))
    names = os.listdir(t.path('out'))
    t.check(len(names) == 1, f'{names}')
    replayed = t.run([t.heddle, 'replay', t.path('out', names[0])])
    t.check(replayed.out == recorded.out, f'{replayed}')


def case_pack_another_processor(t):
    """A feature that this processor lacks: refused by its name, at --open and at replay."""
    packed(t)
    tracefile.copy(t.path('trace'), t.path('better'))
    lacking = 'avx999' if os.uname().machine == 'x86_64' else 'sve999'
    tracefile.change_meta(t.path('better'), lambda meta: meta['machine'].update(features=meta['machine']['features'] + ' ' + lacking))
    replayed = t.run([t.heddle, 'replay', t.path('better')])
    t.check(replayed.status == CANNOT and lacking.encode() in replayed.err, f'{replayed}')
    t.run_well([t.heddle, 'pack', '-o', t.path('better.heddle'), t.path('better')])
    opened = t.run([t.heddle, 'pack', '--open', '-o', t.path('opened'), t.path('better.heddle')])
    t.check(opened.status == CANNOT and lacking.encode() in opened.err and not os.path.exists(t.path('opened')), f'{opened}')


def case_pack_bad_input(t):
    packed(t)
    with open(t.path('file.heddle'), 'rb') as file:
        data = file.read()
    damaged = {'cut': data[:len(data) // 2], 'changed': data[:200] + bytes([data[200] ^ 1]) + data[201:], 'empty': b'', 'text': b'hello' * 100}
    for name, content in damaged.items():
        with open(t.path(name), 'wb') as file:
            file.write(content)
        outcome = t.run([t.heddle, 'pack', '--open', '-o', t.path('new'), t.path(name)])
        t.check(outcome.status == CANNOT and b'heddle: ' in outcome.err, f'{name}: {outcome}')
        t.check(not os.path.exists(t.path('new')), f'{name}: something is left')
    with tarfile.open(t.path('evil.tar'), 'w', format=tarfile.USTAR_FORMAT) as archive:
        archive.add(t.path('text'), arcname='x/../../evil')
    t.run_well(['zstd', '-q', '-o', t.path('evil'), t.path('evil.tar')])
    outcome = t.run([t.heddle, 'pack', '--open', '-o', t.path('new'), t.path('evil')])
    t.check(outcome.status == CANNOT and not os.path.exists(t.path('new')), f'a way out: {outcome}')
    for words, status in ((['--open'], USAGE), ([t.path('nothing')], CANNOT), (['-o', t.path('file.heddle'), t.path('trace')], CANNOT)):
        outcome = t.run([t.heddle, 'pack', *words])
        t.check(outcome.status == status, f'{words}: {outcome}')
    with open(t.path('file.heddle'), 'rb') as file:
        t.check(file.read() == data, 'a pack that was there has been written over')


def end_in_the_middle(t, argv, folder, final):
    """Stopped at its first file in the folder, where nothing is called `final` yet; then told to end: nothing stays."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=t.env, cwd=t.dir, start_new_session=True)
    try:
        while process.poll() is None and not os.listdir(folder):
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGSTOP)
        seen = os.listdir(folder)
        t.check(seen and final not in seen, f'{argv[1:3]}: {seen} are there before it is whole')
        os.kill(process.pid, signal.SIGTERM)
        os.kill(process.pid, signal.SIGCONT)
        process.wait(60)
    finally:
        end_session(process)
    t.check(process.returncode == -signal.SIGTERM and not os.listdir(folder), f'{argv[1:3]}: status {process.returncode}, left {os.listdir(folder)}')


def case_pack_interrupted(t):
    """Neither a half of a pack nor a half of a trace is ever there under its name, or as the latest."""
    t.record(['head', '-c', '40000000', '/dev/urandom'])
    packs, home = t.folder('packs'), t.folder('home')
    end_in_the_middle(t, [t.heddle, 'pack', '-o', os.path.join(packs, 'file'), t.path('trace')], packs, 'file')
    t.run_well([t.heddle, 'pack', '-o', t.path('file'), t.path('trace')])
    t.env['HEDDLE_TRACE_DIR'] = home
    end_in_the_middle(t, [t.heddle, 'pack', '--open', t.path('file')], home, 'trace-1')
    t.run_well([t.heddle, 'pack', '--open', t.path('file')])
    t.check(sorted(os.listdir(home)) == ['latest', 'trace-1'], f'{os.listdir(home)}')


def case_pack_long_name(t):
    """A program whose name does not fit into the 100 bytes that a tar archive has for one."""
    t.env['HEDDLE_TRACE_DIR'] = t.folder('home')
    for length in (60, 95, 170):
        name = 'n' * length
        shutil.copy('/bin/echo', t.path(name))
        t.run_well([t.heddle, 'record', '--', t.path(name), 'hello'])
        t.run_well([t.heddle, 'pack', '-o', t.path(f'{length}.heddle'), f'{name}-1'])
        opened = t.run_well([t.heddle, 'pack', '--open', t.path(f'{length}.heddle')])
        t.check(t.run([t.heddle, 'replay']).out == b'hello\n' and b'nnn' in opened.err, f'{opened}')
        t.run_well(['sh', '-c', f'zstd -q -d < {t.path(f"{length}.heddle")} | tar -t'])
