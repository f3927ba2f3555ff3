// Steps of 1, 2, 4, ... through a row that is the thread's own.
// expect: none a b because the row is not left: 2 * half divides its length
#include "golden.h"

enum { THREADS = 3, ROW = 64 };
static long rows[THREADS * ROW];

static void *work(void *arg)
{
	long *row = rows + id_of(arg) * ROW;

	for (unsigned half = 1; half < ROW; half *= 2)
		for (unsigned k = 0; k < half; k++)
			for (unsigned i = k; i < ROW; i += 2 * half) {
				long t = row[i + half]; // @a
				row[i + half] = row[i] - t;
				row[i] += t; // @b
			}
	return NULL;
}

int main(void)
{
	team(THREADS, work);
	printf("%ld\n", rows[3]);
	return 0;
}
