// A lock for each stripe of a table, chosen by the same expression as the element.
// expect: none a because lock and element have the same index
#include "golden.h"

#define STRIPES 4
static pthread_mutex_t locks[STRIPES];
static long stripes[STRIPES];

static void *work(void *arg)
{
	for (long i = 0; i < 40; i++) {
		long s = (id_of(arg) * 3 + i) % STRIPES;
		pthread_mutex_lock(&locks[s]);
		stripes[s]++; // @a
		pthread_mutex_unlock(&locks[s]);
	}
	return NULL;
}

int main(void)
{
	for (int i = 0; i < STRIPES; i++)
		pthread_mutex_init(&locks[i], NULL);
	team(4, work);
	printf("%ld\n", stripes[0]);
	return 0;
}
