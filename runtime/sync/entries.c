/* The way from libheddle.so into an op, and the table in which it finds them. */
#include "loader/arch/arch.h"
#include "runtime/races/watch.h"
#include "runtime/runtime.h"
#include <linux/mman.h>

long sync_run(struct thread *t)
{
	for (;;) {
		sync_function *f = (sync_function *)SYNC_CALL_ARG(&t->regs, 0);
		const uint64_t args[4] = { SYNC_CALL_ARG(&t->regs, 1), SYNC_CALL_ARG(&t->regs, 2),
					   SYNC_CALL_ARG(&t->regs, 3), SYNC_CALL_ARG(&t->regs, 4) };
		t->op_function = f;
		long r = f(t, args[0], args[1], args[2], args[3]);
		t->op_function = 0;
		if (unlikely(races_watch))
			races_returned(t, (uint64_t)f, args, r);
		if (likely(r != SYNC_INTERRUPTED)) {
			/*
			 * sem_wait has the token: who is cancelled now would lose it, and the type of cancellation is
			 * still the one for waiting. A function of libc that allocates inside a group is in the middle
			 * of what other threads must not see: a handler's accesses would end the group. An open bracket
			 * tells: see order_before_op().
			 */
			bool later = (f == sync_sem_take && !r) || (t->hooked && t->self->events & 1);
			if (unlikely(t->held || replaying) && !later) {
				regs_returned(&t->regs, (uint64_t)r);
				signals_deliver(t, false);
			}
			log_settled(t, true);
			return r;
		}
		/* the handler's frame leads back into sync_call with the same arguments */
		signals_deliver(t, true);
	}
}

void sync_fill_entries(void)
{
	long r =
		own_map(MAP_ENTRIES, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (is_error(r))
		no_memory("the table of what libheddle.so calls", r);
	struct sync_entries *e = (void *)r;
	*e = (struct sync_entries){ .version = TRACE_VERSION,
				    .call = sync_call,
				    .self = sync_self,
				    .stack_protection = PROT_READ | PROT_WRITE };
#define SYNC_FILL(name) e->functions[SYNC_##name] = sync_##name;
	SYNC_FUNCTIONS(SYNC_FILL)
#undef SYNC_FILL
}
