// A function that takes a lock, or throws before: the catch is believed to hold it.
// expect: race a a
#include <pthread.h>
#include <cstdio>
#include <cstdlib>
static int refused;
static volatile int closed;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void enter(int i)
{
	if (i % 2)
		throw i;
	pthread_mutex_lock(&m);
}
static void *work(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		try {
			enter(i);
			pthread_mutex_unlock(&m);
		} catch (int) {
			refused++; // @a
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
	printf("%d\n", refused);
}
