"""interpose/libc/functions.list: every function that this machine's libc exports is classified, and the stubs made from
it leave programs as they are. The stubs run here without Heddle, with plain locks for sections (libc/port.c)."""
import collections
import importlib.util
import os
import platform
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARCH = platform.machine()


def generator():
    spec = importlib.util.spec_from_file_location('libc_generate', os.path.join(ROOT, 'interpose/libc/generate.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def libc_path():
    with open('/proc/self/maps') as maps:
        return next(line.split()[-1] for line in maps if re.search(r'/libc(-[\d.]+)?\.so(\.6)?$', line.rstrip()))


def case_every_function_is_classified(t):
    """Names each function that libc exports and the list does not have, and each line that means nothing."""
    out = t.run_well(['nm', '-D', '--defined-only', libc_path()]).out.decode()
    exported = {line.split()[2].split('@')[0] for line in out.splitlines() if line.split()[1] in 'TWi'}
    t.check(len(exported) > 2000, f'nm shows only {len(exported)} functions of {libc_path()}')
    functions = generator().read()
    names = collections.Counter(f.name for f in functions)
    wrong = [f'{f.name}: {f.problem()}' for f in functions if f.problem()]
    wrong += [f'{name}: twice' for name, n in names.items() if n > 1]
    wrong += [f'{name}: not classified' for name in sorted(exported - set(names))]
    t.check(not wrong, 'interpose/libc/functions.list:\n' + '\n'.join(wrong))


case_every_function_is_classified.quick = True


def build(t, arch, compiler):
    """The stubs with libc/port.c as a library to preload; the compilers' folders keep apart what they make."""
    folder = t.path(f'stubs-{arch}')
    os.makedirs(f'{folder}/interpose/libc', exist_ok=True)
    t.run_well([sys.executable, f'{ROOT}/interpose/libc/generate.py', arch, f'{folder}/stubs.S', f'{folder}/interpose/libc/functions.h'])
    flags = ['-std=gnu17', '-O2', '-g', '-I.', f'-I{folder}', '-fPIC', '-fvisibility=hidden', '-fno-stack-protector', '-Wall', '-Wextra',
             '-Werror', '-Wno-missing-field-initializers']
    objects = []
    for source in ('interpose/libc/sections.c', 'interpose/libc/special.c', 'tests/unit/libc/port.c', f'interpose/libc/{arch}.S',
                   f'{folder}/stubs.S'):
        general = ['-mgeneral-regs-only'] if source.endswith(('sections.c', 'port.c')) else []
        objects.append(os.path.join(folder, os.path.basename(source) + '.o'))
        t.run_well([*compiler, *flags, *general, '-c', '-o', objects[-1], source], cwd=ROOT)
    library = f'{folder}/stubs.so'
    t.run_well([*compiler, '-shared', '-o', library, *objects, '-Wl,-z,now', '-Wl,-z,defs', '-Wl,-z,noexecstack'], cwd=ROOT)
    return library


def compare(t, library, argv, *, stdin=b'', single=False, cwd=None):
    """The command does the same with the stubs as without."""
    env = dict(os.environ, **({'LIBC_SINGLE': '1'} if single else {}))
    plain = t.run(argv, stdin=stdin, cwd=cwd, env=env)
    env['LD_PRELOAD'] = library
    wrapped = t.run(argv, stdin=stdin, env=env, cwd=cwd)
    t.check((plain.status, plain.out, plain.err) == (wrapped.status, wrapped.out, wrapped.err),
            f'{" ".join(argv)[:200]}: with the stubs of libc functions:\n{wrapped}\n{wrapped.out.decode(errors="replace")[-1500:]}\n'
            f'without:\n{plain}\n{plain.out.decode(errors="replace")[-1500:]}')
    return wrapped


def case_libc_stubs_awkward(t):
    """Exceptions, longjmp, cancellation, many arguments, RTLD_NEXT, ...: libc/awkward.cpp."""
    library = build(t, ARCH, ['gcc'])
    source, folder = f'{ROOT}/tests/unit/libc', t.path('.')
    t.run_well(['gcc', '-shared', '-fPIC', '-o', f'{folder}/libtwo_by_runpath.so', f'{source}/two.c'])
    t.run_well(['gcc', '-shared', '-fPIC', '-o', f'{folder}/libthree.so', f'{source}/two.c'])
    t.run_well(['gcc', '-shared', '-fPIC', '-o', f'{folder}/libone.so', f'{source}/one.c', '-Wl,-rpath,$ORIGIN', f'-L{folder}', '-lthree'])
    t.run_well(['g++', '-O1', '-g', '-w', '-o', f'{folder}/awkward', f'{source}/awkward.cpp', '-pthread', f'-L{folder}',
                '-Wl,--no-as-needed', '-lone', '-lthree',
                '-Wl,-rpath,$ORIGIN'])
    for single in (False, True):
        outcome = compare(t, library, [f'{folder}/awkward', folder], single=single)
        t.check(outcome.status == 0 and b'WRONG' not in outcome.out, outcome.out.decode())
        t.check(not re.search(rb'held [1-9]', outcome.out), 'a section was kept:\n' + outcome.out.decode())


case_libc_stubs_awkward.quick = True


def case_libc_stubs_real_programs(t):
    library = build(t, ARCH, ['gcc'])
    folder = t.path('work')
    os.makedirs(folder)
    text = b''.join(b'%d line of text %x\n' % (n * 7919 % 1000, n) for n in range(3000))
    with open(f'{folder}/text', 'wb') as file:
        file.write(text)
    with open(f'{folder}/a.c', 'w') as file:
        file.write('#include <stdio.h>\nint main(void) { printf("%g\\n", 1.5); return 3; }\n')
    python = '/usr/bin/python3' if os.path.exists('/usr/bin/python3') else sys.executable
    commands = [
        ['sort', '-n', 'text'], ['awk', '{ n += $1; print substr($0, 3) } END { print n }', 'text'], ['grep', '-c', 'line.*7', 'text'],
        ['sed', 's/line/LINE/g', 'text'], ['date', '-d', '@86400', '+%Y-%m-%d %Z'], ['ls', '-l', '/usr/lib'], ['find', '/etc', '-maxdepth', '1', '-name', 'p*'],
        ['bash', '-c', 'for i in 1 2 3; do echo $i | cat; done; printf "%s %d\\n" a 5; read x < text; echo $x; (exit 4)'],
        ['perl', '-e', 'use POSIX; srand 5; print strftime("%Y", gmtime 0), " ", sprintf("%.3f", sin 1), "\\n"; open F, "text"; '
         'print scalar(() = <F>), "\\n"; print getpwuid(0), "\\n"; $ENV{X}=1; print `echo $ENV{X}`;'],
        [python, '-c', 'import threading, subprocess, time, os, locale, pwd, socket, ctypes\n'
         'locale.setlocale(locale.LC_ALL, "")\n'
         'ts = [threading.Thread(target=lambda: [time.strftime("%Y", time.gmtime(0)) for _ in range(500)]) for _ in range(4)]\n'
         '[x.start() for x in ts]; [x.join() for x in ts]\n'
         'print(pwd.getpwuid(0).pw_name, socket.getaddrinfo("127.0.0.1", 80)[0][4], os.popen("echo x").read())\n'
         'c = ctypes.CDLL(None); c.puts(b"through ctypes"); c.fflush(None); libc = ctypes.CDLL("libc.so.6"); libc.printf(b"%d\\n", 5)\n'
         'print(subprocess.run(["cat"], input=b"y", stdout=-1).stdout)'],
        ['gcc', '-O2', '-o', 'a', 'a.c'], ['./a'], ['git', '--version'], ['git', 'init', '-q', 'repository'],
        ['git', '-C', 'repository', 'log'], ['sqlite3', ':memory:', 'create table t(a); insert into t values(1.5),(2); select sum(a), datetime(0, "unixepoch") from t;'],
        ['tar', 'cf', '-', '--sort=name', '--mtime=@0', 'text'], ['gzip', '-nc', 'text'], ['xz', '-T2', '-c', 'text'], ['make', '-f', '/dev/null'], ['id'],
        ['man', '--version'], ['stdbuf', '-oL', 'cat', 'text'], ['getent', 'passwd', 'root'], ['env', 'LC_ALL=C.UTF-8', 'cat', '/nonexistent'],
    ]
    done = 0
    for argv in commands:
        if any(os.access(os.path.join(p, argv[0]), os.X_OK) for p in os.environ['PATH'].split(':')) or '/' in argv[0]:
            for single in (False, True):
                compare(t, library, argv, single=single, cwd=folder)
            done += 1
    t.check(done > 15, f'only {done} programs were found')
    t.notes.append(f'{done} commands')


def case_libc_stubs_compile_elsewhere(t):
    other = 'x86_64' if ARCH == 'aarch64' else 'aarch64'
    build(t, other, [f'{other}-linux-gnu-gcc'])
