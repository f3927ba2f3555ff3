/*
 * Pointers that lead nowhere: wild NUMBER [loop] reads at one of them and dies; without a number all are tried, and a handler tells where each was.
 * wild tag: a pointer with something in its top byte, which aarch64 ignores.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t wild[] = { 8,
				 0xdeadbeef,
				 0x4141414141414141,
				 0xdeadbeefdeadbeef,
				 ~0ull,
				 0x0000ffffffffff00,
				 0x0000700000000000,
				 0x00006b0000001000,
				 0x0001000000000000,
				 0x7fffffffffffffff };
static sigjmp_buf back;
static volatile uint64_t where, shared, over;

static void fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	where = (uint64_t)info->si_addr;
	siglongjmp(back, 1);
}

static void *count(void *unused)
{
	while (!over)
		shared++;
	return unused;
}

__attribute__((noinline)) static uint64_t get(volatile uint64_t *p)
{
	return *p;
}

__attribute__((noinline)) static void add(uint32_t *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		p[i] += i;
}

static int tagged(void)
{
	uint64_t *p = malloc(4096), copy[8];
	uint64_t *q = (uint64_t *)((uintptr_t)p | 0x5aull << 56);

	for (unsigned i = 0; i < 512; i++)
		p[i] = i;
	add((uint32_t *)q, 64);
	memcpy(copy, q + 3, sizeof copy);
	memmove(q + 1, p, 64);
	printf("%llu %llu %llu\n", (unsigned long long)get(q + 5), (unsigned long long)copy[2],
	       (unsigned long long)__atomic_add_fetch(q, 7, __ATOMIC_RELAXED));
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	pthread_t thread;

	if (pthread_create(&thread, NULL, count, NULL))
		return 2;
	while (!shared)
		;
	if (argc > 1 && !strcmp(argv[1], "tag"))
		return tagged();
	if (argc > 2)
		add((uint32_t *)wild[atoi(argv[1])], 100);
	if (argc > 1)
		return get((uint64_t *)wild[atoi(argv[1])]) == 77;
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	for (volatile unsigned k = 0; k < sizeof wild / sizeof *wild; k++)
		if (!sigsetjmp(back, 1))
			printf("%llx", (unsigned long long)get((uint64_t *)wild[k]));
		else
			printf("%016llx: %016llx\n", (unsigned long long)wild[k], (unsigned long long)where);
	over = 1;
	pthread_join(thread, NULL);
	return 0;
}
