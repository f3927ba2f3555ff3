// A function that joins, or throws before: the catch is believed to come after the join.
// expect: race a b
#include <pthread.h>
#include <cstdio>
#include <cstdlib>
static volatile int count;
static pthread_t t;
static void *work(void *arg)
{
	for (int i = 0; i < 20000; i++)
		count++; // @a
	return nullptr;
}
__attribute__((noinline)) static void finish(int bad)
{
	if (bad)
		throw 1;
	pthread_join(t, nullptr);
}
__attribute__((noinline)) static void start(int bad)
{
	pthread_create(&t, nullptr, work, nullptr);
	if (bad)
		throw 2;
}
int main(int argc, char **argv)
{
	try {
		start(0);
		finish(argc > 0);
	} catch (int) {
		for (int i = 0; i < 20000; i++)
			count++; // @b
		pthread_join(t, nullptr);
	}
	printf("%d\n", count);
}
