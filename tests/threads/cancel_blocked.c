/*
 * Cancelling threads that most likely wait, with asynchronous and deferred type, in nanosleep, read, poll, join, timed
 * condition waits; and one that has already ended. Each must end at once, in both runs, by the same path.
 */
// run: varies
#include "threads.h"
#include <poll.h>
#include <semaphore.h>
#include <sys/syscall.h>

enum { KINDS = 5 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_t sleeper;
static sem_t begun;
static pid_t sleeper_id;
static int pipes[2], unwound[KINDS];

static void *sleep_long(void *argument)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pause_us(20000000);
	return argument;
}

static void unlock(void *argument)
{
	(void)argument;
	pthread_mutex_unlock(&lock);
}

static void unwind(void *argument)
{
	unwound[ME(argument)] = 1;
}

static void *work(void *argument)
{
	char byte;
	struct pollfd fd = { pipes[0], POLLIN, 0 };
	struct timespec far = after(CLOCK_REALTIME, 20000000);

	pthread_cleanup_push(unwind, argument);
	sleeper_id = ME(argument) == KINDS ? gettid() : sleeper_id;
	sem_post(&begun);
	switch (ME(argument)) {
	case 0:
	case KINDS: CHECK(read(pipes[0], &byte, 1) == 1); break;
	case 1: CHECK(poll(&fd, 1, 20000) == 0); break;
	case 2: CHECK(pthread_join(sleeper, NULL) == 0); break;
	case 3:
		pthread_mutex_lock(&lock);
		pthread_cleanup_push(unlock, NULL);
		pthread_cond_timedwait(&never, &lock, &far);
		pthread_cleanup_pop(1);
		break;
	default: pause_us(20000000);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	struct timespec began = after(CLOCK_MONOTONIC, 0), now;
	void *result;

	CHECK(pipe(pipes) == 0 && sem_init(&begun, 0, 0) == 0);
	CHECK(pthread_create(&sleeper, NULL, sleep_long, NULL) == 0);
	crew_start(KINDS, work);
	for (unsigned i = 0; i < KINDS; i++)
		CHECK(sem_wait(&begun) == 0);
	pause_us(20000);
	for (unsigned i = 0; i < KINDS; i++) {
		CHECK(pthread_cancel(crew[i]) == 0);
		CHECK(pthread_join(crew[i], &result) == 0 && result == PTHREAD_CANCELED && unwound[i]);
	}
	CHECK(pthread_cancel(sleeper) == 0 && pthread_join(sleeper, &result) == 0 && result == PTHREAD_CANCELED);
	CHECK(pthread_mutex_lock(&lock) == 0);
	CHECK(pthread_create(&sleeper, NULL, work, (void *)KINDS) == 0); /* reads the pipe */
	CHECK(write(pipes[1], "x", 1) == 1 && sem_wait(&begun) == 0);
	while (syscall(SYS_tgkill, getpid(), sleeper_id, 0) == 0)
		pause_us(1000);
	CHECK(pthread_cancel(sleeper) == 0); /* it has ended by itself */
	CHECK(pthread_join(sleeper, &result) == 0 && result == NULL);
	now = after(CLOCK_MONOTONIC, 0);
	printf("all gone after %ld ns\n", (now.tv_sec - began.tv_sec) * 1000000000 + now.tv_nsec - began.tv_nsec);
	return 0;
}
