// Every thread initialises the locks before it uses them: who holds one is not alone.
// expect: race a a
// expect: race b b
#include "golden.h"

static pthread_mutex_t mutex;
static pthread_spinlock_t spin;
static int with_mutex, with_spin;

static void *work(void *arg)
{
	(void)arg;
	pthread_mutex_init(&mutex, NULL);
	pthread_spin_init(&spin, 0);
	for (int i = 0; i < 10; i++) {
		while (pthread_mutex_trylock(&mutex)) /* who sleeps at a lock that is made anew may sleep for ever */
			sched_yield();
		with_mutex++; // @a
		pthread_mutex_unlock(&mutex);
		while (pthread_spin_trylock(&spin))
			sched_yield();
		with_spin++; // @b
		pthread_spin_unlock(&spin);
	}
	return NULL;
}

int main(void)
{
	team(3, work);
	printf("%d %d\n", with_mutex, with_spin);
	return 0;
}
