// Threads get their numbers from a counter under a lock, but one of them sets it back: two may get the same.
// expect: rare a a because the counter must be set back between two
#include "golden.h"

static int next_id, table[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	int id = next_id++;
	pthread_mutex_unlock(&lock);
	if (id_of(arg) == 2) {
		pthread_mutex_lock(&lock);
		next_id = 0;
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < 10; i++) {
		table[id] += i; // @a
		LOOK_AGAIN();
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", table[0]);
	return 0;
}
