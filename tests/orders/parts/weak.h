/*
 * Memory as weak as the rules allow, for finding a missing fence: no machine reorders often enough to be asked.
 *
 * With --weak a thread's plain stores wait in a buffer and come out in any order, and its plain loads may give what the
 * thread saw before, or could have seen when it came to the access. A release empties the buffer first; after an acquire old values are gone. A scheme that is compiled
 * with this file included before everything else (make stress-with WEAK=1) tells of the orders that it asked for; so one
 * that asks for too little is wrong soon, on any machine. Locks and waits of the host ask by themselves.
 */
#ifndef WEAK_H
#define WEAK_H
#include <stdbool.h>
#include <stdint.h>

struct access;
extern bool weak_memory;
void weak_release(void);
void weak_acquire(void);
/* Between an access and its end: others have time to see what is visible too soon. */
void weak_pause(void);
/* Before the scheme is asked: a load may be made as soon as its address is known, unless an acquire comes between. */
void weak_early(const struct access *a);
/* false: this one has to be performed as usual. */
bool weak_perform(struct access *a);

static inline void weak_before(int order)
{
	if (weak_memory && order != __ATOMIC_RELAXED && order != __ATOMIC_ACQUIRE && order != __ATOMIC_CONSUME)
		weak_release();
}

static inline void weak_after(int order)
{
	if (weak_memory && order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE)
		weak_acquire();
}

#ifdef WEAK_SCHEME
#define WEAK_VALUE(order, call)              \
	({                                   \
		weak_before(order);          \
		__auto_type weak_v = (call); \
		weak_after(order);           \
		weak_v;                      \
	})
#define __atomic_load_n(p, order)	 WEAK_VALUE(order, __atomic_load_n(p, order))
#define __atomic_store_n(p, v, order)	 (weak_before(order), __atomic_store_n(p, v, order))
#define __atomic_exchange_n(p, v, order) WEAK_VALUE(order, __atomic_exchange_n(p, v, order))
#define __atomic_fetch_add(p, v, order)	 WEAK_VALUE(order, __atomic_fetch_add(p, v, order))
#define __atomic_fetch_or(p, v, order)	 WEAK_VALUE(order, __atomic_fetch_or(p, v, order))
#define __atomic_fetch_and(p, v, order)	 WEAK_VALUE(order, __atomic_fetch_and(p, v, order))
#define __atomic_compare_exchange_n(p, e, v, weak, order, failure) \
	WEAK_VALUE(order, __atomic_compare_exchange_n(p, e, v, weak, order, failure))
#define __atomic_thread_fence(order) (weak_before(order), __atomic_thread_fence(order), weak_after(order))
#endif
#endif
