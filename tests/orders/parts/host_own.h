/*
 * What the files of the host share among themselves, and nobody else needs: host.c drives, host_services.c is order.h,
 * host_access.c is what a workload does.
 */
#ifndef HOST_OWN_H
#define HOST_OWN_H
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include "host.h"

enum { LOG_ROOM = 1 << 30, VALUES_ROOM = 1 << 28, TURNS_ROOM = 1 << 26 }; /* address space, not memory */
enum { CHILD_DIVERGED = 3, CHILD_STOOD_STILL = 4, CHILD_CANNOT = 5 };

/* Of this child. */
extern struct worker *workers; /* [thread] */
extern uint8_t *states;	       /* the scheme's, of all words */
extern const struct order_scheme *scheme;
extern const struct order_ops *ops;

/* The program's locks: real at record; at replay only their turns count. */
struct mutex {
	_Alignas(128) pthread_mutex_t real;
	uint64_t turn; /* locks so far; at replay: unlocks */
	uint64_t known[MAX_THREADS];
};
extern struct mutex *mutexes;

void *host_map(size_t size, int flags);
/* Ends this child; the first complaint is kept. */
_Noreturn void give_up(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* host_services.c: at replay, the entry that is due next */
void next_entry(struct worker *w);
double host_now(clockid_t clock);

/* host_access.c: around whatever a scheme counts as an event */
void begins(struct worker *w);
void finish(struct worker *w, uint64_t n);

ALWAYS struct worker *worker_of(struct order_thread *t)
{
	return (struct worker *)((char *)t - offsetof(struct worker, order));
}
#endif
