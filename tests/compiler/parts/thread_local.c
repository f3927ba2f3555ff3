/* Thread-local variables, those whose address is given to another thread among them; stacks that others point into; many
   threads one after the other, each of which is attached anew. */
#include <pthread.h>
#include <stdio.h>

static __thread int own, lent;
__thread long visible[4];
static int *from_thread;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int state;
static long total;

static void step(int to)
{
	pthread_mutex_lock(&mutex);
	state = to;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void await(int wanted)
{
	pthread_mutex_lock(&mutex);
	while (state != wanted)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void *lender(void *arg)
{
	int *number = arg; /* on the stack of main */

	lent = 40;
	own = 3;
	from_thread = &lent;
	*number += 5;
	step(1);
	await(2);
	printf("%d %d\n", lent, own);
	return NULL;
}

static void *adder(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		own++;
		visible[i % 4] += own;
	}
	pthread_mutex_lock(&mutex);
	total += visible[0] + visible[3] + *(int *)arg;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(void)
{
	pthread_t thread[8];
	int number = 1;

	pthread_create(&thread[0], NULL, lender, &number);
	await(1);
	*from_thread += 2;
	own++;
	step(2);
	pthread_join(thread[0], NULL);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 8; i++)
			pthread_create(&thread[i], NULL, adder, &number);
		for (int i = 0; i < 8; i++)
			pthread_join(thread[i], NULL);
	}
	printf("%d %d %ld\n", number, own, total);
}
