/*
 * Blocks made by one thread are freed by another, and all addresses are printed (as a hash): an allocator whose
 * answers depend on who came first gives others at replay. Sizes from 1 byte to 1 MB, realloc, memalign.
 */
// run: varies
#include "threads.h"
#include <malloc.h>

enum { THREADS = 4, ROUNDS = 400, SHELVES = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *shelf[SHELVES];
static size_t room[SHELVES];
static unsigned long places[THREADS];
static struct arrivals order;

static void *make(size_t size)
{
	switch (chance(5)) {
	case 0: return calloc(1, size);
	case 1: return aligned_alloc(64, (size + 63) / 64 * 64);
	case 2: return realloc(malloc(size / 2 + 1), size);
	default: return malloc(size);
	}
}

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < ROUNDS; i++) {
		size_t size = 1 + chance(1u << chance(chance(50) ? 12 : 21));
		unsigned char *p = make(size), byte = (unsigned char)(size % 251);
		CHECK(p && malloc_usable_size(p) >= size);
		memset(p, byte, size);
		places[me] = places[me] * 31 + (unsigned long)p;
		unsigned at = chance(SHELVES);
		pthread_mutex_lock(&lock);
		arrive(&order, me);
		unsigned char *old = shelf[at];
		size_t old_size = room[at];
		shelf[at] = p;
		room[at] = size;
		pthread_mutex_unlock(&lock);
		if (!old)
			continue;
		for (size_t k = 0; k < old_size; k += 1 + old_size / 8)
			CHECK(old[k] == (unsigned char)(old_size % 251));
		free(old);
	}
	return NULL;
}

int main(void)
{
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("order", &order);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: places %016lx\n", i, places[i]);
	for (int i = 0; i < SHELVES; i++)
		free(shelf[i]);
	return 0;
}
