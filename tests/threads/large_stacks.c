/*
 * Threads with larger stacks than usual, by default or asked for; more of them at once than have a place in a short list,
 * and one after the other on the same memory. What could go wrong: they get less than they asked for, there are too many,
 * or each takes memory that nobody gives back.
 */
#include "threads.h"

enum { THREADS = 80, ROUNDS = 30 };
static const size_t large = 32 << 20;
static pthread_barrier_t all_there;

static char *lowest(size_t at_least)
{
	pthread_attr_t attr;
	void *low;
	size_t size;

	CHECK(pthread_getattr_np(pthread_self(), &attr) == 0 && pthread_attr_getstack(&attr, &low, &size) == 0);
	pthread_attr_destroy(&attr);
	CHECK(size >= at_least);
	*(volatile char *)low = 1;
	return low;
}

static void *together(void *unused)
{
	lowest(large);
	pthread_barrier_wait(&all_there);
	return unused;
}

static void *alone(void *size)
{
	return lowest((size_t)size);
}

static char *run(const pthread_attr_t *attr, size_t size)
{
	pthread_t thread;
	void *result;

	CHECK(pthread_create(&thread, attr, alone, (void *)size) == 0 && pthread_join(thread, &result) == 0);
	return result;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attr;
	char *seen[ROUNDS];
	int different = 0;

	/* a little more than the usual 8 MiB */
	pthread_attr_init(&attr);
	CHECK(pthread_attr_setstacksize(&attr, 9 << 20) == 0);
	run(&attr, 9 << 20);
	CHECK(pthread_attr_setstacksize(&attr, large) == 0 && pthread_setattr_default_np(&attr) == 0);
	pthread_barrier_init(&all_there, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, together, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		char *now = run(NULL, large);
		int k = 0;
		while (k < different && seen[k] != now)
			k++;
		if (k == different)
			seen[different++] = now;
	}
	CHECK(different < ROUNDS / 2);
	printf("done\n");
	return 0;
}
