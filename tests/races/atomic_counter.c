// Only atomic accesses: no data race, whatever their order.
// expect: kept a because every access is atomic
#include "golden.h"
#include <stdatomic.h>

static atomic_long count;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++)
		atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); // @a
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%ld\n", count);
	return 0;
}
