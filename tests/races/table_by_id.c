// A table of structs, one for each thread, reached by pointer.
// expect: none a b because each thread has its own struct
#include "golden.h"

static struct worker {
	long count, sum;
	long room[6];
} workers[4];

static NOINLINE void add(struct worker *w, long n)
{
	w->count++;  // @a
	w->sum += n; // @b
}

static void *work(void *arg)
{
	struct worker *w = &workers[id_of(arg)];

	for (long i = 0; i < 20; i++)
		add(w, i);
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%ld\n", workers[3].sum);
	return 0;
}
