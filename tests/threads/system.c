/*
 * system() by several threads: libc counts those who wait for a shell, and the first and the last of them change the signals
 * of the process, with a lock held. Who is first and last depends on the moment. One thread is cancelled in it.
 */
// run: varies
#include "threads.h"
#include <signal.h>
#include <sys/wait.h>

enum { THREADS = 3, ROUNDS = 12 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals order;

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < ROUNDS; i++) {
		int status = i % 3 ? system(i % 3 == 1 ? "exit 3" : "kill -INT $$") : system(NULL);
		CHECK(i % 3 == 0 ? status == 1 : i % 3 == 1 ? WEXITSTATUS(status) == 3 : WTERMSIG(status) == SIGINT);
		pthread_mutex_lock(&lock);
		arrive(&order, me);
		pthread_mutex_unlock(&lock);
		dawdle(200000);
	}
	return NULL;
}

static void *wait_long(void *unused)
{
	system("exec sleep 1000");
	return unused;
}

int main(void)
{
	struct sigaction action;
	pthread_t thread;
	void *result;

	crew_start(THREADS, work);
	CHECK(pthread_create(&thread, NULL, wait_long, NULL) == 0);
	pause_us(30000);
	CHECK(pthread_cancel(thread) == 0);
	CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
	crew_join(THREADS);
	CHECK(sigaction(SIGINT, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
	print_arrivals("order", &order);
	return 0;
}
