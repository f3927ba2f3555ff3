// A matrix in rows: each thread has the rows of its block, and reads another matrix, which nobody writes.
// expect: none a b because own rows; and the other matrix is only read
#include "golden.h"

#define N 16
static double to[N][N], from[N][N];

static void *work(void *arg)
{
	long id = id_of(arg);

	for (long i = id * N / 4; i < (id + 1) * N / 4; i++)
		for (long j = 0; j < N; j++)
			to[i][j] = from[j][i]; // @a @b
	return NULL;
}

int main(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			from[i][j] = i - j;
	team(4, work);
	printf("%g\n", to[1][2]);
	return 0;
}
