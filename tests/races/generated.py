"""Random programs with partitions, phases, rounds, locks, tables, heap blocks and atomics: no race that a run has may
be at a site that an analysis leaves out.

A program is a function of its number, ends in every interleaving, and prints nothing that matters. Some of its accesses
race, most do not: the mistakes (a wrong lock, one element too many, a barrier that lets everybody pass, one of the
program's own that does not hold) are chosen at random, too.
"""
import glob
import os
import random
import shutil

import golden

PER_BATCH, BATCHES = 25, 80     # soak: 2,000
NEWLINE = '\n    '
HEAD = '''#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline))
#define AGAIN() __asm__ volatile("" ::: "memory")
struct item { long x, y; int tag; char name[20]; };
'''


class Program:
    def __init__(self, number):
        self.random = random.Random(number)
        self.threads = self.random.choice((2, 2, 3, 4))
        self.kinds = self.random.choice((1, 1, 2))          # functions that threads begin with
        self.phases = self.random.randint(1, 4)
        self.rounds = self.pick('', '3', 'rounds', 'rounds')    # around the phases
        self.after = self.chance(2)
        self.barrier = self.pick('pthread_barrier_wait(&barrier);', 'pthread_barrier_wait(&barrier);', 'own_barrier();')
        # few kinds of statements in one program: what all of them touch is hooked anyway
        self.focus = self.random.sample((self.locked, self.unlocked, self.partition, self.whole, self.rows, self.own, self.private,
                                         self.publish, self.call, self.turns), self.random.randint(1, 4))

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, one_in):
        return self.random.randrange(one_in) == 0

    def scalar(self):
        """A variable that everybody knows, and the lock that should be taken for it."""
        n = self.random.randrange(6)
        return self.pick(f's{n}', f's{n}', f'*p{n}', f'items[{2 * n}].x', f'a{n % 3}[{self.random.randrange(self.threads * 12)}]', f'shared->y' if n == 3 else f's{n}'), f'm{n % 3}'

    def change(self, where):
        return self.pick(f'{where} += id + 1;', f'{where} = {where} * 3 + 1;', f'sink += {where};', f'{where} = id;', f'sink += {where};')

    # ---- statements

    def locked(self):
        where, lock = self.scalar()
        if self.chance(8):
            lock = f'm{self.random.randrange(3)}'           # perhaps the wrong one
        inside = self.change(where)
        if self.chance(5):
            return [f'if (!pthread_mutex_trylock(&{lock})) {{ {inside} pthread_mutex_unlock(&{lock}); }}']
        if self.chance(4):
            return [f'take(&{lock});', inside, f'give(&{lock});']
        return [f'pthread_mutex_lock(&{lock});', inside, f'pthread_mutex_unlock(&{lock});']

    def unlocked(self):
        where, _ = self.scalar()
        return [f'if (id == {self.random.randrange(self.threads)}) {{ {self.change(where)} }}' if self.chance(2) else self.change(where)]

    def partition(self):
        array, mistake = f'a{self.random.randrange(3)}', int(self.chance(6))
        index = self.pick('i', 'i', 'i', 'i + 1' if mistake else 'i')
        inside = self.pick(f'{array}[{index}] += i;', f'{array}[i] = {array}[{index}] * 2 + id;', f'sink += {array}[{index}];')
        loop = self.pick(f'for (long i = id * K; i < (id + 1) * K + {mistake}; i++)', f'for (long i = id; i < N; i += THREADS - {mistake})',
                         f'for (long i = (id + 1) * K - 1 + {mistake}; i >= id * K; i--)', f'for (long i = from; i < to + {mistake}; i++)')
        return [f'{loop} {inside}']

    def whole(self):
        """All read it, perhaps one writes; or somebody goes over its bytes."""
        array = f'a{self.random.randrange(3)}'
        return [self.pick(f'for (long i = 0; i < N; i++) sink += {array}[i];', f'sink += add_up({array}, N);',
                          f'if (id == {self.random.randrange(self.threads)}) {array}[{self.random.randrange(self.threads * 12)}] = 1;',
                          f'if (id == {self.random.randrange(self.threads)}) flip((unsigned char *)&items[{self.random.randrange(12)}], sizeof items[0]);')]

    def rows(self):
        mistake = int(self.chance(6))
        return [f'for (long i = id * R; i < (id + 1) * R + {mistake}; i++)',
                f'    for (long j = 0; j < N; j++) {self.pick("g[i][j] += j;", "g[i][j] = g[i][(j + 1) % N];", "sink += g[j % (R * THREADS)][i];")}']

    def own(self):
        who = 'id' if not self.chance(6) else '(id + 1) % THREADS'
        return [self.pick(f'items[8 + {who}].x += id;', f'touch(&items[8 + {who}]);', f'blocks[{who}]->y++;', f'touch(blocks[{who}]);',
                          f'memset(items[8 + {who}].name, (int)id, sizeof items[0].name);', f'memcpy(blocks[{who}], &items[8 + {who}], sizeof items[0]);')]

    def private(self):
        return [self.pick('{ long v[16]; fill(v, 16, id); sink += add_up(v, 16); }',
                          '{ struct item *n = malloc(sizeof *n); n->x = id; n->y = 1; touch(n); sink += n->x; free(n); }',
                          '{ struct item n = { id, 2, 3, "n" }; touch(&n); sink += n.y; }')]

    def publish(self):
        n = self.random.randrange(2)
        store, load = self.pick(('release', 'acquire'), ('seq_cst', 'seq_cst'), ('relaxed', 'relaxed'))
        return [f'if (id == {self.random.randrange(self.threads)}) {{ d{n} = id + 7; atomic_store_explicit(&f{n}, 1, memory_order_{store}); }}',
                f'else if (atomic_load_explicit(&f{n}, memory_order_{load})) sink += d{n};']

    def call(self):
        return [self.pick(f'actions[(id + {self.random.randrange(3)}) % 3](id);', f'indirect(actions[{self.random.randrange(3)}], id);',
                          f'deep({self.random.randrange(4)}, id);')]

    def statement(self):
        return self.random.choice(self.focus)()

    # ---- the whole

    def statements(self, most=5):
        for _ in range(self.random.randint(1, most)):
            yield from self.statement()
            yield 'AGAIN();'

    def wait(self):
        """One wait; perhaps it is in a function, or not the same one for all."""
        if self.chance(6):
            return [f'if (id % 2) {{ {NEWLINE.join(self.statements(2))} {self.barrier} }}',
                    f'else {{ {self.barrier} {NEWLINE.join(self.statements(2))} }}']
        return [self.pick(self.barrier, 'meet();', 'sink += step(id, round);')]

    def own_barrier(self):
        """Built from a mutex, a condition and a counter; whatever is wrong, nobody waits for ever that would not with a
        right one."""
        number, back = self.pick(*6 * [('== parties', 'arrived = 0;')], ('== 1', 'arrived = 0;'), ('>= parties', ''))
        parties = 'THREADS' if not self.chance(8) else '1'
        yield f'static int parties = {parties}, arrived, generation;'
        yield 'static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;'
        yield 'static pthread_cond_t own_condition = PTHREAD_COND_INITIALIZER;'
        yield 'static NOINLINE void own_barrier(void)'
        yield '{'
        yield '    pthread_mutex_lock(&own_lock);'
        yield '    int mine = generation;'
        yield f'    if (++arrived {number}) {{ {back} generation++; pthread_cond_broadcast(&own_condition); }}'
        yield '    else while (mine == generation) pthread_cond_wait(&own_condition, &own_lock);'
        yield '    pthread_mutex_unlock(&own_lock);'
        yield '}'

    def turns(self):
        """Two arrays in turn, by the round."""
        other = self.pick('(round + 1) % 2', '(round + 1) % 2', 'round % 2')
        return [self.pick('turn[round % 2][id] += round;', f'sink += turn[{other}][(id + 1) % THREADS];', f'for (long i = 0; i < THREADS; i++) sink += turn[{other}][i];')]

    def body(self):
        for phase in range(self.phases):
            yield from self.statements()
            if phase < self.phases - 1:
                yield from self.wait()

    def worker(self, n):
        yield f'static void *work{n}(void *arg)'
        yield '{'
        yield '    long id = (long)(intptr_t)arg, sink = 0, from = id * K, to = from + K, round = 0;'
        if self.rounds:
            yield f'    for (round = 0; round < {self.rounds}; round++) {{'
        yield from ('    ' + line for line in self.body())
        if self.rounds:
            yield '    }'
            if self.after:
                yield from ('    ' + line for line in [*self.wait(), *self.statements()])
        yield '    (void)from, (void)to, (void)round;'
        yield '    return (void *)sink;'
        yield '}'

    def text(self):
        count = self.threads if not self.chance(8) else 1       # a barrier that lets everybody pass
        late, early = self.scalar()[0], self.scalar()[0]
        yield HEAD
        yield f'enum {{ THREADS = {self.threads}, K = 12, R = 2, N = THREADS * K }};'
        yield 'static long s0, s1, s2, s3, s4, s5, a0[N + 2], a1[N + 2], a2[N + 2], g[R * THREADS + 1][N], d0, d1;'
        yield 'static long *p0 = &s1, *p1 = &s1, *p2 = &s4, *p3 = &a2[3], *p4 = &s0, *p5;'
        yield 'static struct item items[16], *shared = &items[3], *blocks[THREADS];'
        yield 'static atomic_int f0, f1;'
        yield 'static pthread_mutex_t m0 = PTHREAD_MUTEX_INITIALIZER, m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;'
        yield 'static pthread_barrier_t barrier;'
        yield 'static long rounds = 2, turn[2][THREADS];'
        yield from self.own_barrier()
        yield f'static NOINLINE void meet(void) {{ {self.barrier} }}'
        yield 'static NOINLINE void take(pthread_mutex_t *m) { pthread_mutex_lock(m); }'
        yield 'static NOINLINE void give(pthread_mutex_t *m) { pthread_mutex_unlock(m); }'
        yield 'static NOINLINE void touch(struct item *i) { i->y += i->x; i->tag++; }'
        yield 'static NOINLINE void fill(long *v, long n, long x) { for (long i = 0; i < n; i++) v[i] = x + i; }'
        yield 'static NOINLINE void flip(unsigned char *b, size_t n) { for (size_t i = 0; i < n; i++) { b[i] ^= 0x55; AGAIN(); } }'
        yield 'static NOINLINE long add_up(const long *v, long n) { long s = 0; for (long i = 0; i < n; i++) s += v[i]; return s; }'
        for n in range(3):
            where, lock = self.scalar()
            inside = self.change(where)
            body = inside if self.chance(3) else f'pthread_mutex_lock(&{lock}); {inside} pthread_mutex_unlock(&{lock});'
            yield f'static void action{n}(long id) {{ long sink = 0; {body} (void)id, (void)sink; AGAIN(); }}'
        yield 'static void (*const actions[])(long) = { action0, action1, action2 };'
        yield 'static NOINLINE void indirect(void (*f)(long), long id) { f(id); AGAIN(); }'
        yield f'static NOINLINE void deep(int n, long id) {{ if (n) deep(n - 1, id); else {{ long sink = 0; {self.change(self.scalar()[0])} (void)sink; }} AGAIN(); }}'
        yield 'static NOINLINE long step(long id, long round)'
        yield '{'
        yield '    long sink = 0, from = id * K, to = from + K;'
        yield f'    {NEWLINE.join(self.statements(2))}'
        yield f'    {self.barrier}'
        yield f'    {NEWLINE.join(self.statements(2))}'
        yield '    (void)from, (void)to, (void)round;'
        yield '    return sink;'
        yield '}'
        for n in range(self.kinds):
            yield from self.worker(n)
        yield 'int main(void)'
        yield '{'
        yield '    pthread_t threads[THREADS];'
        yield '    long id = 99, sink = 0;'
        yield '    p5 = malloc(sizeof *p5), *p5 = 4;'
        yield '    rounds = atoi("3");'
        yield '    for (int i = 0; i < THREADS; i++) blocks[i] = calloc(1, sizeof **blocks);'
        for n in range(3):
            if self.chance(2):
                yield f'    for (int i = 0; i < N; i++) a{n}[i] = i;'
        if self.chance(5):
            yield '    blocks[THREADS - 1] = blocks[0];'
        yield f'    {self.change(early)}'
        yield f'    pthread_barrier_init(&barrier, NULL, {count});'
        yield '    for (long i = 0; i < THREADS; i++)'
        yield '        pthread_create(&threads[i], NULL, ' + ('work0' if self.kinds == 1 else 'i % 2 ? work1 : work0') + ', (void *)(intptr_t)i);'
        if self.chance(3):
            yield f'    {self.change(late)}'
        yield '    for (long i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);'
        yield '    sink += s0 + a0[3] + a1[4] + g[1][1] + items[9].y + *p3 + id;'
        yield '    printf("%d\\n", sink == 12345);'
        yield '    return 0;'
        yield '}'


def check_number(t, number):
    source = os.path.join(t.folder(str(number)), 'generated.c')
    with open(source, 'w') as file:
        file.write('\n'.join(Program(number).text()) + '\n')
    compiler = os.path.join(t.settings.build, 'bin', 'heddle-cc')
    built = {select: t.compile(source, [f'--select={select}', '-O1'], name=t.path(str(number), select), compiler=compiler)
             for select in ('all', *golden.SELECTS)}
    others = {select: golden.sites(t, built[select]) for select in golden.SELECTS}
    raced = golden.compare(t, built['all'], others, (0, number + 1))
    shutil.rmtree(t.path(str(number)))
    for trace in glob.glob(t.path('trace-*')):
        shutil.rmtree(trace)
    return raced


def case_generated(t):
    first, count = t.batch * PER_BATCH, t.count(8, PER_BATCH)
    raced = [check_number(t, number) for number in range(first, first + count)]
    t.check(any(raced), f'none of {count} programs has a race: they show nothing')
    t.notes.append(f'{count} programs, {sum(map(bool, raced))} with races, at {sum(raced)} places')


case_generated.batches = BATCHES
