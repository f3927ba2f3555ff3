// A counter in the upper bits of a number comes round: the same number is given to two.
// expect: race a a
#include "golden.h"
#include <unistd.h>

static uint64_t turn;
static int rounds;

static void *work(void *arg)
{
	(void)arg;
	for (int k = 0; k < 1000; k++)
		if (__atomic_fetch_add(&turn, (uint64_t)1 << 56, __ATOMIC_RELAXED) == 0) {
			usleep(2000);
			rounds++; // @a
		}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", rounds);
	return 0;
}
