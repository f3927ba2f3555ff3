// A barrier as the macros of SPLASH-2 have it, for the first thread and as many others as a variable says.
// expect: none a b because the barrier lies between
#include "golden.h"

struct barrier {
	pthread_mutex_t lock;
	pthread_cond_t all_here;
	volatile int arrived, cycle;
};
static int shared, threads;
static struct barrier *barrier;

static NOINLINE void barrier_wait(int parties)
{
	int state, old;

	if (pthread_mutex_lock(&barrier->lock)) {
		printf("no lock\n");
		exit(1);
	}
	int cycle = barrier->cycle;
	if (++barrier->arrived != parties) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		while (cycle == barrier->cycle)
			if (pthread_cond_wait(&barrier->all_here, &barrier->lock))
				break;
		pthread_setcancelstate(state, &old);
	} else {
		barrier->cycle = !barrier->cycle;
		barrier->arrived = 0;
		pthread_cond_broadcast(&barrier->all_here);
	}
	pthread_mutex_unlock(&barrier->lock);
}

static void *work(void *arg)
{
	long sum = 0;

	for (int turn = 0; turn < 5; turn++) {
		if (id_of(arg) == turn % 3)
			shared = turn; // @a
		barrier_wait(threads);
		sum += shared; // @b
		barrier_wait(threads);
	}
	return (void *)sum;
}

int main(int argc, char **argv)
{
	pthread_t others[TEAM_MAX];

	threads = argc > 1 ? atoi(argv[1]) : 3;
	if (threads > TEAM_MAX)
		return 1;
	barrier = malloc(sizeof *barrier);
	pthread_mutex_init(&barrier->lock, NULL);
	pthread_cond_init(&barrier->all_here, NULL);
	barrier->arrived = 0;
	barrier->cycle = 0;
	for (long i = 1; i < threads; i++)
		pthread_create(&others[i], NULL, work, (void *)(intptr_t)i);
	work(NULL);
	for (long i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
