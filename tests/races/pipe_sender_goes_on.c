// A pointer goes through a pipe; who sent it goes on with what it points to.
// expect: race a b
#include "golden.h"

struct box {
	long number;
};
static int ends[2];

static void *receiver(void *arg)
{
	struct box *box;

	if (read(ends[0], &box, sizeof box) != sizeof box)
		return NULL;
	long *number = &box->number;
	(*number)++; // @b
	return arg;
}

int main(void)
{
	struct box *box = calloc(1, sizeof *box);
	pthread_t thread;

	if (pipe(ends) || pthread_create(&thread, NULL, receiver, &ends))
		return 1;
	if (write(ends[1], &box, sizeof box) != sizeof box)
		return 1;
	box->number += 2; // @a
	pthread_join(thread, NULL);
	printf("%ld\n", box->number);
	return 0;
}
