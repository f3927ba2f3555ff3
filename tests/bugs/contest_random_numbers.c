/*
 * ConTest "RandomNumbers": blocking critical section. The consumer takes the lock and waits inside for a number that the
 * producer can put there only with the same lock; it goes well if the producer was first. The numbers are drawn from the time of day,
 * which LEAP could not replay. What could go wrong: the failing run stands still; a thread that only watches ends it.
 */
// run: fails gallery
// explain: @enter before @produce
#include "bugs.h"
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned ready;
static uint32_t numbers[TEAM_MAX], random_state;
static uint64_t hash;

static void prepare(void)
{
	ready = 0;
}

static void produce(unsigned me)
{
	pthread_mutex_lock(&lock); // @produce
	numbers[me] = draw(&random_state);
	ready++;
	pthread_mutex_unlock(&lock);
}

static void consume(void)
{
	unsigned turns = 0;

	/* Most often the producers are done by now. */
	for (unsigned i = 0; i < 600 && ready < team - 1; i++)
		spin(&turns);
	pthread_mutex_lock(&lock); // @enter
	while (ready < team - 1) {
		spin(&turns);
		LOOK_AGAIN();
	}
	for (unsigned i = 1; i < team; i++)
		note(&hash, numbers[i]);
	pthread_mutex_unlock(&lock);
}

static void act(unsigned me)
{
	if (me)
		produce(me);
	else
		consume();
}

static void judge(void)
{
}

int main(int argc, char **argv)
{
	struct timespec now;

	repeat_size(argc, argv, 30);
	clock_gettime(CLOCK_REALTIME, &now);
	random_state = (uint32_t)now.tv_nsec;
	watch("no end: the consumer holds the lock that the producer waits for");
	team_repeat(prepare, act, judge);
	watch_over = 1;
	printf("numbers %016llx\n", (unsigned long long)hash);
	return verdict(0, "rounds without end");
}
