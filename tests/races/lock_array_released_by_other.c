// The right lock of an array of locks; but a third thread releases it, though another has it: then two are in.
// expect: rare a a because the third must come while one is in
#include "golden.h"

static pthread_mutex_t locks[4];
static long stripes[4];

static void *work(void *arg)
{
	long s = id_of(arg) % 2;

	if (id_of(arg) == 2) {
		usleep(100);
		pthread_mutex_unlock(&locks[0]);
		return NULL;
	}
	for (long i = 0; i < 40; i++) {
		pthread_mutex_lock(&locks[s]);
		stripes[s]++; // @a
		LOOK_AGAIN();
		pthread_mutex_unlock(&locks[s]);
	}
	return NULL;
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		pthread_mutex_init(&locks[i], NULL);
	team(4, work);
	printf("%ld\n", stripes[1]);
	return 0;
}
