/*
 * A named semaphore is a file mapped shared: opened twice it is one object at one address, and its memory may belong to
 * other processes, too. Threads and a forked child use it; what they took is printed.
 */
// run: varies
#include "threads.h"
#include <fcntl.h>
#include <semaphore.h>
#include <sys/wait.h>

enum { THREADS = 3, ROUNDS = 80 };
static sem_t *one;
static struct arrivals arrivals;

static void *work(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(sem_wait(one) == 0);
		arrive(&arrivals, ME(argument));
		dawdle(500);
		CHECK(sem_post(one) == 0);
		dawdle(500);
	}
	return NULL;
}

int main(void)
{
	char name[64];
	int status, value;

	snprintf(name, sizeof name, "/heddle-test-%d", (int)getpid());
	one = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
	CHECK(one != SEM_FAILED);
	CHECK(sem_open(name, O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED && errno == EEXIST);
	sem_t *again = sem_open(name, 0);
	CHECK(again == one);
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("arrivals", &arrivals);
	CHECK(sem_wait(again) == 0);
	fflush(stdout);
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(sem_post(one) == 0); /* before the parent takes it */
		_exit(7);
	}
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
	CHECK(sem_wait(one) == 0 && sem_getvalue(one, &value) == 0 && value == 0);
	CHECK(sem_close(again) == 0 && sem_close(one) == 0 && sem_unlink(name) == 0);
	CHECK(sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
	printf("child %d\n", (int)child);
	return 0;
}
