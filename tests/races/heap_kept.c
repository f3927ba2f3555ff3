// A block goes to another thread through a list under a lock, but its maker writes into it once more.
// expect: race a b
#include "golden.h"

static struct node {
	volatile int value;
} * slot;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *maker(void *arg)
{
	struct node *n = malloc(sizeof *n);

	(void)arg;
	n->value = 1;
	pthread_mutex_lock(&lock);
	slot = n;
	pthread_mutex_unlock(&lock);
	n->value = 2; // @a
	return NULL;
}

static void *taker(void *arg)
{
	struct node *n = NULL;
	unsigned turns = 0;

	(void)arg;
	while (!n) {
		pthread_mutex_lock(&lock);
		n = slot;
		pthread_mutex_unlock(&lock);
		patience(&turns);
	}
	return (void *)(intptr_t)n->value; // @b
}

int main(void)
{
	pair(maker, taker);
	free(slot);
	return 0;
}
