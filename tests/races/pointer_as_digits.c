// A pointer becomes digits, which are looked up in a table, and a pointer again.
// expect: race a b
#include "golden.h"

struct node {
	volatile long value;
};
static char name[16];
static const char digits[] = "0123456789abcdef";

static void *work(void *arg)
{
	uintptr_t address = 0;

	for (int i = 0; i < 16; i++)
		address = address << 4 | (uintptr_t)(strchr(digits, name[i]) - digits);
	struct node *n = (struct node *)address;
	for (int i = 0; i < 10000; i++)
		n->value++; // @a
	return arg;
}

int main(void)
{
	pthread_t thread;
	struct node *n = malloc(sizeof *n);

	n->value = 0;
	for (int i = 0; i < 16; i++)
		name[i] = digits[(uintptr_t)n >> (60 - 4 * i) & 15];
	pthread_create(&thread, NULL, work, NULL);
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(thread, NULL);
	printf("%ld\n", n->value);
	return 0;
}
