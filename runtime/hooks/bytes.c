/*
 * Bytes of the program's that libheddle.so copies and clears: what pthread_join and its kin answer, a block that
 * realloc moves and that another thread may still use, memory that was another's before it became calloc's. Of a thread
 * with hooked accesses these are such accesses, made here.
 *
 * No ops. Not 0: it cannot be done, and the caller is to find out as it would by itself.
 */
#include "runtime/runtime.h"

#define PIECE 16384

/* Not in the child of a fork that has made no access yet, nor inside a group, which an open bracket tells. */
static bool is_ordered(const struct thread *t)
{
	return scheme_ops && t->hooked && !(t->self->events & 1);
}

long sync_bytes_copy(struct thread *t, uint64_t to, uint64_t from, uint64_t n, uint64_t d)
{
	(void)d;
	uint8_t piece[PIECE];
	if (!is_ordered(t))
		return -EAGAIN;
	for (uint64_t at = 0, k; at < n; at += k) {
		k = MIN(n - at, PIECE);
		if (!order_access(t, from + at, piece, k, false) || !order_access(t, to + at, piece, k, true))
			return -EFAULT;
	}
	return 0;
}

long sync_bytes_clear(struct thread *t, uint64_t to, uint64_t n, uint64_t c, uint64_t d)
{
	(void)c, (void)d;
	static uint8_t zeros[PIECE];
	if (!is_ordered(t))
		return -EAGAIN;
	for (uint64_t at = 0; at < n; at += PIECE)
		if (!order_access(t, to + at, zeros, MIN(n - at, PIECE), true))
			return -EFAULT;
	return 0;
}
