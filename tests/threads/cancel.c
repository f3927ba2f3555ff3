/*
 * Cancellation: each thread is cancelled somewhere on its way, in a system call, a condition, a semaphore, a join, or
 * between; how far it came and which cleanup handlers ran differ. The cancelling signal comes from libc itself and must
 * not be seen, delayed or repeated by a recorder. A thread cancelled in a condition holds the mutex in its handler.
 */
// run: varies timeout=20
#include "threads.h"
#include <semaphore.h>

enum { THREADS = 24 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none;
static unsigned steps[THREADS], cleaned[THREADS];
static struct arrivals order;
static int pipes[2];

static void in_condition(void *argument)
{
	cleaned[ME(argument)] |= 1; /* the mutex is ours */
	arrive(&order, ME(argument));
	CHECK(pthread_mutex_unlock(&lock) == 0);
}

static void outside(void *argument)
{
	cleaned[ME(argument)] |= 2;
}

static void wait_somehow(unsigned me)
{
	char byte;

	switch (me % 4) {
	case 0: CHECK(read(pipes[0], &byte, 1) == -1); break; /* never comes */
	case 1: CHECK(sem_wait(&none) == 0); break;
	case 2:
		pthread_mutex_lock(&lock);
		pthread_cleanup_push(in_condition, (void *)(uintptr_t)me);
		for (;;)
			pthread_cond_wait(&never, &lock);
		pthread_cleanup_pop(0);
		break;
	default:
		for (;;)
			pause_us(100);
	}
}

static void *work(void *argument)
{
	unsigned me = ME(argument);
	int old;

	pthread_cleanup_push(outside, argument);
	CHECK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0 && old == PTHREAD_CANCEL_ENABLE);
	pause_us(100); /* no cancellation here */
	steps[me] = 1;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	for (int i = 0; i < 400 + (int)me * 200; i++) {
		pthread_testcancel();
		steps[me]++;
		dawdle(3000);
	}
	wait_somehow(me);
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	CHECK(pipe(pipes) == 0 && sem_init(&none, 0, 0) == 0);
	crew_start(THREADS, work);
	pause_us(1500);
	for (unsigned i = 0; i < THREADS; i++) {
		pause_us(chance(400));
		CHECK(pthread_cancel(crew[i]) == 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		void *result;
		CHECK(pthread_join(crew[i], &result) == 0 && result == PTHREAD_CANCELED);
		CHECK(!steps[i] || (cleaned[i] & 2)); /* none: cancelled before it began */
		printf("thread %u: %u steps, cleaned %u\n", i, steps[i], cleaned[i]);
	}
	print_arrivals("left the condition", &order);
	return 0;
}
