/*
 * A bounded queue with two conditions, three producers and three consumers. Who consumed what is printed; every item
 * is consumed exactly once, and those of one producer in their order.
 */
// run: varies check
#include "threads.h"

enum { EACH = 3, ITEMS = 400, ROOM = 7 };
struct item {
	unsigned from, number;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static struct item *queue[ROOM];
static unsigned head, count, taken, last[EACH];
static struct arrivals producers, consumers;

static void *produce(void *argument)
{
	for (unsigned i = 1; i <= ITEMS; i++) {
		struct item *item = malloc(sizeof *item);
		*item = (struct item){ ME(argument), i };
		pthread_mutex_lock(&lock);
		while (count == ROOM)
			pthread_cond_wait(&not_full, &lock);
		queue[(head + count++) % ROOM] = item;
		arrive(&producers, ME(argument));
		pthread_cond_signal(&not_empty);
		pthread_mutex_unlock(&lock);
		dawdle(500);
	}
	return NULL;
}

static void *consume(void *argument)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!count && taken < EACH * ITEMS)
			pthread_cond_wait(&not_empty, &lock);
		if (!count)
			break;
		struct item *item = queue[head];
		head = (head + 1) % ROOM;
		count--;
		CHECK(item->number == ++last[item->from]);
		arrive(&consumers, ME(argument) * EACH + item->from);
		if (++taken == EACH * ITEMS)
			pthread_cond_broadcast(&not_empty);
		pthread_cond_signal(&not_full);
		pthread_mutex_unlock(&lock);
		free(item);
		dawdle(500);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *work(void *argument)
{
	unsigned me = ME(argument);

	return (me % 2 ? produce : consume)((void *)(uintptr_t)(me / 2));
}

int main(void)
{
	crew_start(2 * EACH, work);
	crew_join(2 * EACH);
	print_arrivals("producers", &producers);
	print_arrivals("consumers", &consumers);
	return 0;
}
