/*
 * Threads allocate under a limit until there is no more: who is refused, and when, differs from run to run, and must be
 * the same at replay, where there is no such limit. errno is ENOMEM, and what was there before is whole.
 */
// run: varies
#include "threads.h"
#include <sys/resource.h>

enum { THREADS = 3, ROUNDS = 600 };
static unsigned refused[THREADS];
static uint64_t places[THREADS];
static pthread_barrier_t gate; /* else the last thread may find no memory for its stack */

static void *work(void *argument)
{
	unsigned me = ME(argument);
	void *p[ROUNDS] = { 0 };
	pthread_barrier_wait(&gate);
	for (int i = 0; i < ROUNDS; i++) {
		size_t n = 1 + chance(chance(3) ? 3000 : 3000000);
		errno = 0;
		p[i] = chance(2) ? malloc(n) : calloc(n, 1);
		CHECK(p[i] || errno == ENOMEM);
		refused[me] += !p[i];
		places[me] = places[me] * 31 + (uintptr_t)p[i];
		if (p[i])
			memset(p[i], 7, 1);
		if (chance(4) == 0) {
			unsigned k = chance((uint32_t)i + 1);
			errno = 0;
			void *q = p[k] ? realloc(p[k], n) : 0;
			CHECK(q || !p[k] || (errno == ENOMEM && *(char *)p[k] == 7));
			if (q)
				p[k] = q;
		}
	}
	for (int i = 0; i < ROUNDS; i++)
		free(p[i]);
	return 0;
}

int main(void)
{
	/* Under Heddle more is mapped from the start: the limit counts from what is there. */
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	CHECK(f && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	struct rlimit limit;
	CHECK(!getrlimit(RLIMIT_AS, &limit));
	pthread_t thread[THREADS];
	limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (300ul << 20);
	CHECK(!setrlimit(RLIMIT_AS, &limit));
	CHECK(!pthread_barrier_init(&gate, 0, THREADS));
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], 0, work, (void *)(uintptr_t)i));
	unsigned all = 0;
	for (unsigned i = 0; i < THREADS; i++) {
		CHECK(!pthread_join(thread[i], 0));
		printf("thread %u: %u refused, addresses %#lx\n", i, refused[i], (unsigned long)places[i]);
		all += refused[i];
	}
	CHECK(all);
	return 0;
}
