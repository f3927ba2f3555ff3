// A pool whose tasks add to one total without a lock.
// expect: race t t
#include "golden.h"

enum { TASKS = 30 };
static volatile int total;
static int taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(int n)
{
	sched_yield();
	total += n; // @t
}

static void sub(int n)
{
	sched_yield();
	total -= n; // @t
}

static void (*const kinds[])(int) = { add, sub };

static void *worker(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		int n = taken < TASKS ? taken++ : -1;
		pthread_mutex_unlock(&lock);
		if (n < 0)
			return NULL;
		kinds[n % 2](n);
	}
}

int main(void)
{
	team(4, worker);
	printf("%d\n", total);
	return 0;
}
