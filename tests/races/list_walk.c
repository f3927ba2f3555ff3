// A list that is changed under a lock and walked without it.
// expect: race p q
#include "golden.h"

static struct node {
	struct node *next;
	int value;
} *volatile list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void push(int value)
{
	struct node *n = malloc(sizeof *n);

	n->value = value;
	pthread_mutex_lock(&lock);
	n->next = list;
	list = n; // @p
	pthread_mutex_unlock(&lock);
}

static NOINLINE int find(int value)
{
	for (struct node *n = list; n; n = n->next) // @q
		if (n->value == value)
			return 1;
	return 0;
}

static void *work(void *arg)
{
	for (int i = 0; i < 10; i++) {
		push((int)id_of(arg) * 10 + i);
		find(i);
	}
	return NULL;
}

int main(void)
{
	team(3, work);
	return !find(5);
}
