// A list whose elements have a lock each, but what is changed is the next one.
// expect: race a a
#include "golden.h"

struct node {
	struct node *next;
	pthread_mutex_t lock;
	long value;
};
static struct node *list;

static void *work(void *arg)
{
	for (long turn = 0; turn < 20; turn++)
		for (struct node *n = list; n->next; n = n->next) {
			struct node *locked = id_of(arg) ? n : n->next;
			pthread_mutex_lock(&locked->lock);
			n->next->value += turn; // @a
			pthread_mutex_unlock(&locked->lock);
		}
	return NULL;
}

int main(void)
{
	for (int i = 0; i < 8; i++) {
		struct node *n = calloc(1, sizeof *n);
		pthread_mutex_init(&n->lock, NULL);
		n->next = list;
		list = n;
	}
	team(4, work);
	printf("%ld\n", list->next->value);
	return 0;
}
