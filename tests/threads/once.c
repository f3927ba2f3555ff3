/*
 * Who runs the once routine? All others wait for its end and see what it wrote. 200 controls, five threads; a routine
 * that is cancelled is run again by another.
 */
// run: varies
#include "threads.h"

enum { THREADS = 5, CONTROLS = 200 };
static pthread_once_t controls[CONTROLS], torn = PTHREAD_ONCE_INIT;
static unsigned runner[CONTROLS];
static __thread unsigned self, now;
static unsigned torn_runs;
static pthread_barrier_t together;

static void initialise(void)
{
	dawdle(1000);
	runner[now] = self + 1;
}

static void torn_routine(void)
{
	if (++torn_runs == 1) {
		pthread_cancel(pthread_self());
		pthread_testcancel();
	}
}

static void *work(void *argument)
{
	self = ME(argument);
	for (now = 0; now < CONTROLS; now++) {
		if (now % 20 == 0)
			pthread_barrier_wait(&together);
		CHECK(pthread_once(&controls[now], initialise) == 0);
		CHECK(runner[now]);
	}
	pthread_once(&torn, torn_routine);
	return (void *)1;
}

int main(void)
{
	struct arrivals who = { 0 }, cancelled = { 0 };
	unsigned lost = 0;

	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < CONTROLS; i++)
		controls[i] = (pthread_once_t)PTHREAD_ONCE_INIT;
	crew_start(THREADS, work);
	for (unsigned i = 0; i < THREADS; i++) {
		void *end;
		CHECK(pthread_join(crew[i], &end) == 0);
		if (end == PTHREAD_CANCELED) {
			arrive(&cancelled, i);
			lost++;
		}
	}
	for (unsigned i = 0; i < CONTROLS; i++)
		arrive(&who, runner[i] - 1);
	print_arrivals("runners", &who);
	print_arrivals("cancelled in its routine", &cancelled);
	CHECK(lost == 1 && torn_runs == 2);
	return 0;
}
