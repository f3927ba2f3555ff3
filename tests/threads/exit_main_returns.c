/*
 * main returns while threads run in loops of system calls, locks and malloc; a second variant in a child ends by _exit
 * from a thread that is not the first. Nobody may write to the log after the end.
 */
// run: varies status=9
#include "threads.h"
#include <sys/wait.h>

enum { THREADS = 3 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals order;
static int ends_itself;

static void *work(void *argument)
{
	for (unsigned i = 0;; i++) {
		free(malloc(1 + chance(3000)));
		pthread_mutex_lock(&lock);
		arrive(&order, ME(argument));
		if (ends_itself && order.count > 300)
			_exit(40 + (int)ME(argument));
		pthread_mutex_unlock(&lock);
		if (i % 8 == 0)
			pause_us(1);
	}
	return NULL;
}

int main(void)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child)
		ends_itself = 1;
	crew_start(THREADS, work);
	if (!child)
		crew_join(THREADS);
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) >= 40);
	pthread_mutex_lock(&lock);
	print_arrivals("order", &order);
	printf("the child was ended by thread %d\n", WEXITSTATUS(status) - 40);
	pthread_mutex_unlock(&lock);
	return 9;
}
