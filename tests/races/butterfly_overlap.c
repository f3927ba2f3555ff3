// Steps of 1, 2, 4, ... through a row of the thread's own, one step too far.
// expect: race a b
#include "golden.h"

enum { THREADS = 3, ROW = 64 };
static long rows[(THREADS + 2) * ROW];

static void *work(void *arg)
{
	long *row = rows + id_of(arg) * ROW;

	for (unsigned half = 1; half <= ROW; half *= 2)
		for (unsigned k = 0; k < half; k++)
			for (unsigned i = k; i < ROW; i += 2 * half) {
				long t = row[i + half]; // @a
				row[i] += t;		// @b
			}
	return NULL;
}

int main(void)
{
	team(THREADS, work);
	printf("%ld\n", rows[3]);
	return 0;
}
