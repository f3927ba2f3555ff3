// A write under the read side: other readers hold it at the same time.
// expect: race a a
// expect: race a b
#include "golden.h"

static int hits, table[4] = { 1, 2, 3, 4 };
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static NOINLINE int look(long i)
{
	pthread_rwlock_rdlock(&lock);
	int v = table[i % 4];
	hits++; // @a
	pthread_rwlock_unlock(&lock);
	return v;
}

static NOINLINE int report(void)
{
	pthread_rwlock_rdlock(&lock);
	int h = hits; // @b
	pthread_rwlock_unlock(&lock);
	return h;
}

static void *work(void *arg)
{
	long sum = 0;

	for (int i = 0; i < 20; i++)
		sum += look(id_of(arg) + i) + report();
	return (void *)sum;
}

int main(void)
{
	team(4, work);
	printf("%d\n", hits);
	return 0;
}
