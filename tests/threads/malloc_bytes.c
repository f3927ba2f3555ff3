/*
 * Programs that look at what malloc gave them before they write to it see what was there: zeros, what an earlier owner
 * left, or the allocator's own links. Which block comes to whom differs from run to run; at replay all must be
 * the same. Large blocks, which go back to the system, and realloc, which moves pages, are among them.
 */
// run: varies
#include "threads.h"

enum { THREADS = 4, ROUNDS = 1500, SHELVES = 200 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *shelf[SHELVES];
static uint64_t seen[THREADS];
static struct arrivals order;

static uint64_t look(uint64_t hash, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i += i < 64 ? 1 : 509)
		hash = (hash ^ p[i]) * 0x100000001b3ull;
	return hash;
}

static size_t some_size(void)
{
	switch (chance(40)) {
	case 0: return 1 + chance(9 << 20);
	case 1:
	case 2: return 1 + chance(200000);
	default: return 1 + chance(2000);
	}
}

static void *work(void *argument)
{
	unsigned me = ME(argument);
	for (int i = 0; i < ROUNDS; i++) {
		size_t n = some_size();
		unsigned char *volatile fresh =
			malloc(n); /* volatile: or the compiler knows that the bytes mean nothing */
		unsigned char *p = fresh;
		CHECK(p);
		seen[me] = look(seen[me] ^ (uintptr_t)p, p, n);
		memset(p, (int)(me * 40 + (unsigned)i % 40), n);
		if (chance(10) == 0) {
			size_t more = n + some_size();
			fresh = realloc(p, more);
			p = fresh;
			CHECK(p && p[n - 1] == (unsigned char)(me * 40 + (unsigned)i % 40));
			seen[me] = look(seen[me] ^ (uintptr_t)p, p, more);
		}
		unsigned at = chance(SHELVES);
		pthread_mutex_lock(&lock);
		arrive(&order, me);
		unsigned char *old = shelf[at];
		shelf[at] = p;
		pthread_mutex_unlock(&lock);
		free(old);
	}
	return 0;
}

int main(void)
{
	pthread_t thread[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], 0, work, (void *)(uintptr_t)i));
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], 0));
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u saw %#lx\n", i, (unsigned long)seen[i]);
	print_arrivals("order", &order);
	return 0;
}
