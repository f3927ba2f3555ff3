// The right lock of an array of locks, but sometimes it is released before the access.
// expect: race a a
#include "golden.h"

#define STRIPES 4
static pthread_mutex_t locks[STRIPES];
static long stripes[STRIPES];

static void *work(void *arg)
{
	for (long i = 0; i < 400; i++) {
		long s = (id_of(arg) + i) % STRIPES;
		pthread_mutex_lock(&locks[s]);
		if (i & 4)
			pthread_mutex_unlock(&locks[s]);
		stripes[s]++; // @a
		LOOK_AGAIN();
		if (!(i & 4))
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
