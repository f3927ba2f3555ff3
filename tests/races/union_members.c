// Two members of a union: the same memory under two names and types.
// expect: race a b
#include "golden.h"

static union {
	int number;
	float real;
	char text[8];
} shared;

static void *as_number(void *arg)
{
	(void)arg;
	shared.number = 1; // @a
	return NULL;
}

static void *as_text(void *arg)
{
	(void)arg;
	shared.text[2] = 'x'; // @b
	return NULL;
}

int main(void)
{
	pair(as_number, as_text);
	printf("%d\n", shared.number);
	return 0;
}
