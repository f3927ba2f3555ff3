/*
 * A process ends, becomes another program or is killed while it holds a robust mutex that processes share. What could
 * go wrong: nobody marks it, and whoever wants it next waits for ever.
 */
// run: no-checksum="processes share memory"
#include "threads.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum end { EXIT, AT_ONCE, EXEC, SIGNAL, KILLED, IN_THREAD, ENDS };
static pthread_mutex_t *lock;

static void *exits(void *unused)
{
	CHECK(pthread_mutex_lock(lock) == 0);
	exit(0);
	return unused;
}

static void end(enum end how)
{
	pthread_t thread;
	if (how == IN_THREAD) {
		CHECK(pthread_create(&thread, NULL, exits, NULL) == 0);
		pthread_join(thread, NULL);
	}
	CHECK(pthread_mutex_lock(lock) == 0);
	if (how == EXIT)
		exit(0);
	if (how == EXEC)
		execl("/bin/true", "true", (char *)NULL);
	if (how == SIGNAL)
		raise(SIGTERM);
	if (how == KILLED)
		kill(getpid(), SIGKILL);
	_exit(0);
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	CHECK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0);
	CHECK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
	lock = mmap(NULL, sizeof *lock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(lock != MAP_FAILED && pthread_mutex_init(lock, &attr) == 0);
	for (enum end how = 0; how < ENDS; how++) {
		pid_t child = fork();
		if (!child)
			end(how);
		CHECK(child > 0 && waitpid(child, NULL, 0) == child);
		struct timespec soon = after(CLOCK_REALTIME, 5000000);
		int r = pthread_mutex_timedlock(lock, &soon);
		printf("%d: %s\n", how, strerror(r));
		CHECK(r == EOWNERDEAD);
		/* What these answer is up to the word of the owner, which the child writes at replay when it comes
		   to that; if they did not work, the next one who wants it would not be told of a dead owner. */
		pthread_mutex_consistent(lock);
		pthread_mutex_unlock(lock);
	}
	return 0;
}
