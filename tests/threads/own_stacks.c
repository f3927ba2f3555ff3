/*
 * Threads on stacks of the program's own that have ended and are not joined yet, while others begin: who joins or cancels one must mean that one,
 * and not the thread that came after it, nor the first. And two on the same stack, one after the other.
 */
// run: status=3
#include "threads.h"
#include <semaphore.h>
#include <sys/mman.h>

enum { SIZE = 1 << 20 };
static sem_t go;

static void *at_once(void *argument)
{
	return argument;
}

static void *later(void *argument)
{
	while (sem_wait(&go))
		;
	return argument;
}

static pthread_t begin(void *stack, void *(*work)(void *), uintptr_t number)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	if (stack)
		CHECK(pthread_attr_setstack(&attr, stack, SIZE) == 0);
	CHECK(pthread_create(&thread, &attr, work, (void *)number) == 0);
	pthread_attr_destroy(&attr);
	return thread;
}

static void join(pthread_t thread, const char *who)
{
	void *result;

	CHECK(pthread_join(thread, &result) == 0);
	printf("%s: %lu\n", who, (unsigned long)result);
}

static void *all(void *stack)
{
	pthread_t first = begin(stack, at_once, 1);

	pause_us(20000); /* it has ended */
	pthread_t second = begin(NULL, later, 2);
	CHECK(pthread_cancel(first) == 0);
	join(first, "first");
	pthread_t third = begin(stack, later, 3), fourth = begin(NULL, at_once, 4);
	sem_post(&go);
	sem_post(&go);
	join(third, "third");
	join(second, "second");
	CHECK(pthread_detach(fourth) == 0 && pthread_detach(fourth) == EINVAL);
	return NULL;
}

int main(void)
{
	void *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	CHECK(stack != MAP_FAILED && sem_init(&go, 0, 0) == 0);
	CHECK(pthread_create(&thread, NULL, all, stack) == 0);
	join(thread, "all");
	return 3; /* it has come here */
}
