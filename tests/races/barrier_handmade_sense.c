// A barrier built from mutex, condition, counter and a flag that turns over, for as many as it is told.
// expect: none a b because the barrier lies between
#include "golden.h"

#define THREADS 3
struct barrier {
	pthread_mutex_t lock;
	pthread_cond_t all_here;
	unsigned parties, arrived;
	bool sense;
};
static int shared;
static struct barrier barrier;

static void barrier_init(struct barrier *b, unsigned parties)
{
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->all_here, NULL);
	b->parties = parties;
	b->arrived = 0;
	b->sense = false;
}

static void barrier_wait(struct barrier *b)
{
	pthread_mutex_lock(&b->lock);
	bool mine = b->sense;
	if (++b->arrived < b->parties) {
		while (b->sense == mine)
			pthread_cond_wait(&b->all_here, &b->lock);
	} else {
		b->arrived = 0;
		b->sense = !b->sense;
		pthread_cond_broadcast(&b->all_here);
	}
	pthread_mutex_unlock(&b->lock);
}

static void *work(void *arg)
{
	long sum = 0;

	for (int turn = 0; turn < 5; turn++) {
		if (id_of(arg) == turn % THREADS)
			shared = turn; // @a
		barrier_wait(&barrier);
		sum += shared; // @b
		barrier_wait(&barrier);
	}
	return (void *)sum;
}

int main(void)
{
	barrier_init(&barrier, THREADS);
	team(THREADS, work);
	return 0;
}
