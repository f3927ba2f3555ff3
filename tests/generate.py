"""Random racy programs in C, made from a seed: the same seed gives the same program.

A program is threads x phases (barriers between them), each a loop around some operations: plain and atomic accesses of
all sizes that overlap, ranges, loops over arrays, locks, blocks that are freed and reused, system calls on shared
buffers, signals, threads of threads. Operations have numbers, so that those that a failure does not need can be
dropped.
"""
import random

SIZES = ('uint8_t', 'uint16_t', 'uint32_t', 'uint64_t')
BYTES = {'uint8_t': 1, 'uint16_t': 2, 'uint32_t': 4, 'uint64_t': 8}
ORDERS = ('__ATOMIC_RELAXED', '__ATOMIC_ACQUIRE', '__ATOMIC_SEQ_CST')
FETCH = ('fetch_add', 'fetch_sub', 'fetch_and', 'fetch_or', 'fetch_xor', 'exchange_n')


class Operation:
    """A statement of C; `inner` are those inside it, where the text says {inner}."""

    def __init__(self, number, text, inner=()):
        self.number, self.text, self.inner = number, text, inner

    def emit(self, dropped):
        if self.number in dropped:
            return ''
        return self.text.replace('{inner}', ''.join(o.emit(dropped) for o in self.inner))

    def numbers(self):
        return [self.number] + [n for o in self.inner for n in o.numbers()]


class Program:
    def __init__(self, seed):
        self.seed, self.rng, self.count = seed, random.Random(seed), 0
        rng = self.rng
        self.threads = rng.choice((2, 2, 2, 3, 3, 4, 4, 5, 8, 16))
        self.phases = rng.choice((1, 1, 2, 3))
        self.signals = rng.random() < 0.3
        self.children = rng.random() < 0.2
        self.kinds = rng.sample(list(KINDS), rng.randint(3, len(KINDS)))
        self.rounds = max(2, rng.choice((40, 150, 400)) // self.threads)
        self.work = [[self.operations(thread, phase, rng.randint(1, 7), 0) for phase in range(self.phases)]
                     for thread in range(self.threads)]

    def make(self, text, inner=()):
        self.count += 1
        return Operation(self.count, text, inner)

    def operations(self, thread, phase, n, depth):
        kinds = [k for k in self.kinds if depth == 0 or k not in NOT_INSIDE]
        if depth > 2:
            kinds = [k for k in kinds if k != 'locked']     # each depth has its own mutex: nobody waits in a circle
        kinds = kinds or ['plain']
        if depth == 0 and self.signals and self.rng.random() < 0.3:
            kinds = kinds + ['signal']
        if depth == 0 and self.children and self.rng.random() < 0.3:
            kinds = kinds + ['child']
        return [({**KINDS, **RARE})[self.rng.choice(kinds)](self, thread, phase, depth) for _ in range(n)]

    # ---- where

    def offset(self, thread, phase, size, aligned):
        """A place in memory, as C; `i` counts rounds."""
        rng = self.rng
        step = size if aligned else 1
        where = rng.choice(('hot', 'hot', 'hot', 'edge', 'own line', 'own page', 'turns', 'table', 'walk'))
        at = rng.randrange(0, max(1, 40 - size), step)
        if where == 'hot':
            base = 0
        elif where == 'edge':
            base, at = 4096 - 8 * (1 + size // 8), rng.randrange(0, 16, step)
        elif where == 'own line':
            base = 4096 + thread * 48 // 16 * 16
        elif where == 'own page':
            base = (3 + thread % 3) * 4096 + thread // 3 * 512
        elif where == 'turns':
            base = 2 * 4096 + (thread + phase) % self.threads * 128
        elif where == 'table':
            base, at = 6 * 4096, rng.randrange(0, 2048, step)
        else:
            return f'({rng.randrange(0, 4096, 64)} + i * {rng.choice((8, 24, 136, 4096))} % {rng.choice((64, 4096, 20480))})'
        return str((base + at) // step * step)

    def value(self):
        return f'(hash + i * {self.rng.randrange(1, 99)} + {self.rng.randrange(1000)})'


# ---- operations: each gets program, thread, phase, depth ----------------------------------------------------

def plain(p, thread, phase, depth):
    type = p.rng.choice(SIZES)
    aligned = p.rng.random() < 0.7
    place = f'{"AT" if aligned else "UNALIGNED"}({type}, {p.offset(thread, phase, BYTES[type], aligned)})'
    return p.make(p.rng.choice((
        f'note(&hash, {place});\n',
        f'note(&hash, {place});\n',
        f'{place} = ({type}){p.value()};\n',
        f'{place} += ({type}){p.value()};\n',
        f'{{ {type} v = {place}; LOOK_AGAIN(); note(&hash, v); {place} = ({type})(v + 1); }}\n')))


def atomic(p, thread, phase, depth):
    type = p.rng.choice(SIZES)
    place = f'&AT({type}, {p.offset(thread, phase, BYTES[type], True)})'
    order, fetch = p.rng.choice(ORDERS), p.rng.choice(FETCH)
    store = '__ATOMIC_RELEASE' if order == '__ATOMIC_ACQUIRE' else order
    return p.make(p.rng.choice((
        f'note(&hash, __atomic_load_n({place}, {order}));\n',
        f'__atomic_store_n({place}, ({type}){p.value()}, {store});\n',
        f'note(&hash, __atomic_{fetch}({place}, ({type}){p.value()}, {order}));\n',
        f'{{ {type} want = __atomic_load_n({place}, {order}); note(&hash, __atomic_compare_exchange_n({place}, &want, ({type}){p.value()}, '
        f'{p.rng.choice("01")}, __ATOMIC_SEQ_CST, {order})); note(&hash, want); }}\n')))


def bits(p, thread, phase, depth):
    member = p.rng.choice('abcd')
    place = f'AT(struct bits, {p.offset(thread, phase, 4, True)}).{member}'
    return p.make(p.rng.choice((f'note(&hash, {place});\n', f'{place}++;\n', f'{place} = (unsigned){p.value()} & 7;\n')))


def span(p, thread, phase, depth):
    """memcpy and its like, and copies of structures."""
    n = p.rng.choice((1, 3, 8, 15, 16, 24, 33, 64, 100, 200, 700, 5000))
    a, b = (p.offset(thread, phase, 8, False) for _ in range(2))
    return p.make(p.rng.choice((
        f'memset(memory + {a}, (int)(hash & 255), {n});\n',
        f'memmove(memory + {a}, memory + {b}, {n});\n',
        f'{{ unsigned char copy[{n}]; memcpy(copy, memory + {a}, {n}); note(&hash, copy[i % {n}]); }}\n',
        f'note(&hash, (uint64_t)(memcmp(memory + {a}, memory + {b}, {min(n, 64)}) > 0));\n',
        f'{{ struct part v = UNALIGNED(struct part, {a}); note(&hash, v.b + v.d[3]); v.c = (uint16_t)hash; UNALIGNED(struct part, {b}) = v; }}\n')))


def loop(p, thread, phase, depth):
    """Over an array: what the compiler makes vectors of, and claims before it begins."""
    type, n = p.rng.choice(SIZES), p.rng.choice((5, 16, 40, 200))
    a = p.offset(thread, phase, 8, True)
    return p.make(p.rng.choice((
        f'{{ uint64_t sum = 0; for (unsigned k = 0; k < {n}; k++) sum += AT({type}, {a} + k * sizeof({type})); note(&hash, sum); }}\n',
        f'for (unsigned k = 0; k < {n}; k++) AT({type}, {a} + k * sizeof({type})) += ({type})(hash + k);\n',
        f'for (unsigned k = 1; k < {n}; k++) AT({type}, {a} + k * sizeof({type})) = ({type})(AT({type}, {a} + (k - 1) * sizeof({type})) + 1);\n')))


def spin(p, thread, phase, depth):
    place = p.offset(thread, phase, 4, True)
    read = p.rng.choice((f'AT(volatile uint32_t, {place})', f'__atomic_load_n(&AT(uint32_t, {place}), __ATOMIC_ACQUIRE)'))
    return p.make(f'for (unsigned turns = 0; {read} % 4 != {p.rng.randrange(4)} && ++turns < {p.rng.choice((5, 60))};) note(&hash, turns);\n')


def heap(p, thread, phase, depth):
    slot = p.rng.randrange(6)
    block, at = f'blocks[{slot}]', p.rng.randrange(24)
    return p.make(p.rng.choice((
        f'{{ unsigned char *b = malloc(block_size({slot})); memset(b, (int)(hash & 255), block_size({slot})); '
        f'free(__atomic_exchange_n(&{block}, b, __ATOMIC_SEQ_CST)); }}\n',
        f'{{ unsigned char *b = {block}; LOOK_AGAIN(); note(&hash, b ? b[{at}] : 999); }}\n',      # it may be freed by now
        f'{{ unsigned char *b = __atomic_exchange_n(&{block}, NULL, __ATOMIC_SEQ_CST); if (b) {{ note(&hash, b[{at}]++); '
        f'free(__atomic_exchange_n(&{block}, b, __ATOMIC_SEQ_CST)); }} }}\n',
        f'{{ unsigned char *b = calloc(1, block_size({slot})); note(&hash, b[{at}]); '
        f'free(__atomic_exchange_n(&{block}, b, __ATOMIC_SEQ_CST)); }}\n',
        f'{{ unsigned char *b = __atomic_exchange_n(&{block}, NULL, __ATOMIC_SEQ_CST); if (b) {{ '
        f'b = realloc(b, {p.rng.choice((2, 9, 300))} * block_size({slot})); note(&hash, b[{at}]); '
        f'free(__atomic_exchange_n(&{block}, b, __ATOMIC_SEQ_CST)); }} }}\n')))


def locked(p, thread, phase, depth):
    inner = p.operations(thread, phase, p.rng.randint(1, 3), depth + 1)
    lock = f'(&mutexes[{depth}])'
    return p.make(p.rng.choice((
        f'pthread_mutex_lock{lock};\n{{inner}}pthread_mutex_unlock{lock};\n',
        f'if (!pthread_mutex_trylock{lock}) {{\n{{inner}}pthread_mutex_unlock{lock};\n}} else note(&hash, 7);\n')), inner)


def read_locked(p, thread, phase, depth):
    inner = p.operations(thread, phase, p.rng.randint(1, 3), depth + 1)
    how = p.rng.choice(('rdlock', 'wrlock', 'rdlock'))
    return p.make(f'pthread_rwlock_{how}(&rwlock);\n{{inner}}pthread_rwlock_unlock(&rwlock);\n', inner)


def call(p, thread, phase, depth):
    n, a = p.rng.choice((1, 8, 40, 200)), p.offset(thread, phase, 8, False)
    return p.make(p.rng.choice((
        f'note(&hash, (uint64_t)pwrite(file, memory + {a}, {n}, {p.rng.randrange(200)}));\n',
        f'note(&hash, (uint64_t)pread(file, memory + {a}, {n}, {p.rng.randrange(200)}));\n',
        # who takes another's bytes leaves it waiting for some: there are always as many writes as reads
        f'if (i % 4 == 2 && write(pipes[1], memory + {a}, 4) == 4) note(&hash, (uint64_t)read(pipes[0], memory + {a}, 4));\n',
        'if (i % 8 == 3) nanosleep(&(struct timespec){ 0, 1000 }, NULL);\n',
        'if (i % 4 == 1) sched_yield();\n')))


def string(p, thread, phase, depth):
    a, b, n = p.offset(thread, phase, 8, False), p.offset(thread, phase, 8, False), p.rng.choice((4, 20, 90))
    return p.make(p.rng.choice((
        f'note(&hash, strnlen((char *)memory + {a}, {n}));\n',
        f'strncpy((char *)memory + {a}, (const char *[]){{ "", "abc", "a longer one that has more words" }}[hash % 3], {n});\n',
        f'{{ const void *found = memchr(memory + {b}, 0, {n}); note(&hash, found != NULL); }}\n')))


def send(p, thread, phase, depth):
    return p.make(f'if (i % 16 == {p.rng.randrange(16)}) pthread_kill(threads[{p.rng.randrange(p.threads)}], SIGUSR1);\n')


def child(p, thread, phase, depth):
    """A thread of its own, while the others go on."""
    name = f'child_{p.seed}_{p.count}'
    inner = p.operations(thread, phase, 3, 1)
    return Child(p, name, inner)


class Child(Operation):
    def __init__(self, p, name, inner):
        p.count += 1
        self.name = name
        start = (f'if (i % 16 == 2) {{ pthread_t child; pthread_create(&child, NULL, {name}, (void *)(uintptr_t)hash); void *result; '
                 f'pthread_join(child, &result); note(&hash, (uintptr_t)result); }}\n')
        super().__init__(p.count, start, inner)

    def function(self, dropped):
        body = ''.join(o.emit(dropped) for o in self.inner)
        return (f'static UNUSED void *{self.name}(void *arg)\n{{\nuint64_t hash = (uintptr_t)arg;\nfor (unsigned i = 0; i < 6; i++) {{\n'
                f'{body}LOOK_AGAIN();\n}}\nreturn (void *)(uintptr_t)hash;\n}}\n')


KINDS = {'plain': plain, 'plain too': plain, 'atomic': atomic, 'bits': bits, 'span': span, 'loop': loop, 'spin': spin, 'heap': heap,
         'locked': locked, 'read locked': read_locked, 'call': call, 'string': string}
RARE = {'signal': send, 'child': child}
NOT_INSIDE = {'read locked', 'spin'}    # nor more than one read lock at a time


# ---- the text -----------------------------------------------------------------------------------------------

def functions(program, dropped):
    parts = []
    for thread, phases in enumerate(program.work):
        for phase, operations in enumerate(phases):
            parts += [o.function(dropped) for o in operations if isinstance(o, Child) and o.number not in dropped]
            body = ''.join(o.emit(dropped) + 'LOOK_AGAIN();\n' for o in operations)
            parts.append(f'static void work_{program.seed}_{thread}_{phase}(unsigned me UNUSED, uint64_t *noted)\n{{\nuint64_t hash = *noted;\n'
                         f'for (unsigned i = 0; i < {program.rounds}; i++) {{\n{body}}}\n*noted = hash;\n}}\n')
    names = ', '.join(f'work_{program.seed}_{t}_{f}' for t in range(program.threads) for f in range(program.phases))
    parts.append(f'static work *const work_{program.seed}[] = {{ {names} }};\n')
    return ''.join(parts)


def source(programs, dropped=frozenset()):
    """One file with all these programs, to save links; argv[1] says which."""
    rows = ''.join(f'\t{{ {p.seed}, {p.threads}, {p.phases}, work_{p.seed} }},\n' for p in programs)
    return ('#include "generated.h"\n\n' + '\n'.join(functions(p, dropped) for p in programs)
            + f'\nstatic const struct program programs[] = {{\n{rows}}};\n\nint main(int argc, char **argv)\n{{\n'
            + '\treturn run_seed(programs, sizeof programs / sizeof *programs, argc > 1 ? argv[1] : NULL);\n}\n')


def numbers(program):
    return [n for phases in program.work for operations in phases for o in operations for n in o.numbers()]
