// The index comes from a table that sends two threads to the same element.
// expect: race a a
#include "golden.h"

static int where[8] = { 0, 1, 2, 3, 3, 2, 1, 0 }, a[4];

static void *work(void *arg)
{
	long id = id_of(arg);

	for (long i = id * 4; i < (id + 1) * 4; i++)
		a[where[i]]++; // @a
	return NULL;
}

int main(void)
{
	team(2, work);
	printf("%d\n", a[0]);
	return 0;
}
