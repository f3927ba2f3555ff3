"""heddle-cc: programs behave as clang's, whatever the hooks do; builds of all kinds keep their hooks; sites and
doctor."""
import json
import os
import platform
import re
import shutil

import cells
from harness import ROOT

PARTS = os.path.join(ROOT, 'tests', 'compiler', 'parts')
PROGRAMS = ['answers.c', 'assembler.c', 'atomics.c', 'callbacks.c', 'classes.cpp', 'containers.cpp', 'corners.c', 'first_access.c', 'formats.c', 'jumps.c', 'lines.c', 'loops.c', 'nests.c', 'scans.c', 'strings.c', 'text.c', 'thread_local.c', 'types.c', 'vectors.c']
# How they are built. The hooks must not be seen in any of these.
WAYS = {
    'O2': ['-O2'],
    'O0': ['-O0'],
    'native': ['-O3', '-march=native'],
    'per-file': ['--per-file', '-O2'],
    'escape': ['-O2', '--select=escape'],
    'races': ['-O2', '--select=races'],
    'none': ['-O2', '--select=none'],
}
RACY = '''#include <pthread.h>
#include <stdio.h>
int x;
static void *work(void *arg)
{
	for (int i = 0; i < 100; i++)
		x++;
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	work(0);
	pthread_join(t, 0);
	return x > 200;
}
'''


def tool(t, name):
    return os.path.join(t.settings.build, 'bin', name)


def compiler(t, source):
    return (tool(t, 'heddle-c++'), 'clang++-19') if source.endswith('.cpp') else (tool(t, 'heddle-cc'), 'clang-19')


def hooked_part(t, name):
    """A program of parts/ with every access hooked."""
    t.run_well([tool(t, 'heddle-cc'), '--select=all', '-O2', '-g', '-pthread', f'-I{ROOT}/tests/bugs', '-o', t.path(name), os.path.join(PARTS, f'{name}.c')])
    return t.path(name)


def write(t, name, text):
    os.makedirs(os.path.dirname(t.path(name)), exist_ok=True)
    with open(t.path(name), 'w') as file:
        file.write(text)
    return t.path(name)


def doctor(t, program):
    return json.loads(t.run_well([t.heddle, 'doctor', '--json', program]).out)


def need_hooks(t, program, least=1):
    built = doctor(t, program)
    t.check(built['heddle-cc'] and built['hooked'] >= least, f'{program}: {built}')
    return built


def test_runtime(t):
    """The preloaded library that performs hooked accesses: parts/runtime.c."""
    library = t.path('runtime.so')
    t.run_well(['clang-19', '-O2', '-fPIC', '-shared', '-fvisibility=hidden', '-Wall', '-Wextra', '-Werror', f'-I{ROOT}', '-o', library,
                os.path.join(PARTS, 'runtime.c'), *(['-mcx16'] if os.uname().machine == 'x86_64' else [])])
    return library


# ---- the meaning of programs -----------------------------------------------------------------------------------------

def same_as_clang(t, source):
    heddle, clang = compiler(t, source)
    path = os.path.join(PARTS, source)
    wide = ['-mcx16'] if os.uname().machine == 'x86_64' else []
    t.run_well([clang, '-w', '-O2', '-pthread', *wide, path, '-o', t.path('plain'), '-latomic'], timeout=120)
    plain = t.run_well([t.path('plain')])
    t.check(plain.out, 'it prints nothing')
    library = test_runtime(t)
    for way, flags in WAYS.items():
        program = t.path(way)
        t.run_well([heddle, '-w', *flags, '-pthread', *wide, path, '-o', program, '-latomic'], timeout=300)
        events = set()
        for hooks in (None, 'perform', 'decline', 'mixed'):
            env = dict(t.env, **({'LD_PRELOAD': library, 'HEDDLE_TEST': hooks} if hooks else {}))
            outcome = t.run([program], env=env, timeout=120)
            t.check(outcome.status == 0 and outcome.out == plain.out,
                    f'{way}, hooks {hooks}: {outcome}\nclang:  {plain.out!r}\nheddle: {outcome.out!r}')
            if hooks:
                events.add(re.search(rb'(\d+) events, (\d+) polls', outcome.err).groups())
        # Which side an access takes must not change the count, or a replay would not find its place.
        if source not in ('jumps.c', 'atomics.c', 'classes.cpp', 'thread_local.c'):       # these have other rounds in every run
            t.check(len(events) == 1, f'{way}: events differ: {events}')


for _source in PROGRAMS:
    def _case(t, source=_source):
        same_as_clang(t, source)
    globals()[f'case_meaning_of_{os.path.splitext(_source)[0]}'] = _case
del _case, _source


def case_racy_is_hooked(t):
    """The plainest program there is: its sites are what they are in the source."""
    source = write(t, 'racy.c', RACY)
    t.run_well([tool(t, 'heddle-cc'), '-O1', '-fno-inline', '-pthread', source, '-o', t.path('racy')])
    sites = [json.loads(line) for line in t.run_well([t.heddle, 'dump', '--sites', '--json', t.path('racy')]).out.splitlines()]
    loop = [(s['kind'], s['size']) for s in sites if s['function'] == 'work' and s['hooked'] and s['line'] == 7]
    t.check(loop[:1] in ([('load', 4)], [('store', 4)]) and ('store', 4) in loop, f'line 7 of work: {loop}')
    t.check(all(s['file'] == source for s in sites if s['line']), f'{sites}')
    t.check([s['id'] for s in sites] == list(range(len(sites))), 'ids are not the places in the table')
    text = t.run_well([t.heddle, 'dump', '--sites', '--why', t.path('racy')]).out.decode()
    t.check(f'{source}:7:' in text and len(text.splitlines()) == len(sites), text)


case_racy_is_hooked.quick = True


def case_escape(t):
    """parts/escaping.c says at each line what becomes of its accesses: `kept`, or `out: REASON`, or both."""
    source = os.path.join(PARTS, 'escaping.c')
    with open(source) as file:
        wanted = {n: m.group(1).strip() for n, line in enumerate(file, 1) if (m := re.search(r'// (.*)', line))}
    t.check(len(wanted) > 30, 'the comments are not found')
    t.run_well([tool(t, 'heddle-cc'), '-O0', '--select=escape', '-pthread', source, '-o', t.path('escaping')])
    t.run_well([t.path('escaping')])
    sites = [json.loads(line) for line in t.run_well([t.heddle, 'dump', '--sites', '--json', t.path('escaping')]).out.splitlines()]
    sites = [s for s in sites if s['kind'] != 'poll' and 'local variable' not in s.get('why', '') and 'constant' not in s.get('why', '')]
    wrong = []
    for line, text in wanted.items():
        here = [s for s in sites if s['line'] == line]
        kept, out = any(s['hooked'] for s in here), [s['why'] for s in here if not s['hooked']]
        reason = (re.search(r'out: ([^;]*)', text) or [None, None])[1]
        if kept != ('kept' in text) or (reason and (not out or not all(reason in why for why in out))):
            wrong.append(f'line {line}: wanted "{text}", kept {kept}, out {out}')
    t.check(not wrong, '\n'.join(wrong))
    for flags in (['-O2'], ['-O3', '-fno-inline']):     # whatever the optimiser makes of it, what is raced for is hooked
        t.run_well([tool(t, 'heddle-cc'), *flags, '--select=escape', '-pthread', source, '-o', t.path('escaping')])
        sites = [json.loads(line) for line in t.run_well([t.heddle, 'dump', '--sites', '--json', t.path('escaping')]).out.splitlines()]
        races = {n for n, text in wanted.items() if text == 'kept' and 'counter++' in open(source).read().splitlines()[n - 1]}
        lost = [n for n in races if not any(s['hooked'] for s in sites if s['line'] == n)]
        t.check(not lost, f'{flags}: not hooked: lines {lost}')


# ---- ways to build --------------------------------------------------------------------------------------------------

def case_options(t):
    """Each of clang's ways to be called gives what clang gives, or something with hooks."""
    cc = tool(t, 'heddle-cc')
    a = write(t, 'a.c', '#include "a.h"\nint counter;\nint add(int n) { return counter += n; }\n')
    write(t, 'a.h', '#define START 1\n')
    main = write(t, 'main.c', '#include <stdio.h>\nint add(int);\nint main(void) { return printf("%d\\n", add(3)) != 2; }\n')

    for words in (['-E', a], ['-M', a], ['-MM', a], ['-fsyntax-only', a], ['-dumpmachine'], ['--print-prog-name=ld'], ['-v']):
        ours, theirs = t.run([cc, *words]), t.run(['clang-19', *words])
        t.check((ours.status, ours.out, ours.err) == (theirs.status, theirs.out, theirs.err), f'{words}: {ours}\n{theirs}')

    def links(*words, stdin=b'', least=2):
        if os.path.exists(t.path('program')):
            os.remove(t.path('program'))
        t.run_well([cc, '-o', t.path('program'), *words], stdin=stdin)
        t.check(t.run([t.path('program')]).out == b'3\n', f'{words}')
        return need_hooks(t, t.path('program'), least)

    links(a, main)
    t.run_well([cc, '-c', '-O2', a, '-o', t.path('a.o')])
    t.run_well([cc, '-c', '-O2', main])
    links(t.path('a.o'), t.path('main.o'))
    links('-O2', a, '-x', 'c', '-', stdin=open(main, 'rb').read())
    write(t, 'words', f'-O1 "{a}"\n{main} -DX=\\"y\\"')
    links('@' + t.path('words'))
    links('-static', a, main)
    links('-static-pie', a, main)
    links('-no-pie', a, main)
    links('-Wl,--gc-sections', '-ffunction-sections', '-fdata-sections', a, main)
    links('-s', a, main)
    links('-g3', '-O3', a, main)
    # partial links, with and without more bitcode to come
    t.run_well([cc, '-r', t.path('a.o'), '-o', t.path('partial.o')])
    links(t.path('partial.o'), t.path('main.o'))
    need_hooks(t, t.path('partial.o'))
    # assembler text
    t.run_well([cc, '-S', '-O2', a, '-o', t.path('a.s')])
    t.check('__heddle_self' in open(t.path('a.s')).read(), 'no hooks in the assembler text')
    links(t.path('a.s'), t.path('main.o'))
    # archives, by LLVM's ar and by the system's
    for ar, ranlib in ((tool(t, 'heddle-ar'), tool(t, 'heddle-ranlib')), ('ar', 'ranlib')):
        archive = t.path(f'lib{os.path.basename(ar)}.a')
        t.run_well([ar, 'rc', archive, t.path('a.o')])
        t.run_well([ranlib, archive])
        links(t.path('main.o'), f'-L{t.dir}', f'-l{os.path.basename(ar)}')
    t.check(b'add' in t.run_well([tool(t, 'heddle-nm'), t.path('a.o')]).out, 'heddle-nm does not show the symbol')
    shown = t.run_well([cc, '--show', '-O2', a, main]).out
    t.check(b'clang-19' in shown and b'heddle-pass.so' in shown and not os.path.exists(t.path('a.out')), shown.decode())


def case_headers(t):
    """Precompiled, with and without a word about it; and preprocessed first, as a cache does: std::string has hooks in any case."""
    cxx = tool(t, 'heddle-c++')
    write(t, 'all.h', '#include <string>\n')
    main = write(t, 'main.cpp', '#include <string>\nstd::string s;\nint main(int n, char **v) { s.append(v[0]); return s.size() > 2 ? 3 : 0; }\n')
    for words in ([t.path('all.h')], ['-x', 'c++-header', t.path('all.h'), '-o', t.path('all.h.pch')], ['-xc++-header', t.path('all.h'), '-c']):
        t.run_well([cxx, '-O1', *words], cwd=t.dir)
    t.run_well([cxx, '-E', main, '-o', t.path('main.ii')])
    for way in (['-include', t.path('all.h'), '-Werror', main], [t.path('main.ii')]):
        t.run_well([cxx, '-O1', *way, '-o', t.path('program')])
        t.check(t.run([t.path('program')]).status == 3, f'{way}')
        symbols = t.run_well(['nm', '-D', '--undefined-only', t.path('program')]).out
        t.check(b'_M_append' not in symbols, f'{way}: std::string of libstdc++ is called: {symbols.decode()}')


def case_libraries(t):
    """A library with hooks of its own, linked and loaded by name, each with threads."""
    cc = tool(t, 'heddle-cc')
    write(t, 'lib.c', 'static __thread int mine; int shared; int next(void) { shared++; return ++mine; }\n')
    write(t, 'main.c', '''#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static int (*next)(void);
static int total;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *arg)
{
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&m);
		total += next();
		pthread_mutex_unlock(&m);
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t[4];
	void *lib = dlopen(argv[argc - 1], RTLD_NOW);
	if (!lib)
		return puts(dlerror());
	next = (int (*)(void))dlsym(lib, "next");
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	printf("%d %d\\n", total, *(int *)dlsym(lib, "shared"));
}
''')
    t.run_well([cc, '-O2', '-shared', '-fPIC', 'lib.c', '-o', t.path('libnext.so')])
    need_hooks(t, t.path('libnext.so'), 2)
    library = test_runtime(t)
    for way in ([], ['--per-file'], ['--select=escape'], ['--select=races']):
        t.run_well([cc, '-O2', *way, '-pthread', 'main.c', '-o', t.path('main')])
        for hooks in (None, 'perform', 'decline'):
            env = dict(t.env, **({'LD_PRELOAD': library, 'HEDDLE_TEST': hooks} if hooks else {}))
            t.check(t.run([t.path('main'), t.path('libnext.so')], env=env).out == b'220 40\n', f'{way} {hooks}')


def case_many_libraries(t):
    """There is little room for thread-local variables of what is loaded late: hooks take a pointer of it."""
    cc = tool(t, 'heddle-cc')
    write(t, 'lib.c', 'static int count; int next(void) { return ++count; }\n')
    write(t, 'main.c', '''#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int sum = 0;
	for (int i = 0; i < 80; i++) {
		char name[4096];
		snprintf(name, sizeof name, "%s/lib%d.so", argv[argc - 1], i);
		void *lib = dlopen(name, RTLD_NOW);
		if (!lib)
			return puts(dlerror());
		sum += ((int (*)(void))dlsym(lib, "next"))();
	}
	printf("%d\\n", sum);
}
''')
    t.run_well([cc, '-O2', '-shared', '-fPIC', 'lib.c', '-o', t.path('lib0.so')])
    t.run_well([cc, '-O2', 'main.c', '-o', t.path('main')])
    for i in range(1, 80):
        shutil.copy(t.path('lib0.so'), t.path(f'lib{i}.so'))
    command = [t.path('main'), t.dir]
    t.check(t.run_well(command).out == b'80\n', 'plain')
    t.check(t.run_well([t.heddle, 'record', '-q', '-o', t.path('trace'), *command]).out == b'80\n', 'recorded')
    t.check(t.run_well([t.heddle, 'replay', t.path('trace')]).out == b'80\n', 'replayed')


def case_rounding(t):
    """Where the code generator may change what is rounded, code with hooks and its copy without still agree."""
    cc = tool(t, 'heddle-cc')
    write(t, 'main.c', '''#include <math.h>
#include <stdio.h>
double a[512], b[512], c[512];
float x[512], y[512];
int main(void)
{
	for (int i = 0; i < 512; i++)
		a[i] = 1.0 / (i + 3), b[i] = 1.0 / (7 * i + 1), c[i] = 1e-3 * i, x[i] = i + 1, y[i] = 3.0f / (i + 1);
	for (int round = 0; round < 20; round++)
		for (int i = 1; i < 512; i++) {
			c[i] = a[i] * b[i] + c[i];
			y[i] = x[i] / sqrtf(y[i]) - y[i - 1] / x[i] + x[i - 1] / x[i];
		}
	double sum = 0;
	for (int i = 0; i < 512; i++)
		sum += c[i] * b[i] + y[i];
	printf("%a %a %a\\n", sum, c[77], (double)y[99]);
}
''')
    machine = ['-mfma'] if platform.machine() == 'x86_64' else []
    for flags in (['-ffp-contract=fast'], ['-ffast-math'], ['-ffast-math', '-O3'], ['-ffast-math', '--per-file']):
        t.run_well([cc, '-O2', *machine, *flags, 'main.c', '-o', t.path('main'), '-lm'])
        plain = t.run_well([t.path('main')]).out
        for i, way in enumerate(([], ['--verify'])):        # with --verify every access takes its hook
            hooked = t.run_well([t.heddle, 'record', '-q', *way, '-o', t.path(f'trace{i}{"".join(flags)}'), t.path('main')]).out
            t.check(plain == hooked, f'{flags} {way}: {plain} {hooked}')


def case_kept(t):
    """Options that would silently lose the hooks do not; others are refused with a reason."""
    cc = tool(t, 'heddle-cc')
    source = write(t, 'racy.c', RACY)

    def built(*words):
        t.run_well([cc, '-O2', '-pthread', '-o', t.path('racy'), *words])
        return need_hooks(t, t.path('racy'), 2)

    for words in (['-flto=thin'], ['-fno-lto'], ['-fuse-ld=bfd'], ['-fuse-ld=gold'], ['-flto=thin', '-fuse-ld=bfd'],
                  ['-ffat-lto-objects'], ['-flto', '-ffat-lto-objects']):
        built(source, *words)
    for words in (['-flto=thin'], ['-flto', '-ffat-lto-objects'], ['-flto']):       # objects that clang made
        t.run_well(['clang-19', '-O2', *words, '-c', source, '-o', t.path('theirs.o')])
        built(t.path('theirs.o'))
    for words in (['--ld-path=/usr/bin/ld'], ['-Wl,--lto-emit-asm'], ['-Wl,-O1,--lto-emit-llvm'], ['--select=some'],
                  ['--per-file', '--select=escape']):
        outcome = t.run([cc, source, *words, '-o', t.path('refused')])
        t.check(outcome.status == 1 and outcome.err.startswith(b'heddle-cc: ') and not os.path.exists(t.path('refused')),
                f'{words}: {outcome}')


def case_foreign(t):
    """Objects of another compiler are linked, named by doctor, and by -v."""
    cc = tool(t, 'heddle-cc')
    write(t, 'other.c', 'int other; int f(void) { return ++other; }\n')
    main = write(t, 'main.c', 'int f(void); int g; int main(void) { g = f(); return g != 1; }\n')
    t.run_well(['gcc', '-c', 'other.c', '-o', t.path('other.o')])
    t.run_well(['ar', 'rcs', t.path('libother.a'), t.path('other.o')])
    for words, name in (([t.path('other.o')], 'other.o'), ([f'-L{t.dir}', '-lother'], 'libother.a'), ([t.path('libother.a')], 'libother.a')):
        quiet = t.run_well([cc, main, *words, '-o', t.path('main')])
        t.check(not quiet.err, f'{quiet}')
        t.run_well([t.path('main')])
        built = need_hooks(t, t.path('main'))
        t.check([os.path.basename(n) for n in built['foreign']] == [name], f'{built}')
        t.check(b'not instrumented' in t.run_well([t.heddle, 'doctor', t.path('main')]).out, 'doctor does not name it')
        t.check(name.encode() + b' is of another compiler' in t.run([cc, '-v', main, *words, '-o', t.path('main')]).err, '-v does not')
    t.check(doctor(t, '/bin/sh') == {'heddle-cc': False}, 'a shell that heddle-cc built?')
    t.check(b'not built by heddle-cc' in t.run_well([t.heddle, 'doctor', '/bin/sh']).out, 'doctor')
    for words in (['doctor', main], ['dump', '--sites', main], ['dump', '--sites', '/bin/sh'], ['doctor', t.path('nowhere')]):
        outcome = t.run([t.heddle, *words])
        t.check(outcome.status == 122 and outcome.err.startswith(b'heddle: '), f'{words}: {outcome}')


def case_errors(t):
    """What does not compile or link gives clang's message and status."""
    cases = {'syntax.c': 'int main(void) { return 0 }\n', 'missing.c': '#include "nowhere.h"\n', 'warns.c': 'int main(void) { int x; return x; }\n',
             'link.c': 'int gone(void); int main(void) { return gone(); }\n'}
    for name, text in cases.items():
        write(t, name, text)
        words = ['-Wall', name, '-o', 'out']
        ours = t.run([tool(t, 'heddle-cc'), *words])
        theirs = t.run(['clang-19', '-fuse-ld=lld', '-flto', '-gline-tables-only', *words])
        strip = lambda err: re.sub(rb'/tmp/\S+', b'OBJECT', err)
        t.check((ours.status, strip(ours.err)) == (theirs.status, strip(theirs.err)), f'{name}: {ours}\n{theirs}')
        t.check(ours.err, f'{name}: no message')
    ours = t.run([tool(t, 'heddle-cc'), 'nowhere.c'])
    t.check(ours.status == 1 and b'nowhere.c' in ours.err, f'{ours}')


# ---- builds of whole projects ----------------------------------------------------------------------------------------

CONFIGURE = r'''#!/bin/sh
# What configure scripts do to find out about a compiler.
fail() { echo "configure: $1" >&2; exit 1; }
try() { cat > conftest.c; "$@" conftest.c -o conftest $LIBS >> config.log 2>&1; }
echo 'int main(void) { return 0; }' > conftest.c
$CC conftest.c >> config.log 2>&1 && test -f a.out || fail 'C compiler cannot create executables'
./a.out || fail 'cannot run C compiled programs'
$CC --version >> config.log || fail version
$CC -c conftest.c >> config.log 2>&1 && test -f conftest.o || fail 'no object files'
echo '#include <stdio.h>' | $CC -E - > conftest.i 2>> config.log && grep -q printf conftest.i || fail preprocessor
$CC -MT x.o -MD -MP -MF conftest.d -c -o conftest.o conftest.c && grep -q '^x.o:' conftest.d || fail dependencies
echo 'int main(void) { return gone(); }' | try $CC 2> /dev/null && fail 'links what is not there'
printf 'char pthread_create(); int main(void) { return pthread_create(); }' | try $CC -w -pthread || fail pthread
echo 'int y = 3; char f(void); int main(void) { return f(); }' > conftest.c
echo 'char f(void) { return 0; }' > conftest2.c
$CC -c conftest.c && $CC -c conftest2.c && $AR cru libconftest.a conftest2.o 2>/dev/null && $RANLIB libconftest.a
$CC -o conftest conftest.o -L. -lconftest && ./conftest || fail archives
$NM conftest.o | grep -q ' [DRT] y' || fail nm
$CC -shared -fPIC conftest2.c -o libconftest.so || fail shared
echo 'int main(void) { return sizeof(long) == 8 ? 0 : 1; }' | try $CC && ./conftest || fail sizeof
echo 'int a[sizeof(long) == 8 ? 1 : -1];' > conftest.c && $CC -c conftest.c || fail 'compile-time check'
rm -rf conftest* a.out libconftest*
echo "CC=$CC
AR=$AR
RANLIB=$RANLIB" | cat - Makefile.in > Makefile
'''
MAKEFILE = '''
CFLAGS = -O2 -g -Wall -Werror -pthread -MMD
all: main
main: main.o libcount.a libprint.so
	$(CC) $(CFLAGS) -o $@ main.o -L. -lcount -lprint -Wl,-rpath,'$$ORIGIN'
libcount.a: count.o
	$(AR) cr $@ $^
	$(RANLIB) $@
libprint.so: print.c
	$(CC) $(CFLAGS) -fPIC -shared -o $@ $<
'''
PROJECT = {
    'count.c': 'long count;\nvoid add(long n)\n{\n\tcount += n;\n}\n',
    'print.c': '#include <stdio.h>\nint printed;\nvoid print(long n)\n{\n\tprintf("%ld %d\\n", n, ++printed);\n}\n',
    'main.c': '''#include <pthread.h>
extern long count;
void add(long n);
void print(long n);
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&m);
		add(i);
		pthread_mutex_unlock(&m);
	}
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	work(0);
	pthread_join(t, 0);
	print(count);
	return 0;
}
''',
}


def project(t):
    for name, text in PROJECT.items():
        write(t, name, text)


def case_configure(t):
    """CC=heddle-cc ./configure && make."""
    project(t)
    write(t, 'configure', CONFIGURE)
    write(t, 'Makefile.in', MAKEFILE)
    env = dict(t.env, CC=tool(t, 'heddle-cc'), AR=tool(t, 'heddle-ar'), RANLIB=tool(t, 'heddle-ranlib'), NM=tool(t, 'heddle-nm'))
    outcome = t.run(['sh', './configure'], env=env, timeout=200)
    t.check(outcome.status == 0, f'{outcome}')
    t.run_well(['make', '-s'], env=env, timeout=200)
    t.check(t.run([t.path('main')]).out == b'999000 1\n', 'wrong result')
    t.check(need_hooks(t, t.path('main'), 2)['foreign'] == [], 'foreign objects?')
    need_hooks(t, t.path('libprint.so'), 2)


def case_cmake(t):
    if not shutil.which('cmake'):
        t.skip('no cmake')
    project(t)
    write(t, 'CMakeLists.txt', 'cmake_minimum_required(VERSION 3.10)\nproject(p C CXX)\nfind_package(Threads REQUIRED)\n'
          'add_library(count STATIC count.c)\nadd_library(print SHARED print.c)\nadd_executable(main main.c)\n'
          'target_link_libraries(main count print Threads::Threads)\n')
    t.run_well(['cmake', '-S', '.', '-B', 'out', '-DCMAKE_BUILD_TYPE=Release', f'-DCMAKE_C_COMPILER={tool(t, "heddle-cc")}',
                f'-DCMAKE_CXX_COMPILER={tool(t, "heddle-c++")}', f'-DCMAKE_AR={tool(t, "heddle-ar")}',
                f'-DCMAKE_RANLIB={tool(t, "heddle-ranlib")}'], timeout=300)
    t.run_well(['cmake', '--build', 'out'], timeout=300)
    t.check(t.run([t.path('out', 'main')]).out == b'999000 1\n', 'wrong result')
    t.check(need_hooks(t, t.path('out', 'main'), 2)['foreign'] == [], 'foreign objects?')


def debian_source(t, package):
    """The unpacked source of a package, from where this machine gets its packages."""
    sources = t.path('sources')
    os.makedirs(t.path('lists', 'partial'))
    with open(sources + '.sources', 'w') as out:
        for folder, name in [('/etc/apt', 'sources.list')] + [('/etc/apt/sources.list.d', n) for n in os.listdir('/etc/apt/sources.list.d')]:
            if name.endswith('.sources'):
                text = open(os.path.join(folder, name)).read()
                out.write(re.sub(r'^Types:.*$', 'Types: deb-src', text, flags=re.M) + '\n')
    options = ['-o', f'Dir::Etc::sourcelist={sources}.sources', '-o', 'Dir::Etc::sourceparts=-', '-o', f'Dir::State::lists={t.path("lists")}',
               '-o', 'APT::Sandbox::User=root']
    if t.run(['apt-get', '-qq', *options, 'update'], timeout=300).status or \
            t.run(['apt-get', '-qq', *options, 'source', '--download-only', package], timeout=300).status:
        t.skip(f'the source of {package} cannot be fetched')
    archive = next(n for n in os.listdir(t.dir) if '.orig.tar' in n and not n.endswith('.asc'))
    t.run_well(['tar', 'xf', archive])
    return next(os.path.join(t.dir, n) for n in os.listdir(t.dir) if n.startswith(package) and os.path.isdir(t.path(n)))


def case_debian_source(t):
    """bzip2 as Debian has it: built, and as good as Debian's own."""
    t.need_root()
    folder = debian_source(t, 'bzip2')
    t.run_well(['make', '-s', f'CC={tool(t, "heddle-cc")}', f'AR={tool(t, "heddle-ar")}', f'RANLIB={tool(t, "heddle-ranlib")}',
                'bzip2'], cwd=folder, timeout=900)
    data = os.urandom(1000) * 300 + open(t.heddle, 'rb').read()
    packed = t.run_well([os.path.join(folder, 'bzip2'), '-c'], stdin=data, timeout=200).out
    t.check(t.run_well([os.path.join(folder, 'bzip2'), '-dc'], stdin=packed, timeout=200).out == data, 'not what was packed')
    need_hooks(t, os.path.join(folder, 'bzip2'), 1000)


# ---- cost ---------------------------------------------------------------------------------------------------

def case_cost_outside(t):
    """What hooks cost where heddle is not: told, not judged."""
    source = write(t, 'loop.c', '''#include <stdio.h>
#include <stdlib.h>
long *a, n;
int main(void)
{
	n = 1 << 16;
	a = calloc(n, sizeof *a);
	for (int r = 0; r < 400; r++)
		for (long i = 0; i < n; i++)
			a[(i * 7919) & (n - 1)] += a[i] + r;
	printf("%ld\\n", a[5]);
}
''')
    times = {}
    for name, command in (('clang', ['clang-19']), ('none', [tool(t, 'heddle-cc'), '--select=none']), ('all', [tool(t, 'heddle-cc')])):
        t.run_well([*command, '-O2', source, '-o', t.path(name)])
    for _ in range(3):
        for name in ('clang', 'none', 'all'):
            before = os.times()
            outcome = t.run_well([t.path(name)])
            after = os.times()
            times.setdefault(name, []).append(after.children_user - before.children_user)
    best = {name: max(min(values), 0.001) for name, values in times.items()}
    t.notes.append(f'CPU time over clang: select=none {best["none"] / best["clang"]:.2f}, select=all {best["all"] / best["clang"]:.2f}')


def case_outside(t):
    """Memory where the program wants it: what is only a wish is not followed; what must be there has no claims, which
    is refused with what to do instead."""
    program = hooked_part(t, 'outside')
    for order, how in (('region', 'hint'), ('lamport', 'hint'), ('lamport', 'fixed')):
        recorded = t.record([program, '0x20000000000', how], trace=t.path(f'{order}-{how}'), options=[f'--order={order}'])
        t.check(recorded.status == 0, f'{order}, {how}: {recorded}')
        t.replays(recorded, trace=t.path(f'{order}-{how}'))
    refused = t.record([program, '0x20000000000', 'fixed'], trace=t.path('refused'), options=['--order=region'])
    t.check(refused.status == 122 and b'maps memory at 0x20000000000' in refused.err and b'--order=lamport' in refused.err, f'{refused}')


def case_forked_team(t):
    """A child that goes on with the race of its parent's threads, under every exact order."""
    program = hooked_part(t, 'forked_team')
    for order in [name for name, guarantee in cells.orders(t.settings.build) if guarantee == 'exact']:
        for number in range(t.count(3, 50)):
            trace = t.path(f'{order}-{number}')
            recorded = t.record([program, '4'], trace=trace, options=[f'--order={order}'], timeout=120)
            t.check(recorded.status in (0, 1), f'{order}: {recorded}')
            t.replays(recorded, trace=trace, times=2, timeout=120)


def case_forked_busy(t):
    """The same while the others count: what they had read when they were left is not what the new ones have read."""
    program = hooked_part(t, 'forked_team')
    for number in range(t.count(4, 50)):
        trace = t.path(f'busy-{number}')
        recorded = t.record([program, '4'], trace=trace, options=['--verify'], env=dict(t.env, BUSY='1'), timeout=120)
        t.check(recorded.status in (0, 1), f'{recorded}')
        t.replays(recorded, trace=trace, times=2, timeout=120)


def case_forked_beside(t):
    """A child uses memory whose locks were held, by threads that it does not have, when it was forked."""
    program = hooked_part(t, 'forked_beside')
    for order, _ in cells.orders(t.settings.build):
        for number in range(t.count(2, 20)):
            recorded = t.record([program, '3'], trace=t.path(f'{order}-{number}'), options=[f'--order={order}'], timeout=60)
            t.check(recorded.status == 0, f'{order}: {recorded}')


def case_wild_pointers(t):
    """A crash at a pointer that leads nowhere is the same crash at replay, and a handler is told the same place; a tag
    in the top byte is none of its business."""
    program = hooked_part(t, 'wild')
    runs = [[], *([str(n)] for n in range(10)), ['2', 'loop'], ['9', 'loop']] + [['tag']] * (platform.machine() == 'aarch64')
    for n, args in enumerate(runs):
        for how, options in (('plain', []), ('verify', ['--verify'])):
            recorded = t.record([program, *args], trace=t.path(f'{how}-{n}'), options=options)
            plain = t.run([program, *args])
            t.check((recorded.status, recorded.out) == (plain.status, plain.out), f'{args}: recorded {recorded}, plain {plain}')
            t.replays(recorded, trace=t.path(f'{how}-{n}'), times=1)


def case_seldom(t):
    """A signal comes through where there is no access for long."""
    program = hooked_part(t, 'seldom')
    recorded = t.record([program], timeout=60)
    t.check(recorded.status == 0, f'{recorded}')
    events = t.run_well([t.heddle, 'dump', t.path('trace')]).out
    t.check(b'signal SIGVTALRM' in events and b'NOT EXACT' not in events, 'a handler did not begin at a poll')
    t.replays(recorded, times=2, timeout=60)


def case_waited_for(t):
    """Who wants a page gets it while its owner is in loops that seldom access anything."""
    program = hooked_part(t, 'waited_for')
    recorded = t.record([program], timeout=120)
    t.check(recorded.status == 0, f'{recorded}')
    t.replays(recorded, times=1, timeout=120)


def case_entered_twice(t):
    """Signals come, too, in a cycle that is entered at two places, of which nobody knows how often it goes round."""
    program = hooked_part(t, 'entered_twice')
    for number in range(t.count(2, 20)):
        recorded = t.record([program], trace=t.path(f'trace-{number}'), timeout=60)
        t.check(recorded.status == 0, f'{recorded}')
        t.replays(recorded, trace=t.path(f'trace-{number}'), times=1, timeout=60)


def case_unattached(t):
    """Threads in the loops with which they begin, many at once."""
    program = hooked_part(t, 'unattached')
    for number in range(t.count(6, 60)):
        recorded = t.record([program], trace=t.path(f'trace-{number}'), timeout=60)
        t.check(recorded.status == 0, f'{recorded}')
        t.replays(recorded, trace=t.path(f'trace-{number}'), times=2, timeout=60)


STATE = 'struct state { long step, a, b, c, d, e; };\n'
TWO_FILES = {
    # of the sret of a function: written for it, or where it is copied
    'written': (STATE + """#include <pthread.h>
struct state next(long i);
static void *look(void *arg)
{
	long sum = 0;
	for (int i = 0; i < 100; i++)
		sum += *(volatile long *)&((struct state *)arg)->step;
	return (void *)sum;
}
int main(void)
{
	struct state shared = { 0 };
	pthread_t t;
	pthread_create(&t, 0, look, &shared);
	for (long i = 0; i < 100; i++)
		shared = next(i);
	pthread_join(t, 0);
	return shared.step != 99;
}
""", STATE + '__attribute__((noinline)) struct state next(long i)\n{\n\treturn (struct state){ i, i, i, i, i, i };\n}\n', 'writes'),
    # of an argument that is only read: a copy for it, or what was copied
    'read': (STATE + """#include <pthread.h>
long digest(const struct state *restrict s);
static struct state shared;
static void *change(void *arg)
{
	for (long i = 0; i < 100; i++)
		*(volatile long *)&shared.step = i;
	return arg;
}
int main(void)
{
	pthread_t t;
	long sum = 0;
	pthread_create(&t, 0, change, 0);
	for (long i = 0; i < 100; i++) {
		struct state copy = shared;
		sum += digest(&copy);
	}
	pthread_join(t, 0);
	return sum < 0;
}
""", STATE + '__attribute__((noinline)) long digest(const struct state *restrict s)\n{\n\treturn s->step + s->a + s->b + s->c + s->d + s->e;\n}\n', 'reads'),
}


def case_copies_of_a_result(t):
    """At link time no access that was left out becomes one of other memory: the copy stays, and has the hook."""
    for name, (main, other, kind) in TWO_FILES.items():
        objects = []
        for file, text in (('main', main), ('other', other)):
            write(t, f'{name}/{file}.c', text)
            objects.append(t.path(f'{name}/{file}.o'))
            t.run_well([tool(t, 'heddle-cc'), '--select=races', '-O2', '-g', '-c', '-o', objects[-1], t.path(f'{name}/{file}.c')])
        t.run_well([tool(t, 'heddle-cc'), '--select=races', '-O2', '-g', '-pthread', '-o', t.path(name, 'program'), *objects])
        lines = t.run_well([t.heddle, 'dump', '--sites', '--json', t.path(name, 'program')]).out.decode().splitlines()
        copies = [site for site in map(json.loads, lines) if os.path.basename(site.get('file', '')) == 'main.c' and site['kind'] == kind and site['hooked']]
        t.check(copies, f'{name}: no copy has a hook')


NEIGHBOURS = """#include <pthread.h>
#include <stdlib.h>
struct pair { double x, y; } *set, *squares, *mixed;
__attribute__((noinline)) static void measure(struct pair *restrict to, const struct pair *from)
{
	to->x = from->x * from->x, to->y = from->y * from->y; /* none can race */
}
__attribute__((noinline)) static void note(struct pair *p, double by)
{
	p->x += by, p->y += by; /* one can */
}
static void *work(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		measure(squares, set);
		note(mixed, i);
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	(void)argv;
	set = malloc(sizeof *set), squares = malloc(sizeof *squares), mixed = malloc(sizeof *mixed);
	set->x = argc, set->y = 2 * argc, mixed->x = mixed->y = 0;
	pthread_create(&t, 0, work, 0);
	mixed->y = argc;
	pthread_join(t, 0);
	return squares->x < 0 || squares->y < 0 || mixed->x < 0;
}
"""


def case_neighbours(t):
    """Accesses that the optimiser makes one: left out if all of them were, and hooked if one was not."""
    write(t, 'neighbours.c', NEIGHBOURS)
    t.run_well([tool(t, 'heddle-cc'), '--select=races', '-O2', '-g', '-pthread', '-o', t.path('neighbours'), t.path('neighbours.c')])
    lines = t.run_well([t.heddle, 'dump', '--sites', '--json', t.path('neighbours')]).out.decode().splitlines()
    sites = {function: [s for s in map(json.loads, lines) if s['function'] == function and s['kind'] != 'poll'] for function in ('measure', 'note')}
    both = {function: [(s['kind'], s['hooked']) for s in found if s['size'] == 16] for function, found in sites.items()}
    t.check(both['measure'] and not any(s['hooked'] for s in sites['measure']), f'measure: {sites["measure"]}')
    t.check(sorted(both['note']) == [('load', True), ('store', True)], f'note: {sites["note"]}')


def case_wrapped_functions(t):
    """--wrap lets a name mean another function than the one that the analysis knows."""
    write(t, 'racy.c', RACY)
    for words in (['-Wl,--wrap=malloc'], ['-Wl,-z,now,--wrap,malloc'], ['-Xlinker', '--wrap=malloc']):
        refused = t.run([tool(t, 'heddle-cc'), '--select=races', '-o', t.path('racy'), t.path('racy.c'), '-pthread', *words])
        t.check(refused.status == 1 and b'--select=all' in refused.err, f'{words}: {refused}')
        t.run_well([tool(t, 'heddle-cc'), '--select=all', '-o', t.path('racy'), t.path('racy.c'), '-pthread', *words])
