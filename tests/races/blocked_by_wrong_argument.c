// The bounds come in a struct that all threads share and main goes on filling.
// expect: race p q
// expect: race a a
#include "golden.h"

#define BLOCK 20
static int a[8 * BLOCK];
struct part {
	volatile int from, to;
};

static void *work(void *arg)
{
	struct part *p = arg;
	int from = p->from, to = p->to; // @q

	for (int i = from; i < to; i++)
		a[i]++; // @a
	return NULL;
}

int main(void)
{
	struct part part;
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		part.from = i / 2 * BLOCK; // @p
		part.to = (i + 1) * BLOCK; // @p
		pthread_create(&threads[i], NULL, work, &part);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", a[79]);
	return 0;
}
