// An index made of one bit more than the row has.
// expect: race b b
#include "golden.h"

enum { THREADS = 3, BITS = 9, ROW = 1 << 8 };
static int rows[(THREADS + 1) * ROW];

static void *work(void *arg)
{
	int *row = rows + id_of(arg) * ROW;

	for (unsigned i = 0; i < ROW; i++) {
		unsigned j = 0;
		for (unsigned bit = 0; bit < BITS; bit++)
			j |= (i >> bit & 1) << (BITS - 1 - bit);
		row[j] += 1; // @b
	}
	return NULL;
}

int main(void)
{
	team(THREADS, work);
	printf("%d\n", rows[3]);
	return 0;
}
