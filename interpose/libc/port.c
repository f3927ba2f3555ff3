/*
 * The way from libc's stubs into the runtime. Everything else in this folder is the
 * same in the stand-alone test, which brings another port.c.
 *
 * Decided by "has this process ever had a second thread": the thread that creates the
 * second one counts it before it exists, so the only thread there was knows at each of
 * its calls, and every other thread begins with the answer yes. The question therefore
 * has the same answer at the same call at replay, and ops are counted alike.
 */
#include "interpose/libc/libc.h"
#include "runtime/memory/map.h"
#include "runtime/sync/sync.h"

#define ENTRIES ((const struct sync_entries *)MAP_ENTRIES)

const uint32_t *const libc_threads = &ENTRIES->threads_seen;

long libc_section_enter(uint64_t object, unsigned how)
{
	return ENTRIES->call(ENTRIES->functions[SYNC_section_enter], object, how, 0, 0);
}

void libc_section_leave(uint64_t object, unsigned how)
{
	ENTRIES->call(ENTRIES->functions[SYNC_section_leave], object, how, 0, 0);
}

void libc_thread_stack(uint64_t *low, uint64_t *high)
{
	const struct front *self = ENTRIES->self();
	*low = self->stack_low;
	*high = self->stack_high;
}
