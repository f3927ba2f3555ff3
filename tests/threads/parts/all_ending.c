/*
 * Threads that end at once, thirty at a time: wherever one stands, others are in the middle of their ends. And one whose stack is gone
 * with it.
 */
#include "../threads.h"
#include <sys/mman.h>

enum { THREADS = 30, ROUNDS = 10, STACK = 1 << 18 };

static void *work(void *argument)
{
	return argument;
}

static void on_its_own_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(stack != MAP_FAILED && pthread_attr_init(&attributes) == 0);
	CHECK(pthread_attr_setstack(&attributes, stack, STACK) == 0);
	CHECK(pthread_create(&thread, &attributes, work, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0 && munmap(stack, STACK) == 0);
}

int main(void)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		crew_start(THREADS, work);
		crew_join(THREADS);
		on_its_own_stack();
		printf("round %u\n", round);
	}
	for (unsigned i = 0; i < 200; i++) /* while its stack stays gone */
		CHECK(getppid() > 0);
	return 0;
}
