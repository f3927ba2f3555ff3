// The number comes from a counter under a lock, but it is taken by who creates the threads, and given to two of them.
// expect: race a a
#include "golden.h"

static int next_id, table[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	for (int i = 0; i < 10; i++) {
		table[id_of(arg)] += i; // @a
		LOOK_AGAIN();
	}
	return NULL;
}

static void *create(void *arg)
{
	pthread_t threads[4];

	(void)arg;
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&lock);
		long id = next_id++;
		pthread_mutex_unlock(&lock);
		for (int k = 0; k < 2; k++)
			pthread_create(&threads[i * 2 + k], NULL, work, (void *)id);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return NULL;
}

int main(void)
{
	team(1, create);
	printf("%d\n", table[0]);
	return 0;
}
