// Threads get their numbers from a counter under a lock.
// expect: none a because each number is given once
// expect: none n because under lock
#include "golden.h"

static int next_id, table[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	int id = next_id++; // @n
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 10; i++) {
		table[id] += i; // @a
		LOOK_AGAIN();
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", table[3]);
	return 0;
}
