/*
 * A lock made of an atomic and raw futex calls: an unmodified binary shows the calls, not the order of its winners.
 * The recording has to say so.
 */
#include "../threads.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { THREADS = 4, ROUNDS = 300 };
static atomic_uint word; /* 0 free, 1 taken, 2 taken and somebody waits */
static struct arrivals order;

static void lock(void)
{
	unsigned seen = 0;

	if (atomic_compare_exchange_strong(&word, &seen, 1))
		return;
	while (atomic_exchange(&word, 2))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(void)
{
	if (atomic_exchange(&word, 0) == 2)
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *work(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		lock();
		arrive(&order, ME(argument));
		dawdle(5000);
		unlock();
	}
	return NULL;
}

int main(void)
{
	lock(); /* so that somebody has to wait */
	crew_start(THREADS, work);
	pause_us(20000);
	unlock();
	crew_join(THREADS);
	print_arrivals("order", &order);
	return 0;
}
