/*
 * Threads map, write, unmap and map again, so that the kernel gives one thread's old addresses to another; some ask for
 * the very address with MAP_FIXED that another has just left. At replay an mmap that comes before the other's munmap
 * destroys memory in use: that shows as a wrong value or a crash.
 */
// run: varies
#include "threads.h"
#include <sys/mman.h>

enum { THREADS = 4, ROUNDS = 120, PAGES = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals order;
static void *arena; /* its pages are handed around: owner[i] says whose page i is */
static int owner[PAGES];
static unsigned long places[THREADS];
static size_t page;

static void *map(void *at, int fixed)
{
	void *p = mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void use(unsigned long *p, unsigned long value)
{
	CHECK(p[0] == 0 && p[1] == 0); /* fresh */
	p[0] = value;
	dawdle(500);
	p[1] = value;
	CHECK(p[0] == value);
}

static int take_page(unsigned me)
{
	int found = -1;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < PAGES && found < 0; i++)
		if (!owner[i])
			found = i;
	if (found >= 0) {
		owner[found] = 1;
		arrive(&order, me);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (unsigned i = 0; i < ROUNDS; i++) {
		void *p = map(NULL, 0);
		use(p, i);
		places[me] = places[me] * 31 + (unsigned long)p;
		CHECK(munmap(p, page) == 0);
		int n = take_page(me);
		if (n < 0)
			continue;
		p = map((char *)arena + (size_t)n * page, MAP_FIXED); /* replaces what the last owner left */
		use(p, me * 1000 + i);
		if (chance(2))
			CHECK(mmap(p, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
		pthread_mutex_lock(&lock);
		owner[n] = 0;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	arena = mmap(NULL, PAGES * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(arena != MAP_FAILED);
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("pages", &order);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: %016lx\n", i, places[i]);
	return 0;
}
