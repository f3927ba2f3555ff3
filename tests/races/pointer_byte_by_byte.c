// A pointer is copied byte by byte, by the program itself.
// expect: race a b
#include "golden.h"

struct node {
	volatile int value;
};
static struct box {
	struct node *node;
} there;

static NOINLINE void copy(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		__asm__ volatile("" ::: "memory"); /* no memcpy */
	}
}

static void *other(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++)
		there.node->value++; // @a
	return NULL;
}

int main(void)
{
	struct box here = { calloc(1, sizeof *here.node) };
	pthread_t thread;

	copy((char *)&there, (const char *)&here, sizeof here);
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < 1000; i++)
		here.node->value++; // @b
	pthread_join(thread, NULL);
	return 0;
}
