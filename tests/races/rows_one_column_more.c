// A matrix in one piece: each thread has every fourth row of both. In the second one it reads the next column, too, which may be in the row of the next thread.
// expect: none a because own rows
// expect: race b b
#include "golden.h"

#define ROWS	16
#define COLUMNS 32
static long right[ROWS * COLUMNS], wrong[ROWS * COLUMNS + 1];

static void *work(void *arg)
{
	for (long turn = 0; turn < 20; turn++)
		for (long i = id_of(arg); i < ROWS; i += 4) {
			for (long j = 0; j < COLUMNS; j++)
				right[i * COLUMNS + j] += j; // @a
			for (long j = 0; j < COLUMNS; j++)
				wrong[i * COLUMNS + j] += wrong[i * COLUMNS + j + 1]; // @b
			LOOK_AGAIN();
		}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%ld %ld\n", right[3], wrong[COLUMNS]);
	return 0;
}
