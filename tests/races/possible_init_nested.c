// One access without lock B, but under lock A, while others take A inside B. A lock on it closes the circle.
// expect: hook x y because it is made under another lock, which holders of the lock take, too
#include "golden.h"

static volatile int shared, other;
static pthread_mutex_t A = PTHREAD_MUTEX_INITIALIZER, B = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&B);
		shared++; // @y
		sched_yield();
		pthread_mutex_lock(&A);
		other++;
		pthread_mutex_unlock(&A);
		pthread_mutex_unlock(&B);
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, work, NULL);
	pthread_create(&b, NULL, work, NULL);
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&A);
		sched_yield();
		shared = 100; // @x
		pthread_mutex_unlock(&A);
	}
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d\n", other);
	return 0;
}
