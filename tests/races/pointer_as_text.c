// A pointer becomes text, and a pointer again.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node {
	volatile long value;
};
static char name[40];
static void *work(void *arg)
{
	char own[40];
	memcpy(own, name, sizeof own);
	struct node *n = (struct node *)strtoul(own, NULL, 16);
	for (int i = 0; i < 10000; i++)
		n->value++; // @a
	return NULL;
}
int main(void)
{
	pthread_t t;
	struct node *n = malloc(sizeof *n);
	n->value = 0;
	snprintf(name, sizeof name, "%p", (void *)n);
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(t, NULL);
	printf("%ld\n", n->value);
}
