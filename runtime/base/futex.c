/* Waiting on a word of shared memory. */
#include "runtime/base/base.h"
#include <linux/futex.h>

void futex_wait(uint32_t *word, uint32_t value, unsigned ms)
{
	struct {
		long sec, nsec;
	} limit = { ms / 1000, ms % 1000 * 1000000l };
	SYS4(__NR_futex, word, FUTEX_WAIT, value, ms ? &limit : 0);
}

void futex_wake(uint32_t *word)
{
	SYS3(__NR_futex, word, FUTEX_WAKE, 0x7fffffff);
}
