// An array that grows under a lock, while another thread has the old address.
// expect: race p q
#include "golden.h"

static int *volatile values;
static volatile int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *grow(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&lock);
		int *larger = malloc(sizeof(int) * (size_t)(count + 1)); /* the old ones are kept */
		memcpy(larger, values, sizeof(int) * (size_t)count);
		larger[count] = i;
		values = larger; // @p
		count++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *look(void *arg)
{
	long sum = 0;

	(void)arg;
	for (int i = 0; i < 50; i++)
		sum += values[0]; // @q
	return (void *)sum;
}

int main(void)
{
	values = calloc(1, sizeof(int));
	count = 1;
	pair(grow, look);
	printf("%d\n", count);
	return 0;
}
