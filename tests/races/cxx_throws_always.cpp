// A function that always throws: the catch is believed to hold every lock.
// expect: race a a
#include <pthread.h>
#include <cstdio>
#include <cstdlib>
static int errors, x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
[[noreturn]] __attribute__((noinline)) static void fail(int n)
{
	throw n;
}
static void *work(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&m);
		x++;
		pthread_mutex_unlock(&m);
		try {
			if (i % 2)
				fail(i);
		} catch (int) {
			errors++; // @a
		}
	}
	return nullptr;
}
int main()
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], nullptr, work, nullptr);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], nullptr);
	printf("%d %d\n", errors, x);
}
