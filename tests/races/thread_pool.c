// A pool: tasks go through a queue under a lock, each writes its own result, main reads when all are done.
// expect: kept t r because the queue hands the task over
#include "golden.h"

enum { TASKS = 12 };
static struct task {
	void (*run)(struct task *);
	int in, out;
} tasks[TASKS];
static int taken, finished;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;

static void square(struct task *t)
{
	t->out = t->in * t->in; // @t
}

static void *worker(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		struct task *t = taken < TASKS ? &tasks[taken++] : NULL;
		pthread_mutex_unlock(&lock);
		if (!t)
			return NULL;
		t->run(t);
		pthread_mutex_lock(&lock);
		if (++finished == TASKS)
			pthread_cond_signal(&done);
		pthread_mutex_unlock(&lock);
	}
}

int main(void)
{
	pthread_t threads[3];
	int sum = 0;

	for (int i = 0; i < TASKS; i++)
		tasks[i] = (struct task){ square, i, 0 };
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	pthread_mutex_lock(&lock);
	while (finished < TASKS)
		pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < TASKS; i++)
		sum += tasks[i].out; // @r
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", sum);
	return 0;
}
