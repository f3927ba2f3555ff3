/*
 * The first thread ends by pthread_exit; the process lives on until the last thread ends, and that one, whichever it is,
 * runs the exit handlers. A recorder that takes the first thread's end for the end of all loses the rest.
 */
// run: varies
#include "threads.h"

enum { THREADS = 6 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals order;
static __thread int me = -1;

static void at_exit(void)
{
	print_arrivals("order", &order);
	printf("exit handlers run in thread %d\n", me);
}

static void cleanup(void *text)
{
	printf("%s\n", (const char *)text);
}

static void *work(void *argument)
{
	me = (int)ME(argument);
	pause_us(chance(3000));
	pthread_mutex_lock(&lock);
	arrive(&order, ME(argument));
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	atexit(at_exit);
	pthread_cleanup_push(cleanup, "the first thread ends");
	crew_start(THREADS, work);
	pthread_exit(NULL);
	pthread_cleanup_pop(0);
}
