// A pointer that travels as a double.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
struct node {
	volatile long value;
};
union value {
	double d;
	uint64_t bits;
	void *p;
};
static double slot;
static __attribute__((noinline)) double box(void *p)
{
	union value v = { .bits = (uint64_t)(uintptr_t)p | 0xfff8000000000000 };
	return v.d;
}
static __attribute__((noinline)) void *unbox(double d)
{
	union value v = { .d = d };
	return (void *)(uintptr_t)(v.bits & 0x7ffffffffffff);
}
static void *work(void *arg)
{
	struct node *n = unbox(slot);
	for (int i = 0; i < 10000; i++)
		n->value++; // @a
	return NULL;
}
int main(void)
{
	pthread_t t;
	struct node *n = malloc(sizeof *n);
	n->value = 0;
	slot = box(n);
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(t, NULL);
	printf("%ld\n", n->value);
}
