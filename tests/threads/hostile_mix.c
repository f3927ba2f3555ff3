/*
 * Everything at once: threads that lock, allocate, fork, handle signals, are cancelled and replaced, while a timer ticks;
 * then exit() from the middle of it. Whatever each part does alone, they meet here.
 */
// run: varies status=6
#include "threads.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { THREADS = 5, FORKS = 4, CANCELS = 12 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct arrivals order;
static __thread volatile sig_atomic_t ticks;

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

static void unlock(void *argument)
{
	(void)argument;
	CHECK(pthread_mutex_unlock(&lock) == 0);
}

static void *work(void *argument)
{
	char *blocks[8] = { 0 };

	for (volatile unsigned i = 0;; i++) {
		char **slot = &blocks[chance(8)];
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		free(*slot);
		*slot = malloc(1 + chance(2000));
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		pthread_mutex_lock(&lock);
		pthread_cleanup_push(unlock, NULL);
		arrive(&order, ME(argument) * 2 + (ticks & 1));
		struct timespec soon = after(CLOCK_REALTIME, 50);
		if (i % 16 == 0)
			pthread_cond_timedwait(&changed, &lock, &soon);
		pthread_cleanup_pop(1);
		if (i % 4 == 0)
			pthread_testcancel();
		dawdle(300);
	}
	return NULL;
}

static void fork_one(int number)
{
	int status;

	pthread_mutex_lock(&lock);
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		struct itimerval off = { 0 };
		setitimer(ITIMER_REAL, &off, NULL);
		arrive(&order, 25);
		_exit((int)(order.hash % 200));
	}
	pthread_mutex_unlock(&lock);
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	printf("child %d ended with %d\n", number, WEXITSTATUS(status));
}

int main(void)
{
	struct sigaction act = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 700 }, { 0, 700 } };
	void *result;

	CHECK(sigaction(SIGALRM, &act, NULL) == 0);
	crew_start(THREADS, work);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	for (int i = 0; i < CANCELS; i++) {
		unsigned who = chance(THREADS);
		pause_us(chance(2000));
		if (i % (CANCELS / FORKS) == 0)
			fork_one(i);
		CHECK(pthread_cancel(crew[who]) == 0);
		CHECK(pthread_join(crew[who], &result) == 0 && result == PTHREAD_CANCELED);
		printf("thread %u replaced\n", who);
		CHECK(pthread_create(&crew[who], NULL, work, (void *)(uintptr_t)who) == 0);
	}
	pthread_mutex_lock(&lock);
	print_arrivals("order", &order);
	pthread_mutex_unlock(&lock);
	exit(6);
}
