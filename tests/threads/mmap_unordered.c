/*
 * As mmap_same, but without any lock of the program's: whoever finds the agreed place free (MAP_FIXED_NOREPLACE) has it,
 * the others get EEXIST. Only the order of the calls themselves can bring the same winners back.
 */
// run: varies
#include "threads.h"
#include <sys/mman.h>

enum { THREADS = 4, ROUNDS = 400 };
static char *place;
static size_t page;
static unsigned won[THREADS];
static uint64_t pattern[THREADS];

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < ROUNDS; i++) {
		char *p = mmap(place, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			       -1, 0);
		pattern[me] = pattern[me] * 3 + (p != MAP_FAILED);
		if (p == MAP_FAILED) {
			CHECK(errno == EEXIST);
			dawdle(3000);
			continue;
		}
		CHECK(p == place && *p == 0);
		*p = (char)(me + 1);
		dawdle(3000);
		CHECK(*p == (char)(me + 1));
		won[me]++;
		CHECK(munmap(p, page) == 0);
		dawdle(3000);
	}
	return NULL;
}

int main(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	place = (char *)0x6000000000; /* far from where the kernel, or heddle, places things */
	crew_start(THREADS, work);
	crew_join(THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: won %u, pattern %016llx\n", i, won[i], (unsigned long long)pattern[i]);
	return 0;
}
