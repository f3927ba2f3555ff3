/* AB/BA with locks made of an atomic and raw futex calls, which nobody orders. Only a signal ends it. */
#include "../threads.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static atomic_uint locks[2]; /* 0 free, 1 taken */
static pthread_barrier_t both;

static void lock(atomic_uint *word)
{
	while (atomic_exchange(word, 1))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}

static void *take_both(void *argument)
{
	lock(&locks[ME(argument)]);
	pthread_barrier_wait(&both);
	printf("thread %u has its first lock, at %ld ns\n", ME(argument), after(CLOCK_MONOTONIC, 0).tv_nsec);
	fflush(stdout);
	lock(&locks[1 - ME(argument)]);
	printf("never\n");
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&both, NULL, 2);
	crew_start(2, take_both);
	crew_join(2);
	return 0;
}
