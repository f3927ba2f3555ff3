/*
 * sem_wait that is cancelled, at the moment at which it may just get its token: either the thread has it and goes on, or it is cancelled, and the token
 * is still there.
 */
// run: varies
#include "threads.h"
#include <semaphore.h>

enum { ROUNDS = 400 };
static sem_t token, ready;
static int got;

static void *work(void *unused)
{
	sem_post(&ready);
	while (sem_wait(&token))
		;
	got = 1;
	return unused;
}

int main(void)
{
	unsigned cancelled = 0, took = 0;

	CHECK(sem_init(&ready, 0, 0) == 0 && sem_init(&token, 0, 0) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread;
		void *result;
		int left;
		got = 0;
		CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
		while (sem_wait(&ready))
			;
		dawdle(2000);
		sem_post(&token);
		CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
		CHECK(sem_getvalue(&token, &left) == 0 && left == !got);
		cancelled += result == PTHREAD_CANCELED;
		took += (unsigned)got;
		if (left)
			CHECK(sem_trywait(&token) == 0);
	}
	printf("%u cancelled, %u took it\n", cancelled, took);
	return 0;
}
