/*
 * Short slices. At replay, and under --chaos, a thread runs for a moment and then waits for another. On a busy machine
 * that one would wait each time until somebody else's slice is over: 2 ms, where the work takes 5 us. From Linux 6.12
 * on a thread may ask for short slices, and then comes soon when it is woken; its share stays the same. Earlier kernels
 * do not look at it.
 *
 * Seconds, 8 threads that race, beside 4 busy processes on 2 processors: replay under `leap` more than 50, then 5,
 * `region` 14, then 1; recording with --chaos under `region` 32, then 3.
 */
#include "runtime/base/base.h"
#include <linux/sched.h>
#include <linux/sched/types.h>

#define SHORT 100000 /* ns; the least that it takes */

/* For this thread and those that it creates. Others than SCHED_OTHER and SCHED_BATCH stay as they are. */
void slices_shorten(void)
{
	struct sched_attr a = { .size = sizeof a };
	if (is_error(SYS4(__NR_sched_getattr, 0, &a, sizeof a, 0)) ||
	    (a.sched_policy != SCHED_NORMAL && a.sched_policy != SCHED_BATCH))
		return;
	a.sched_flags &= SCHED_FLAG_RESET_ON_FORK;
	a.sched_runtime = SHORT;
	SYS3(__NR_sched_setattr, 0, &a, 0);
}
