// Threads get their numbers from a counter under a lock, but not all under the same one.
// expect: rare a b because two must be at the counter at the same time
#include "golden.h"

static volatile int next_id;
static int table[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	int id = next_id++;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 10; i++) {
		table[id] += i; // @a
		LOOK_AGAIN();
	}
	return NULL;
}

static void *second(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&other);
	int id = next_id++;
	pthread_mutex_unlock(&other);
	for (int i = 0; i < 10; i++) {
		table[id] += i; // @b
		LOOK_AGAIN();
	}
	return NULL;
}

int main(void)
{
	pair(first, second);
	printf("%d\n", table[0]);
	return 0;
}
