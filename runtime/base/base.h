/*
 * What the runtime has instead of libc: raw system calls, memory, text.
 *
 * Everything of ours inside the recorded process is built on this header. The
 * only instructions that may enter the kernel are in the gate (arch/.../entry.S);
 * errors come back as negative numbers, as the kernel gives them.
 */
#ifndef BASE_H
#define BASE_H
#include <asm/unistd.h>
#include <linux/errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x)	 __builtin_expect(!!(x), 1)
#define unlikely(x)	 __builtin_expect(!!(x), 0)
#define ALIGN_UP(n, a)	 (((uint64_t)(n) + (a)-1) & ~(uint64_t)((a)-1))
#define ALIGN_DOWN(n, a) ((uint64_t)(n) & ~(uint64_t)((a)-1))
#define MIN(a, b)	 ((a) < (b) ? (a) : (b))
#define MAX(a, b)	 ((a) > (b) ? (a) : (b))
#define COUNT(array)	 (sizeof(array) / sizeof((array)[0]))

/* ---- arch/<machine>/entry.S --------------------------------------------- */

long gate(long nr, long a, long b, long c, long d, long e, long f);

/* As gate(), but returns GATE_HELD without entering the kernel if *held is set, also when it
   becomes set just before the system call instruction: see on_signal(). */
long gate_wait(const uint32_t *held, long nr, const uint64_t args[6]);
#define GATE_HELD (-512)

/* Copies between the program's memory and ours; -EFAULT instead of a crash. */
long user_copy(void *to, const void *from, size_t n);
/* Reads a byte of each page of [p, p+n); -EFAULT if one cannot be read. */
long user_probe(const void *p, size_t n);
/* One access of the program's, of 1, 2, 4 or 8 bytes; 0 or -EFAULT. Relaxed. */
long user_load(const void *p, uint64_t size, uint64_t *out);
long user_store(void *p, uint64_t size, uint64_t value);
/* 1: done; 0: *expected is what was there; -EFAULT. Sequentially consistent. */
long user_cas(void *p, uint64_t size, uint64_t *expected, uint64_t desired);
long user_cas16(void *p, uint64_t expected[2], const uint64_t desired[2]);

#define SYS0(n)			  gate(n, 0, 0, 0, 0, 0, 0)
#define SYS1(n, a)		  gate(n, (long)(a), 0, 0, 0, 0, 0)
#define SYS2(n, a, b)		  gate(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS3(n, a, b, c)	  gate(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS4(n, a, b, c, d)	  gate(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS5(n, a, b, c, d, e)	  gate(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define SYS6(n, a, b, c, d, e, f) gate(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static inline bool is_error(long r)
{
	return (unsigned long)r > -4096ul;
}

/* For who looks at a word again and again: some ten nanoseconds. (aarch64's yield does nothing on most cores.) */
static inline void cpu_relax(void)
{
#ifdef __aarch64__
	__asm__ volatile("isb");
#else
	__asm__ volatile("pause");
#endif
}

/* A lock that is held for some instructions; 0 is free. In the child of a fork by another thread it is set to 0
   again. */
static inline void brief_lock(uint32_t *lock)
{
	for (unsigned round = 0; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); round++)
		if (round > 40)
			SYS0(__NR_sched_yield); /* its holder may not be running */
}

static inline void brief_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* ---- base/memory.c ------------------------------------------------------- */

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);

/* ---- base/text.c --------------------------------------------------------- */

/* Text that is put together without allocation; what does not fit is cut. */
struct text {
	char *at, *end;
};

#define TEXT(name, room)                                            \
	char name##_room[room];                                     \
	struct text name = { name##_room, name##_room + (room)-1 }; \
	name##_room[0] = 0
#define TEXT_OF(name) (name##_room)

/* %s text, %d long, %u unsigned long, %x hex with 0x, %c char; nothing else. */
void text_add(struct text *t, const char *format, ...);
uint64_t parse_number(const char **s); /* decimal; advances *s */

/* ---- base/hash.c ----------------------------------------------------------- */

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

/* ---- base/files.c --------------------------------------------------------- */

long file_open(const char *path, int flags, int mode);
void file_close(long fd);
/* Reads all n bytes at offset, or as many as there are. */
long file_read(long fd, void *to, size_t n, uint64_t offset);

/* ---- base/slices.c --------------------------------------------------------- */

void slices_shorten(void);

/* ---- base/futex.c ---------------------------------------------------------- */

/* Waits until *word differs from value, a wake, or ms milliseconds (0: no limit). Shared between processes. */
void futex_wait(uint32_t *word, uint32_t value, unsigned ms);
void futex_wait_nsec(uint32_t *word, uint32_t value, uint64_t nsec); /* less than a second */
void futex_wake(uint32_t *word);
/* A lock whose holder may take long, or be in the kernel: who waits sleeps. 0 free, 1 held, 2 held and somebody may
   sleep: who has slept takes it with 2, since others may sleep, too. */
static inline void sleep_lock(uint32_t *lock)
{
	uint32_t seen = 0;
	for (int i = 0; i < 100; i++, seen = 0)
		if (__atomic_compare_exchange_n(lock, &seen, 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
	while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE))
		futex_wait(lock, 2, 0);
}

static inline void sleep_unlock(uint32_t *lock)
{
	if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2)
		futex_wake(lock);
}
#define WAKE_ALL 0x7fffffff
void nap(uint64_t nsec); /* less than a second */

/* ---- base/fail.c ------------------------------------------------------------ */

/* Heddle cannot go on (disk full, unknown call): stops the whole tree, exit 122. */
_Noreturn void cannot(const char *format, ...);
/* The same, because the trace says what no recording can have. */
_Noreturn void damaged(const char *format, ...);
/* mmap() has returned an error. */
_Noreturn void no_memory(const char *what, long error);
/* We are wrong. */
_Noreturn void bug_at(const char *file, int line, const char *what);
#define BUG(what)    bug_at(__FILE__, __LINE__, what)
#define ASSERT(cond) ((cond) ? (void)0 : BUG(#cond))
#endif
