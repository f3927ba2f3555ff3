/*
 * One number for all writable memory of the program.
 *
 * Goes through the list of mappings; pages that hold only zeros do not count, so that
 * it makes no difference whether they were ever touched. What lies below the
 * stack pointer is left out, and so are our stubs, which lie in reach of the
 * program's code in the order in which threads first came to their sites.
 *
 * Stacks, and where libheddle.so keeps registers, do not count where the program's accesses are recorded. A hook that
 * finds its claim runs on in the program; one that does not spills registers to the stack and calls us. Replay finds
 * other claims than the recording, and other counts at which a loop is to look again, so what such spills leave behind
 * in dead slots and dead registers differs.
 */
#include "loader/patch.h"
#include "runtime/memory/maps.h"
#include "runtime/memory/pages.h"
#include "runtime/runtime.h"

#define PAGE 4096

static bool all_zero(const uint64_t *p)
{
	uint64_t any = 0;
	for (int i = 0; i < PAGE / 8; i += 8)
		any |= p[i] | p[i + 1] | p[i + 2] | p[i + 3] | p[i + 4] | p[i + 5] | p[i + 6] | p[i + 7];
	return !any;
}

/* The stack pointer that this page of `r` lies below, if any: that of the calling thread, of the first, or of the
   thread (alive or ended) whose stack of ours it is. */
static uint64_t stack_pointer(uint64_t page, const struct mapped *r, uint64_t own)
{
	uint64_t main_sp = thread_of(0)->regs.sp;
	if (r->to == MAP_STACK_TOP && main_sp >= r->from && main_sp < r->to)
		return main_sp;
	uint32_t slot = (uint32_t)((page - MAP_STACKS_BASE) / MAP_THREAD_STACK_ROOM);
	if (page < MAP_STACKS_BASE || page >= MAP_STACKS_END || slot >= thread_highest())
		return own;
	return thread_of(slot)->regs.sp;
}

/* Does the page lie in a stack, and not in the TLS and libc's own struct that follow it there? */
static bool is_stack(uint64_t page)
{
	uint64_t main_sp = thread_of(0)->regs.sp;
	if (page >= ALIGN_DOWN(main_sp, PAGE) && page < MAP_STACK_TOP && main_sp < MAP_STACK_TOP)
		return true;
	uint32_t slot = (uint32_t)((page - MAP_STACKS_BASE) / MAP_THREAD_STACK_ROOM);
	return page >= MAP_STACKS_BASE && page < MAP_STACKS_END && slot < thread_highest() &&
	       page + 2 * PAGE <= thread_of(slot)->tls;
}

/* The end of the stacks of threads in a mapping of its own: too large for their slots. 0: there are none. */
static uint64_t large_stacks_end(const struct mapped *r)
{
	uint64_t end = 0;
	for (uint32_t slot = 1; slot < thread_highest() && r->from >= MAP_MMAP_BASE && r->to <= MAP_MMAP_END; slot++) {
		uint64_t tls = thread_of(slot)->tls;
		if (tls >= r->from && tls < r->to && tls > end)
			end = tls;
	}
	return end;
}

/* Registers lie in stacks, at the places of libc's functions that libheddle.so calls, and, of threads, in the TLS above
   the stack. */
static bool holds_registers(uint64_t page)
{
	uint64_t kept = (uint64_t)thread_of(0)->front->registers;
	return (page >= MAP_STACKS_BASE && page < MAP_STACKS_END) || (kept && page + PAGE > kept && page < kept + PAGE);
}

static void each_of(const struct mapped *r, uint64_t own, bool registers, void (*found)(void *, uint64_t, uint64_t),
		    void *arg)
{
	bool stacks = !(order_watches && order_used);
	uint64_t large = large_stacks_end(r);
	for (uint64_t p = r->from; p < r->to; p += PAGE) {
		bool in_stack = is_stack(p) || p + 2 * PAGE <= large;
		if ((!registers || !stacks) && (in_stack || holds_registers(p)))
			continue;
		uint64_t sp = stack_pointer(p, r, own);
		uint64_t from = p;
		if (p + PAGE <= sp && r->to > sp)
			continue; /* unused stack */
		if (p < sp && sp < p + PAGE)
			from = sp;
		if (r->executable && patch_is_near(p, p + PAGE))
			continue; /* where a patch leads is not the same each time: sites are met in another order */
		if (user_probe((void *)p, 1) || all_zero((void *)p))
			continue; /* a page beyond the end of its file cannot be read */
		found(arg, p, from);
	}
}

void pages_each(struct thread *t, bool registers, void (*found)(void *arg, uint64_t page, uint64_t from), void *arg)
{
	const char *maps = maps_read();
	if (!maps)
		cannot("--checksum and --paranoid need /proc, which is not mounted here");
	for (struct mapped m; maps_next(&maps, &m);)
		if (m.readable && m.writable && !is_ours(m.from, m.to - m.from) && !patch_is_stub(m.from))
			each_of(&m, t->regs.sp, registers, found, arg);
	maps_done();
}

static void add_page(void *arg, uint64_t page, uint64_t from)
{
	uint64_t *hash = arg;
	*hash = hash_bytes(&from, 8, *hash);
	*hash = hash_bytes((void *)from, page + PAGE - from, *hash);
}

uint64_t checksum_memory(struct thread *t)
{
	uint64_t hash = 0;
	pages_each(t, true, add_page, &hash);
	return hash;
}
