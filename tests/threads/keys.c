/*
 * Thread-specific data: destructors run when a thread ends, again while they set values, and in an order that is the
 * implementation's. Threads take keys while others run (which key they get is a race), and end at any time.
 */
// run: varies
#include "threads.h"

enum { THREADS = 6, KEYS = 40 };
static pthread_key_t common, again;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals destroyed, keys_given;

static void destroy(void *value)
{
	pthread_mutex_lock(&lock);
	arrive(&destroyed, (unsigned)(uintptr_t)value - 1);
	pthread_mutex_unlock(&lock);
}

static void destroy_again(void *value)
{
	uintptr_t rounds = (uintptr_t)value;

	destroy((void *)(rounds % 100));
	if (rounds > 200) /* twice more */
		CHECK(pthread_setspecific(again, (void *)(rounds - 100)) == 0);
}

static void *work(void *argument)
{
	unsigned me = ME(argument);
	pthread_key_t own[KEYS];

	CHECK(pthread_getspecific(common) == NULL);
	for (int i = 0; i < KEYS; i++) {
		CHECK(pthread_key_create(&own[i], destroy) == 0);
		pthread_mutex_lock(&lock);
		arrive(&keys_given, own[i]);
		pthread_mutex_unlock(&lock);
		CHECK(pthread_getspecific(own[i]) == NULL);
		CHECK(pthread_setspecific(own[i], (void *)(uintptr_t)(me + 1)) == 0);
		dawdle(1000);
	}
	for (int i = 0; i < KEYS; i++) {
		CHECK(pthread_getspecific(own[i]) == (void *)(uintptr_t)(me + 1));
		CHECK(pthread_key_delete(own[i]) == 0); /* its destructor will not run */
	}
	CHECK(pthread_setspecific(common, (void *)(uintptr_t)(me + 1)) == 0);
	CHECK(pthread_setspecific(again, (void *)(uintptr_t)(300 + me + 1)) == 0);
	if (me % 2)
		pthread_exit(NULL);
	return NULL;
}

int main(void)
{
	CHECK(pthread_key_create(&common, destroy) == 0 && pthread_key_create(&again, destroy_again) == 0);
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("keys", &keys_given);
	print_arrivals("destroyed", &destroyed);
	CHECK(destroyed.count == THREADS * 4);
	return 0;
}
