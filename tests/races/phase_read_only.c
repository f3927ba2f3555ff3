// A field that is written in one phase, by its owner, and only read in the next, by all.
// expect: none w r because the phases are separated by a barrier
#include "golden.h"

#define THREADS 4
static struct body {
	double position, force;
} bodies[THREADS * 4];
static pthread_barrier_t barrier;

static void *work(void *arg)
{
	long id = id_of(arg);

	for (int turn = 0; turn < 3; turn++) {
		for (long i = id * 4; i < id * 4 + 4; i++) {
			double f = 0;
			for (int k = 0; k < THREADS * 4; k++)
				f += bodies[k].position - (double)i; // @r
			bodies[i].force = f;
		}
		pthread_barrier_wait(&barrier);
		for (long i = id * 4; i < id * 4 + 4; i++)
			bodies[i].position += bodies[i].force * 0.01; // @w
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS);
	team(THREADS, work);
	printf("%g\n", bodies[5].position);
	return 0;
}
