/* Waiting: for a word of shared memory, or just so long. */
#include "runtime/base/base.h"
#include <linux/futex.h>

struct time {
	uint64_t sec, nsec;
};

void futex_wait(uint32_t *word, uint32_t value, unsigned ms)
{
	struct time limit = { ms / 1000, ms % 1000 * 1000000ul };
	SYS4(__NR_futex, word, FUTEX_WAIT, value, ms ? &limit : 0);
}

void futex_wait_nsec(uint32_t *word, uint32_t value, uint64_t nsec)
{
	struct time limit = { 0, nsec };
	SYS4(__NR_futex, word, FUTEX_WAIT, value, &limit);
}

void nap(uint64_t nsec)
{
	struct time time = { 0, nsec };
	SYS2(__NR_nanosleep, &time, 0);
}

void futex_wake(uint32_t *word)
{
	SYS3(__NR_futex, word, FUTEX_WAKE, WAKE_ALL);
}
