// A block that is read at more places than are compared with one another, and freed beside that: a reader may come to
// read whatever is put there next.
// expect: rare a b because the second block must get the place of the first in time
#include "golden.h"

struct node {
	long v[64];
};
static struct node *volatile node;
static volatile void *volatile last;	      /* nobody uses it */
void note(void *block) __attribute__((weak)); /* code outside knows the block */

#define EIGHT(n) sum += v[n] + v[n + 1] + v[n + 2] + v[n + 3] + v[n + 4] + v[n + 5] + v[n + 6] + v[n + 7]
#define ALL()	 EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)

static void *use(void *arg)
{
	const volatile long *v = node->v;
	long sum = 0;

	for (int i = 0; i < 1000; i++)
		ALL(), ALL(), ALL(), ALL(); // @a
	return (void *)((intptr_t)arg + sum);
}

static void *own(void *arg)
{
	volatile long *block = malloc(sizeof(struct node));

	last = block;
	for (int i = 0; i < 100; i++)
		block[i & 63] = i; // @b
	free((void *)block);
	return arg;
}

static void *drop(void *arg)
{
	free(node);
	return arg;
}

int main(void)
{
	pthread_t user, dropper, owner;

	node = calloc(1, sizeof *node);
	if (note)
		note(node);
	pthread_create(&user, NULL, use, NULL);
	pthread_create(&dropper, NULL, drop, NULL);
	pthread_join(dropper, NULL);
	pthread_create(&owner, NULL, own, NULL);
	pthread_join(user, NULL);
	pthread_join(owner, NULL);
	printf("done\n");
	return 0;
}
