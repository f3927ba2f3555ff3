// One thread writes rows, the other columns: they meet in every element.
// expect: race a b
#include "golden.h"

#define N 8
static int m[N][N];

static void *work(void *arg)
{
	long id = id_of(arg);

	for (long i = 0; i < N; i++)
		if (id)
			m[id][i] = 1; // @a
		else
			m[i][1] = 2; // @b
	return NULL;
}

int main(void)
{
	team(2, work);
	printf("%d\n", m[1][1]);
	return 0;
}
