// The bounds come in a struct for each thread, filled by main.
// expect: none a because from and to are id*n and (id+1)*n
#include "golden.h"

#define BLOCK 20
static int a[4 * BLOCK];
struct part {
	int from, to;
};

static void *work(void *arg)
{
	const struct part *p = arg;

	for (int i = p->from; i < p->to; i++)
		a[i] = i; // @a
	return NULL;
}

int main(void)
{
	struct part parts[4];
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		parts[i] = (struct part){ i * BLOCK, (i + 1) * BLOCK };
		pthread_create(&threads[i], NULL, work, &parts[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", a[79]);
	return 0;
}
