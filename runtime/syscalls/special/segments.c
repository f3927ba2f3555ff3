/*
 * System V shared memory: attached at an address that we choose, with the bytes that it then has in the log. At replay
 * it is memory that a fork shares, as it did. What other processes write there later is not seen, as with all memory
 * that processes share: the recording says so.
 */
#include "runtime/runtime.h"
#include "runtime/syscalls/capture.h"
#include "runtime/syscalls/special/special.h"
#include <linux/mman.h>
#include <linux/shm.h>

#define SEGMENTS 256
static struct segment {
	uint64_t addr, size, id; /* addr 0: free. Changed by calls on the address space, one after the other */
} segments[SEGMENTS];

static void keep(uint64_t addr, uint64_t size, uint64_t id)
{
	for (unsigned i = 0; i < SEGMENTS; i++)
		if (!segments[i].addr) {
			segments[i] = (struct segment){ addr, size, id };
			return;
		}
	cannot("the program has more than %d segments of System V shared memory at once, which cannot be recorded",
	       (long)SEGMENTS);
}

static struct segment *find(uint64_t addr)
{
	for (unsigned i = 0; addr && i < SEGMENTS; i++)
		if (segments[i].addr == addr)
			return &segments[i];
	return 0;
}

/* The same memory once more if the process has it already, and new memory if not. */
static long map_again(uint64_t id, uint64_t at, uint64_t size)
{
	for (unsigned i = 0; i < SEGMENTS; i++)
		if (segments[i].addr && segments[i].id == id)
			return SYS5(__NR_mremap, segments[i].addr, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, at);
	return SYS6(__NR_mmap, at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static long attach(const uint64_t *a, uint64_t size)
{
	if (a[1]) {
		long at = is_ours(a[1], size) ? -EINVAL : SYS3(__NR_shmat, a[0], a[1], a[2]);
		if (!is_error(at))
			order_mapped((uint64_t)at, size);
		return at;
	}
	const uint64_t reserve[6] = {
		0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0
	};
	long place = map_somewhere(reserve);
	if (is_error(place))
		return place;
	long r = SYS3(__NR_shmat, a[0], place, a[2] | SHM_REMAP);
	if (is_error(r))
		SYS2(__NR_munmap, place, size);
	return r;
}

static void record_shmat(struct call *c)
{
	struct shmid64_ds about;
	memset(&about, 0, sizeof about);
	call_begin(c);
	c->result = SYS3(__NR_shmctl, c->args[0], IPC_STAT, &about);
	uint64_t size = ALIGN_UP(about.shm_segsz, page_size);
	if (!is_error(c->result))
		c->result = attach(c->args, size);
	call_done(c);
	if (!is_error(c->result)) {
		call_block(c, BLOCK_SEGMENT, 0, size, 0, 0);
		shared_file_log(c, (uint64_t)c->result, size);
		keep((uint64_t)c->result, size, c->args[0]);
		if (about.shm_nattch)
			note_not_recorded(SHARED_MEMORY);
	}
	entry_finish(c);
}

static void attach_again(struct call *c)
{
	if (is_error(c->result))
		return;
	const struct block *b = entry_find(c->entry, BLOCK_SEGMENT, -1);
	if (!b || is_ours((uint64_t)c->result, b->addr))
		damaged("wrong shmat entry at event %u", c->t->log.events);
	long r = map_again(c->args[0], (uint64_t)c->result, b->addr);
	if (r != c->result)
		cannot("shmat gives %x instead of %x at replay: is there enough memory?", r, c->result);
	keep((uint64_t)c->result, b->addr, c->args[0]);
}

/* After its bytes, which could not be written to what may only be read. */
static void protect_again(const struct call *c)
{
	const struct segment *s = is_error(c->result) ? 0 : find((uint64_t)c->result);
	if (s)
		SYS3(__NR_mprotect, s->addr, s->size,
		     PROT_READ | (c->args[2] & SHM_RDONLY ? 0 : PROT_WRITE) | (c->args[2] & SHM_EXEC ? PROT_EXEC : 0));
}

void special_shmat(struct call *c)
{
	if (replaying) {
		c->before_bytes = attach_again;
		call_replay(c);
		protect_again(c);
	} else {
		record_shmat(c);
	}
	if (!is_error(c->result))
		shares_memory = true;
}

void special_shmdt(struct call *c)
{
	struct segment *s = find(c->args[0]);
	if (replaying) {
		call_replay(c);
		if (!c->result && s)
			SYS2(__NR_munmap, s->addr, s->size);
	} else {
		call_begin(c);
		c->result = is_ours(c->args[0], 1) ? -EINVAL : SYS1(__NR_shmdt, c->args[0]);
		call_end(c);
	}
	if (!c->result && s)
		s->addr = 0;
}
