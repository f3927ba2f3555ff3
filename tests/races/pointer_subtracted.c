// A pointer is kept as a number minus it.
// expect: race a b
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
struct node {
	volatile long value;
};
static uint64_t key, hidden;
static __attribute__((noinline)) void hide(struct node *n)
{
	hidden = key - (uint64_t)(uintptr_t)n;
}
static __attribute__((noinline)) struct node *show(void)
{
	return (struct node *)(uintptr_t)(key - hidden);
}
static void *work(void *arg)
{
	struct node *n = show();
	for (int i = 0; i < 10000; i++)
		n->value++; // @a
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	key = 0x1234567800000000 + (uint64_t)argc;
	struct node *n = malloc(sizeof *n);
	n->value = 0;
	hide(n);
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(t, NULL);
	printf("%ld\n", n->value);
}
