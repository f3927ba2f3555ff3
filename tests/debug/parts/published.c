/*
 * A job that is published before its function is written: who takes it calls address 0. Semaphores see to it that this happens in
 * every run, with the publisher at a known line.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

struct job {
	int (*run)(int);
	int argument;
};
static struct job job, *board;
static sem_t published, crashed;

static int twice(int x)
{
	return 2 * x;
}

static void *post(void *unused)
{
	board = &job;
	sem_post(&published);
	sem_wait(&crashed); /* line of the publisher */
	job.run = twice;
	return unused;
}

int main(void)
{
	pthread_t publisher;

	sem_init(&published, 0, 0);
	sem_init(&crashed, 0, 0);
	pthread_create(&publisher, NULL, post, NULL);
	sem_wait(&published);
	struct job *mine = board;
	int result = mine->run(mine->argument); /* line of the crash */
	sem_post(&crashed);
	pthread_join(publisher, NULL);
	return result;
}
