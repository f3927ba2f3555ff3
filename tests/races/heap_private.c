// A block that a thread allocates, fills and frees, by way of other functions.
// expect: none a b because nobody else has its address
#include "golden.h"

struct buffer {
	long n, *values;
};

static NOINLINE struct buffer *make(long n)
{
	struct buffer *b = malloc(sizeof *b);

	b->n = n; // @a
	b->values = calloc((size_t)n, sizeof(long));
	return b;
}

static NOINLINE long use(struct buffer *b)
{
	for (long i = 0; i < b->n; i++)
		b->values[i] = i; // @b
	LOOK_AGAIN();
	return b->values[b->n - 1];
}

static void *work(void *arg)
{
	struct buffer *b = make(5 + id_of(arg));
	long r = use(b);

	free(b->values);
	free(b);
	return (void *)r;
}

int main(void)
{
	team(4, work);
	return 0;
}
