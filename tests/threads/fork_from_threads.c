/*
 * Several threads fork and spawn at once, beside threads that work: posix_spawn (a vfork inside) of a program that is
 * there and of one that is not, fork, and wait for the right child. A child of a thread sees that thread's
 * thread-local data.
 */
// run: varies
#include "threads.h"
#include <spawn.h>
#include <sys/wait.h>

enum { THREADS = 4, ROUNDS = 5 };
extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals order;
static pid_t pids[THREADS][ROUNDS * 2];
static __thread unsigned mine;

static void wait_for(pid_t pid, int expected)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == expected);
}

static void *work(void *argument)
{
	unsigned me = ME(argument);
	char *words[] = { "sh", "-c", "exit 3", NULL };

	mine = me + 10;
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid;
		CHECK(posix_spawn(&pid, "/nonexistent", NULL, NULL, words, environ) == ENOENT);
		CHECK(posix_spawnp(&pid, "sh", NULL, NULL, words, environ) == 0);
		pids[me][i * 2] = pid;
		wait_for(pid, 3);
		CHECK((pid = fork()) >= 0);
		if (!pid)
			_exit((int)mine);
		pids[me][i * 2 + 1] = pid;
		wait_for(pid, (int)me + 10);
		pthread_mutex_lock(&lock);
		arrive(&order, me);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("order", &order);
	for (unsigned i = 0; i < THREADS; i++)
		for (int k = 0; k < ROUNDS * 2; k++)
			printf("%d%c", (int)pids[i][k], k == ROUNDS * 2 - 1 ? '\n' : ' ');
	return 0;
}
