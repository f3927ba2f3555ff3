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

#include <signal.h>

#define FIRST_STACK 0x400000000ul /* larger than any stack of the first thread */
#define ENTRIES	    ((const struct sync_entries *)MAP_ENTRIES)

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
	uint64_t sp = (uint64_t)__builtin_frame_address(0);
	stack_t other;
	*low = *high = 0;
	/* a handler's stack may be an array on the thread's own, above the functions that the handler interrupts */
	if (sigaltstack(0, &other) || other.ss_flags & SS_ONSTACK)
		return;
	if (sp >= MAP_STACKS_BASE && sp < MAP_STACKS_END) {
		*low = sp - (sp - MAP_STACKS_BASE) % MAP_THREAD_STACK_ROOM;
		*high = *low + MAP_THREAD_STACK_ROOM;
	} else if (sp >= MAP_STACK_TOP - FIRST_STACK && sp < MAP_STACK_TOP) {
		*low = MAP_STACK_TOP - FIRST_STACK;
		*high = MAP_STACK_TOP;
	}
}
