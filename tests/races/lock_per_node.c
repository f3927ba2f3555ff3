// A list whose elements have a lock each: the lock of the element that is changed, wherever it is.
// expect: none a because under the element's own lock
#include "golden.h"

struct node {
	struct node *next;
	pthread_mutex_t lock;
	long value;
};
static struct node *list;

static void *work(void *arg)
{
	for (struct node *n = list; n; n = n->next) {
		pthread_mutex_lock(&n->lock);
		n->value += id_of(arg); // @a
		pthread_mutex_unlock(&n->lock);
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
	printf("%ld\n", list->value);
	return 0;
}
