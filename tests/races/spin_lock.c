// A spinlock is a lock.
// expect: none a because under a spinlock
#include "golden.h"

static int shared;
static pthread_spinlock_t lock;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		pthread_spin_lock(&lock);
		shared++; // @a
		pthread_spin_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	team(3, work);
	printf("%d\n", shared);
	return 0;
}
