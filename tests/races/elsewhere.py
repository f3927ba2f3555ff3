"""The golden programs in C that race, run by somebody else than main: what an analysis believes of the first thread must
not depend on where it begins. Outside soak, some of them."""
import glob
import os

import golden

EVERY = 4       # outside soak
DECLARED = '#include <pthread.h>\n#include <setjmp.h>\nint golden_main(int, char **);\n'
WAYS = {
    'function': 'int main(int c, char **v) { return golden_main(c, v); }',
    'constructor': 'static __attribute__((constructor)) void go(void) { golden_main(1, 0); }\nint main(void) { return 0; }',
    'destructor': 'static __attribute__((destructor)) void go(void) { golden_main(1, 0); }\nint main(void) { return 0; }',
    'thread': 'static void *go(void *a) { golden_main(1, 0); return a; }\n'
              'int main(void) { pthread_t t; pthread_create(&t, 0, go, 0); return pthread_join(t, 0); }',
    'once': 'static pthread_once_t once;\nstatic void go(void) { golden_main(1, 0); }\nint main(void) { return pthread_once(&once, go); }',
    'pointer': 'static int (*volatile go)(int, char **) = golden_main;\nint main(int c, char **v) { return go(c, v); }',
    'setjmp': 'static jmp_buf back;\nstatic volatile int n;\n'
              'int main(int c, char **v) { setjmp(back); golden_main(c, v); if (!n++) longjmp(back, 1); return 0; }',
}


def lost(t, source, program):
    """Races that are expected, of which neither a warning tells nor a hook at each place, nor a lock that was put."""
    warnings, left_out = golden.analysed(t, source, program)
    for e in golden.real(source):
        reasons = [f'line {n}: {r}' for lines in e.lines for n in sorted(lines) for r in left_out.get(n, [])]
        if reasons and not any(e.is_pair(*w) for w in warnings) and not any(golden.PUT_LOCK in r for r in reasons):
            yield f'{os.path.basename(source)}: {e}; left out: ' + '; '.join(reasons)


def make(number, text):
    def case(t):
        compiler, main = os.path.join(t.settings.build, 'bin', 'heddle-cc'), t.path('main.c')
        with open(main, 'w') as file:
            file.write(DECLARED + text + '\n')
        racy = [s for s in sorted(glob.glob(f'{golden.FOLDER}/*.c')) if golden.real(s)]
        every = 1 if t.settings.level == 'soak' else EVERY
        wrong = []
        for source in racy[number % every::every]:
            for name, more in ((source, ['-Dmain=golden_main', '-w']), (main, [])):
                t.run_well([compiler, '--select=races', '-O1', '-g', '-c', '-pthread', *more, '-o', t.path(os.path.basename(name) + '.o'), name])
            program = t.path('program')
            t.run_well([compiler, '--select=races', '-O1', '-g', '-pthread', '-o', program, t.path(os.path.basename(source) + '.o'),
                        t.path('main.c.o'), '-lm'], timeout=120)
            wrong += lost(t, source, program)
        t.check(not wrong, '\n'.join(wrong))
    return case


for _number, (_name, _text) in enumerate(WAYS.items()):
    globals()[f'case_begun_by_{_name}'] = make(_number, _text)
