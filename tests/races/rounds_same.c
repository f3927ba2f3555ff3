// Rounds within rounds, as often for every thread: in each, all write their part, then all read everything.
// expect: none w r because the barriers lie between, and all threads are in the same round
#include "golden.h"

enum { THREADS = 3, N = 12 };
static int rounds, a[N], b[N];
static pthread_barrier_t barrier;

static NOINLINE void pass(long id, int *to, const int *from)
{
	int sum = 0;

	for (int i = 0; i < N; i++)
		sum += from[i]; // @r
	pthread_barrier_wait(&barrier);
	for (long i = id; i < N; i += THREADS)
		to[i] = sum + (int)i; // @w
	pthread_barrier_wait(&barrier);
}

static void *work(void *arg)
{
	for (int r = 0; r < rounds; r++)
		for (int n = 0; n < 2; n++) {
			pass(id_of(arg), a, b);
			pass(id_of(arg), b, a);
		}
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argv;
	rounds = argc + 3;
	pthread_barrier_init(&barrier, NULL, THREADS);
	team(THREADS, work);
	printf("%d %d\n", a[3], b[4]);
	return 0;
}
