// Threads get their numbers from a counter under a lock, and count down again when they have ended: the next one gets a number that another still has.
// expect: rare a a because one must come while another, that came before a third, is still there
#include "golden.h"

static int next_id, table[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	int id = next_id++;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 10; i++) {
		table[id] += i; // @a
		LOOK_AGAIN();
	}
	pthread_mutex_lock(&lock);
	next_id--;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", table[0]);
	return 0;
}
