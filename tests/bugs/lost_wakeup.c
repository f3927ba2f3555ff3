/*
 * Lost wakeup: whether there is work is looked at before the lock is taken, and the wait is not asked again inside; the signal comes between look
 * and wait, and nobody hears it. What could go wrong: a signal without a waiter leaves no trace in the condition, and still has its place
 * in the order.
 */
// run: fails gallery
// explain: @look before @ready
#include "bugs.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static unsigned ready, slept[TEAM_MAX];

static void prepare(void)
{
	ready = 0;
}

static void act(unsigned me)
{
	if (me == 0) {
		ready = 1; // @ready
		LOOK_AGAIN();
		pthread_mutex_lock(&lock);
		pthread_cond_broadcast(&more);
		pthread_mutex_unlock(&lock);
		return;
	}
	if (!ready) { // @look
		LOOK_AGAIN();
		pthread_mutex_lock(&lock);
		pthread_cond_wait(&more, &lock);
		pthread_mutex_unlock(&lock);
		slept[me]++;
	}
}

static void judge(void)
{
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 60);
	watch("a wakeup was lost");
	team_repeat(prepare, act, judge);
	watch_over = 1;
	for (unsigned i = 1; i < team; i++)
		printf("thread %u slept %u times\n", i, slept[i]);
	return verdict(0, "wakeups lost");
}
