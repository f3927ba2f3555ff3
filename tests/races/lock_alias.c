// The same lock under two names: a pointer that has only one value.
// expect: none a b because both pointers are to the same lock
#include "golden.h"

static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *const direct = &lock;
struct holder {
	pthread_mutex_t *lock;
};
static struct holder holder = { &lock };

static void *by_pointer(void *arg)
{
	struct holder *h = arg;

	pthread_mutex_lock(h->lock);
	shared += 2; // @a
	pthread_mutex_unlock(h->lock);
	return NULL;
}

static void *by_name(void *arg)
{
	(void)arg;
	pthread_mutex_lock(direct);
	shared -= 1; // @b
	pthread_mutex_unlock(direct);
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, by_pointer, &holder);
	pthread_create(&b, NULL, by_name, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d\n", shared);
	return 0;
}
