// An exception leads around a barrier.
// expect: race a b
#include <pthread.h>
#include <cstdio>
static volatile int x;
static pthread_barrier_t b;
__attribute__((noinline)) static void check(long id)
{
	if (id == 0)
		throw 1;
}
__attribute__((noinline)) static int step(long id)
{
	int s = 0;
	if (id)
		for (int i = 0; i < 50000; i++)
			s += x; // @a
	check(id);
	pthread_barrier_wait(&b);
	return s;
}
static void *work(void *arg)
{
	long id = (long)arg;
	int s = 0;
	try {
		s = step(id);
	} catch (int) {
		for (int i = 0; i < 50000; i++)
			x++; // @b
		pthread_barrier_wait(&b);
	}
	printf("%d\n", s);
	return nullptr;
}
int main()
{
	pthread_t t[2];
	pthread_barrier_init(&b, nullptr, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], nullptr, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], nullptr);
	printf("%d\n", x);
}
