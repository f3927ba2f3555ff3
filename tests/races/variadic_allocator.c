// A variadic function that returns what it allocates keeps a pointer among its values.
// expect: race a b
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
struct node {
	volatile long value;
};
static struct node *kept;
static __attribute__((noinline)) void *make(int size, ...)
{
	va_list l;
	va_start(l, size);
	kept = va_arg(l, struct node *);
	va_end(l);
	return malloc((size_t)size);
}
static void *work(void *arg)
{
	for (int i = 0; i < 10000; i++)
		kept->value++; // @a
	return NULL;
}
int main(void)
{
	pthread_t t;
	struct node *n = malloc(sizeof *n);
	n->value = 0;
	char *p = make(10, n);
	*p = 1;
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(t, NULL);
	printf("%ld %d\n", n->value, *p);
}
