// Two threads, two fields of one struct: different memory.
// expect: none a b because different fields
#include "golden.h"

static struct {
	long left, right;
} both;

static void *left(void *arg)
{
	(void)arg;
	both.left = 1; // @a
	return NULL;
}

static void *right(void *arg)
{
	(void)arg;
	both.right = 2; // @b
	return NULL;
}

int main(void)
{
	pair(left, right);
	printf("%ld %ld\n", both.left, both.right);
	return 0;
}
