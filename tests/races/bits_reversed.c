// An index made of the bits of another one, in turn: it stays in the row.
// expect: none a b because eight bits are less than 256
#include "golden.h"

enum { THREADS = 3, BITS = 8, ROW = 1 << BITS };
static int rows[THREADS * ROW];

static void *work(void *arg)
{
	int *row = rows + id_of(arg) * ROW;

	for (unsigned i = 0; i < ROW; i++) {
		unsigned j = 0;
		for (unsigned bit = 0; bit < BITS; bit++)
			j |= (i >> bit & 1) << (BITS - 1 - bit);
		if (i < j) {
			int t = row[i];
			row[i] = row[j] + 1; // @a
			row[j] = t;	     // @b
		}
	}
	return NULL;
}

int main(void)
{
	team(THREADS, work);
	printf("%d\n", rows[3]);
	return 0;
}
