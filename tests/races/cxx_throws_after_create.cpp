// A function that creates a thread and then always throws.
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
[[noreturn]] __attribute__((noinline)) static void start()
{
	pthread_create(&t, nullptr, work, nullptr);
	throw 2;
}
int main(int argc, char **argv)
{
	try {
		start();
	} catch (int) {
		for (int i = 0; i < 20000; i++)
			count++; // @b
	}
	pthread_join(t, nullptr);
	printf("%d\n", count);
}
