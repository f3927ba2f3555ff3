/*
 * Signals to the process: the kernel picks a thread that does not block them. Which one handled each (timer ticks,
 * kill(getpid()), a child's end) is printed; threads that block them never do.
 */
// run: varies
#include "threads.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { THREADS = 4, TICKS = 60, KILLS = 100 };
static __thread volatile int number = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int journal[2]; /* a pipe: what a handler may write to */
static int over;

static void handler(int sig)
{
	int error = errno;
	char line[2] = { (char)sig, (char)(number + 1) };

	CHECK(number < 2); /* threads 2 and 3 block them */
	CHECK(write(journal[1], line, 2) == 2);
	errno = error;
}

static void *work(void *argument)
{
	sigset_t all;

	number = (int)ME(argument);
	sigfillset(&all);
	CHECK(pthread_sigmask(number >= 2 ? SIG_BLOCK : SIG_UNBLOCK, &all, NULL) == 0);
	for (int end = 0; !end;) {
		pthread_mutex_lock(&lock);
		end = over;
		pthread_mutex_unlock(&lock);
		if (chance(3))
			pause_us(50);
		else
			dawdle(2000);
	}
	return NULL;
}

int main(void)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, off = { 0 };
	struct arrivals ticks = { 0 }, kills = { 0 };
	sigset_t all, old;
	char line[2];

	CHECK(pipe(journal) == 0);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	sigaction(SIGALRM, &act, NULL);
	sigaction(SIGUSR2, &act, NULL);
	crew_start(THREADS, work);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	for (int i = 0; i < KILLS; i++) {
		CHECK(kill(getpid(), SIGUSR2) == 0);
		for (int mine = 0; !mine;) {
			CHECK(read(journal[0], line, 2) == 2);
			mine = line[0] == SIGUSR2;
			arrive(mine ? &kills : &ticks, (unsigned)line[1]);
		}
	}
	while (ticks.count < TICKS) {
		CHECK(read(journal[0], line, 2) == 2 && line[0] == SIGALRM);
		arrive(&ticks, (unsigned)line[1]);
	}
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_mutex_unlock(&lock);
	crew_join(THREADS);
	print_arrivals("ticks", &ticks);
	print_arrivals("kills", &kills);
	return 0;
}
