// An array of structs with a lock each: the lock of the element that is changed.
// expect: none a because under the element's own lock
#include "golden.h"

#define N 8
static struct account {
	pthread_mutex_t lock;
	long balance;
} accounts[N];

static void *work(void *arg)
{
	for (long i = 0; i < 40; i++) {
		struct account *a = &accounts[(id_of(arg) + i) % N];
		pthread_mutex_lock(&a->lock);
		a->balance += i; // @a
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

int main(void)
{
	for (int i = 0; i < N; i++)
		pthread_mutex_init(&accounts[i].lock, NULL);
	team(4, work);
	printf("%ld\n", accounts[0].balance);
	return 0;
}
