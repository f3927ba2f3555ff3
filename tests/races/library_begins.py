"""The constructor of a shared library creates a thread, which calls back what the program exports, and races with main."""
import os

LIBRARY = '''#include <pthread.h>
extern void tick(void);
static pthread_t thread;
static void *work(void *arg) { for (int i = 0; i < 100000; i++) tick(); return arg; }
static __attribute__((constructor)) void begin(void) { pthread_create(&thread, 0, work, 0); }
static __attribute__((destructor)) void end(void) { pthread_join(thread, 0); }
'''
PROGRAM = '''static volatile int x;
void tick(void) { x++; }
int main(void) { for (int i = 0; i < 100000; i++) x += 2; return 0; }
'''


def case_library_begins(t):
    compiler, library, program = os.path.join(t.settings.build, 'bin', 'heddle-cc'), t.path('library.so'), t.path('program')
    for name, text in (('library.c', LIBRARY), ('program.c', PROGRAM)):
        with open(t.path(name), 'w') as file:
            file.write(text)
    t.run_well([compiler, '--select=races', '-O2', '-g', '-shared', '-fPIC', '-o', library, t.path('library.c')], timeout=120)
    t.run_well([compiler, '--select=races', '-O2', '-g', '-o', program, t.path('program.c'), library], timeout=120)
    told = t.run_well([os.path.join(t.settings.build, 'bin', 'heddle'), 'races', '--why', 'program.c:3', program]).out.decode()
    t.check('cannot race' not in told and 'tick' in told, told)
