// hsearch is given a pointer in a structure that is passed by value.
// expect: race a b
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
struct node {
	volatile long value;
};
static void *work(void *arg)
{
	ENTRY e = { .key = "k" }, *found = hsearch(e, FIND);
	struct node *n = found->data;
	for (int i = 0; i < 10000; i++)
		n->value++; // @a
	return NULL;
}
int main(void)
{
	pthread_t t;
	hcreate(10);
	struct node *n = malloc(sizeof *n);
	n->value = 0;
	ENTRY e = { .key = "k", .data = n };
	hsearch(e, ENTER);
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(t, NULL);
	printf("%ld\n", n->value);
}
