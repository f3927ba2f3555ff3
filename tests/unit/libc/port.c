/*
 * Instead of interpose/libc/port.c: the stubs of libc functions without Heddle. Sections are plain recursive locks,
 * always taken, as if there were threads; LIBC_SINGLE=1 in the environment of the program says there are none.
 * At exit, LIBC_COUNT_FILE names a file that gets "entered left still-held".
 */
#define _GNU_SOURCE
#include "interpose/libc/libc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t threads = 1;
const uint32_t *const libc_threads = &threads;

static struct lock {
	uint64_t object;
	uint32_t word, owner, depth;
} locks[4096];
static uint64_t entered, left;

static long call(long nr, long a, long b, long c)
{
	/* no libc: errno stays, and vector registers */
#ifdef __aarch64__
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = 0;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#else
	register long r10 __asm__("r10") = 0;
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return result;
#endif
}

static __thread uint32_t self __attribute__((tls_model("initial-exec")));

static struct lock *find(uint64_t object)
{
	if (!self)
		self = (uint32_t)call(SYS_gettid, 0, 0, 0);
	for (uint64_t h = (object ^ object >> 12) >> (object > 64 ? 4 : 0);; h++) {
		struct lock *l = &locks[h % 4096];
		uint64_t there = __atomic_load_n(&l->object, __ATOMIC_ACQUIRE), none = 0;
		if (!there &&
		    __atomic_compare_exchange_n(&l->object, &none, object, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			there = object;
		else if (!there)
			there = none;
		if (there == object)
			return l;
	}
}

long libc_section_enter(uint64_t object, unsigned how)
{
	struct lock *l = find(object);
	__atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&l->owner, __ATOMIC_RELAXED) == self) {
		l->depth++;
		return 0;
	}
	uint32_t free = 0;
	if (!__atomic_compare_exchange_n(&l->word, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (how & SECTION_TRY)
			return EBUSY;
		while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE))
			call(SYS_futex, (long)&l->word, FUTEX_WAIT_PRIVATE, 2);
	}
	__atomic_store_n(&l->owner, self, __ATOMIC_RELAXED);
	l->depth = 1;
	return 0;
}

void libc_section_leave(uint64_t object, unsigned how)
{
	struct lock *l = find(object);
	(void)how;
	__atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&l->owner, __ATOMIC_RELAXED) != self || --l->depth)
		return;
	__atomic_store_n(&l->owner, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		call(SYS_futex, (long)&l->word, FUTEX_WAKE_PRIVATE, 1);
}

static __thread uint64_t stack_low __attribute__((tls_model("initial-exec")));
static __thread uint64_t stack_high __attribute__((tls_model("initial-exec")));

/* Asked once per thread, on the way to a stub: it may call stubs itself, which then find nothing known. */
void libc_thread_stack(uint64_t *low, uint64_t *high)
{
	if (!stack_high) {
		pthread_attr_t attr;
		void *base;
		size_t size;
		stack_high = 1;
		if (!pthread_getattr_np(pthread_self(), &attr)) {
			pthread_attr_getstack(&attr, &base, &size);
			stack_low = (uint64_t)base;
			stack_high = stack_low + size;
			pthread_attr_destroy(&attr);
		}
	}
	stack_t other;
	*low = *high = 0;
	if (sigaltstack(0, &other) || other.ss_flags & SS_ONSTACK)
		return;
	*low = stack_low;
	*high = stack_high;
}

/* For programs under test: how many sections are held now. */
__attribute__((visibility("default"))) unsigned libc_test_held(void);
unsigned libc_test_held(void)
{
	unsigned held = 0;
	libc_settle(); /* the program has called this function */
	for (unsigned i = 0; i < 4096; i++)
		held += locks[i].word != 0;
	return held;
}

__attribute__((constructor)) static void begin(void)
{
	for (char **e = environ; e && *e; e++)
		if (!strncmp(*e, "LIBC_SINGLE=", 12))
			threads = 0;
}

static void end(void)
{
	const char *path = 0;
	for (char **e = environ; e && *e; e++)
		if (!strncmp(*e, "LIBC_COUNT_FILE=", 16))
			path = *e + 16;
	if (!path)
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	char text[64] = { 0 };
	uint64_t numbers[2] = { entered, left };
	char *p = text + 62;
	for (int i = 1; i >= 0; i--, *--p = ' ')
		do
			*--p = (char)('0' + numbers[i] % 10);
		while (numbers[i] /= 10);
	if (write(fd, p + 1, (size_t)(text + 62 - p - 1)) < 0)
		_exit(99);
	close(fd);
}
__attribute__((destructor)) static void finish(void)
{
	end();
}
