"""Races that a shared library brings about, which the analysis of the program does not see."""
import os

BEGINS = ('''#include <pthread.h>
extern "C" void tick(void);
static pthread_t thread;
static void *work(void *arg) { for (int i = 0; i < 100000; i++) tick(); return arg; }
static __attribute__((constructor)) void begin(void) { pthread_create(&thread, 0, work, 0); }
static __attribute__((destructor)) void end(void) { pthread_join(thread, 0); }
''', '''static volatile int x;
extern "C" void tick(void) { x++; }
int main(void) { for (int i = 0; i < 100000; i++) x += 2; }
''')
OPERATOR_NEW = ('''#include <new>
struct room { long v; };
void *operator new(std::size_t, room &r) noexcept { return &r; }
''', '''#include <new>
#include <pthread.h>
struct room { long v; };
void *operator new(std::size_t, room &r) noexcept;
static room shared;
static volatile long *made, *known = &shared.v;
static void *one(void *arg) { for (int i = 0; i < 30000; i++) *made += 1; return arg; }
static void *two(void *arg) { for (int i = 0; i < 30000; i++) *known += 1; return arg; }
int main(void)
{
    pthread_t a, b;
    made = new (shared) long(0);
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
''')


def make(texts, lines):
    def case(t):
        compiler, library, program = os.path.join(t.settings.build, 'bin', 'heddle-c++'), t.path('library.so'), t.path('program')
        for name, text in zip(('library.cpp', 'program.cpp'), texts):
            with open(t.path(name), 'w') as file:
                file.write(text)
        select = [compiler, '--select=races', '-O2', '-g']
        t.run_well([*select, '-shared', '-fPIC', '-o', library, t.path('library.cpp')], timeout=120)
        t.run_well([*select, '-o', program, t.path('program.cpp'), library], timeout=120)
        for line in lines:
            told = t.run_well([t.heddle, 'races', '--why', f'program.cpp:{line}', program]).out.decode()
            t.check('write  ' in told and 'write at' not in told, told)     # it tells so of what cannot race
    return case


case_library_begins = make(BEGINS, (2, 3))          # its constructor creates a thread, which calls what the program exports
case_library_has_new = make(OPERATOR_NEW, (7, 8))   # an operator new of its own, which gives memory that others have
