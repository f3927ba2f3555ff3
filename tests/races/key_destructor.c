// A destructor of thread-specific data adds the thread's count to the total, under a lock.
// expect: none a b because own block; and under lock
#include "golden.h"

static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void add_up(void *value)
{
	long *count = value;

	pthread_mutex_lock(&lock);
	total += *count; // @b
	pthread_mutex_unlock(&lock);
	free(count);
}

static void *work(void *arg)
{
	long *count = malloc(sizeof *count);

	*count = 0;
	pthread_setspecific(key, count);
	for (long i = 0; i <= id_of(arg); i++) {
		++*(long *)pthread_getspecific(key); // @a
		LOOK_AGAIN();
	}
	return NULL;
}

int main(void)
{
	pthread_key_create(&key, add_up);
	team(4, work);
	printf("%ld\n", total);
	return 0;
}
