// A block goes to another thread through a list under a lock; after that its maker does not touch it.
// expect: kept a b because the list hands it over
#include "golden.h"

static struct node {
	struct node *next;
	int value;
} * list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *maker(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		struct node *n = malloc(sizeof *n);
		n->value = i; // @a
		pthread_mutex_lock(&lock);
		n->next = list;
		list = n;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *taker(void *arg)
{
	long sum = 0;
	unsigned turns = 0;

	(void)arg;
	for (int got = 0; got < 10;) {
		pthread_mutex_lock(&lock);
		struct node *n = list;
		if (n)
			list = n->next;
		pthread_mutex_unlock(&lock);
		if (!n) {
			patience(&turns);
			continue;
		}
		sum += n->value; // @b
		free(n);
		got++;
	}
	return (void *)sum;
}

int main(void)
{
	pair(maker, taker);
	return 0;
}
