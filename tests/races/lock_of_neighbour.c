// An array of structs with a lock each, but the lock that is taken is that of another element.
// expect: race a a
#include "golden.h"

#define N 8
static struct account {
	pthread_mutex_t lock;
	long balance;
} accounts[N];

static NOINLINE void transfer(long from, long to)
{
	pthread_mutex_lock(&accounts[from].lock);
	accounts[to].balance++; // @a
	pthread_mutex_unlock(&accounts[from].lock);
}

static void *work(void *arg)
{
	for (long i = 0; i < 40; i++)
		transfer((id_of(arg) + i) % N, i % N);
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
