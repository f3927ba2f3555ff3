/*
 * fork while other threads run: the child has one thread, and memory as it was at that moment, which depends on how far
 * the others were. pthread_atfork handlers make the lock usable in the child; their order is checked. The child starts
 * threads of its own.
 */
// run: varies
#include "threads.h"
#include <sys/wait.h>

enum { THREADS = 3, FORKS = 6 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals order;
static unsigned calls, over;

static void before(void)
{
	calls = calls * 4 + 1;
	pthread_mutex_lock(&lock);
}
static void after_parent(void)
{
	pthread_mutex_unlock(&lock);
	calls = calls * 4 + 2;
}
static void after_child(void)
{
	pthread_mutex_unlock(&lock);
	calls = calls * 4 + 3;
}

static void *work(void *argument)
{
	for (unsigned i = 0, end = 0; !end; i++) {
		free(malloc(1 + chance(500)));
		pthread_mutex_lock(&lock);
		arrive(&order, ME(argument));
		end = over && i > 50;
		pthread_mutex_unlock(&lock);
		dawdle(500);
	}
	return NULL;
}

static void be_child(unsigned number)
{
	struct arrivals inherited = order; /* nobody else is here */

	CHECK(calls == 1 * 4 + 3);
	order = (struct arrivals){ 0 };
	over = 1;
	crew_start(2, work);
	crew_join(2);
	printf("child %u: ", number);
	print_arrivals("inherited", &inherited);
	print_arrivals("  own", &order);
	fflush(stdout);
	_exit((int)number);
}

int main(void)
{
	CHECK(pthread_atfork(before, after_parent, after_child) == 0);
	crew_start(THREADS, work);
	for (unsigned i = 1; i <= FORKS; i++) {
		int status;
		pause_us(200 + chance(2000));
		calls = 0;
		pid_t child = fork();
		CHECK(child >= 0);
		if (!child)
			be_child(i);
		CHECK(calls == 1 * 4 + 2);
		CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == (int)i);
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_mutex_unlock(&lock);
	crew_join(THREADS);
	print_arrivals("parent", &order);
	return 0;
}
