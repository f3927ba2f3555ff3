/*
 * The address space: mmap and its kin, in both directions.
 *
 * Recording: where the program leaves the address to the system, we choose it
 * (mmap_place). Files are kept in the trace. Replaying: the same mapping is made
 * at the recorded address, from the saved copy, always private: the program
 * fills it again with what it wrote.
 */
#include "loader/patch.h"
#include "runtime/races/watch.h"
#include "runtime/runtime.h"
#include "runtime/syscalls/special/special.h"
#include <linux/fcntl.h>
#include <linux/mman.h>

#define PLACE_TRIES 64
#ifndef MAP_32BIT
#define MAP_32BIT 0 /* of x86-64 only */
#endif

bool shares_memory;

/* What of the program's flags says how the memory behaves, and not where it lies. */
#define BEHAVIOUR (MAP_NORESERVE | MAP_GROWSDOWN | MAP_STACK | MAP_LOCKED | MAP_POPULATE)

long map_somewhere(const uint64_t a[6])
{
	uint64_t hint = ALIGN_DOWN(a[0], page_size);
	long r = -EEXIST;
	if (hint && hint < MAP_PROGRAM_END && a[1] <= MAP_PROGRAM_END - hint && !is_ours(hint, a[1]))
		r = SYS6(__NR_mmap, hint, a[1], a[2], a[3] | MAP_FIXED_NOREPLACE, a[4], a[5]);
	/* the kernel says EEXIST for a taken place, and may refuse a hint outright */
	for (int i = 0; is_error(r) && i < PLACE_TRIES; i++) {
		uint64_t at = a[3] & MAP_32BIT ? mmap_place_low(a[1]) : mmap_place(a[1]);
		r = SYS6(__NR_mmap, at, a[1], a[2], a[3] | MAP_FIXED_NOREPLACE, a[4], a[5]);
		if (r != -EEXIST)
			break;
	}
	return r == -EEXIST ? -ENOMEM : r;
}

/* What lies there now is other code, perhaps of a file whose system calls are known. */
static void code_mapped(const struct call *c, const char *key, long at)
{
	const uint64_t *a = c->args;
	if (is_error(at))
		return;
	known_sites_unmapped((uint64_t)at, a[1]);
	if ((a[3] & MAP_TYPE) == MAP_PRIVATE && !(a[2] & PROT_WRITE))
		known_sites_mapped(key, (uint64_t)at, a[1], a[5], a[2]);
}

/* A fork gives the child memory that both write to; and a file may be mapped by several. */
static void note_sharing(const struct call *c)
{
	const uint64_t *a = c->args;
	shared_file_unmapped((uint64_t)c->result, a[1]);
	if ((a[3] & MAP_TYPE) == MAP_PRIVATE)
		return;
	if (a[2] & PROT_WRITE)
		shares_memory = true;
	/* the first process may have become another program, and is alone all the same */
	if (a[2] & PROT_WRITE && !(a[3] & MAP_ANONYMOUS) && SYS0(__NR_getppid) != control->heddle_pid)
		note_not_recorded(SHARED_MEMORY);
	if (!(a[3] & MAP_ANONYMOUS))
		shared_file_mapped((int)a[4], (uint64_t)c->result, a[1], a[5]);
}

static long map_again(struct call *c, const struct entry *e)
{
	const uint64_t *a = c->args;
	const struct block *file = entry_find(e, BLOCK_FILE, -1);
	if (!file)
		file = entry_find(e, BLOCK_CONTENT, -1);
	uint64_t size, flags = (a[3] & BEHAVIOUR) | MAP_FIXED;
	if (!file) {
		flags |= MAP_ANONYMOUS | (a[3] & MAP_SHARED ? MAP_SHARED : MAP_PRIVATE);
		long r = SYS6(__NR_mmap, e->result, a[1], a[2], flags, -1, 0);
		code_mapped(c, "", r);
		return r;
	}
	long fd = saved_file_open(file, &size);
	long r = SYS6(__NR_mmap, e->result, a[1], a[2], flags | MAP_PRIVATE, fd, a[5]);
	file_close(fd);
	code_mapped(c, saved_file_key(file), r);
	uint64_t in_file = ALIGN_UP(size > a[5] ? size - a[5] : 0, page_size);
	if ((a[3] & MAP_TYPE) != MAP_PRIVATE && !is_error(r) && a[1] > in_file) {
		/* the file may have grown later; there the copy has no bytes, and the program's own follow */
		SYS6(__NR_mmap, (uint64_t)r + in_file, a[1] - in_file, a[2], flags | MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	}
	return r;
}

/* Forced calls give what was recorded, or the machine cannot replay this. */
static void require(struct call *c, long r)
{
	if (r != c->result)
		cannot("%s gives %x instead of %x at replay: is there enough memory?", c->row->name, r, c->result);
}

static void replay_mmap(struct call *c)
{
	call_replay(c);
	if (!is_error(c->result)) {
		require(c, map_again(c, c->entry));
		note_sharing(c);
	}
}

static void record_mmap(struct call *c)
{
	const uint64_t *a = c->args;
	char key[SAVED_KEY_ROOM] = "";
	call_begin(c);
	bool fixed = a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE);
	bool special = !(a[3] & MAP_ANONYMOUS) && a[1] && saved_file_log(c, 4, (int)a[4], key) == -ENODEV &&
		       !is_zero_device((int)a[4]);
	if (fixed && is_ours(a[0], a[1]))
		c->result = -ENOMEM;
	else if (fixed)
		c->result = SYS6(__NR_mmap, a[0], a[1], a[2], a[3], a[4], a[5]);
	else
		c->result = map_somewhere(a);
	if (special && !is_error(c->result)) /* pipes, sockets and the like say no */
		cannot("the program maps a device or another special file (descriptor %d), which cannot be recorded",
		       a[4]);
	code_mapped(c, key, c->result);
	if (!is_error(c->result)) {
		note_sharing(c);
		order_mapped((uint64_t)c->result, a[1]);
	}
	call_end(c);
}

void special_mmap(struct call *c)
{
	if (replaying)
		replay_mmap(c);
	else
		record_mmap(c);
	if (!is_error(c->result) && c->args[2] & PROT_EXEC && !(c->args[3] & MAP_ANONYMOUS))
		atomics_mapped((uint64_t)c->result, (uint64_t)c->result + c->args[1]);
}

/* Over a hole in their range all calls but munmap() say so, and do the rest. */
static bool took_effect(const struct call *c)
{
	return !is_error(c->result) || (c->result == -ENOMEM && c->nr != __NR_munmap);
}

static void call_on_range(struct call *c)
{
	if (is_ours(c->args[0], c->args[1]))
		c->result = -EINVAL;
	else
		call_kernel(c);
}

/* Calls on a range of the program's that may simply be made again. */
static void on_range(struct call *c)
{
	if (replaying) {
		call_replay(c);
		if (took_effect(c)) {
			long logged = c->result;
			call_kernel(c);
			long now = c->result;
			c->result = logged;
			require(c, now);
		}
		return;
	}
	call_begin(c);
	call_on_range(c);
	call_end(c);
}

void special_munmap(struct call *c)
{
	on_range(c);
	if (c->result)
		return;
	shared_file_unmapped(c->args[0], c->args[1]);
	known_sites_unmapped(c->args[0], c->args[1]);
	if (unlikely(races_watch))
		races_forget(c->args[0], c->args[1]);
}

void special_mprotect(struct call *c)
{
	on_range(c);
	/* ld.so has loaded a library that runs code on the stack; it knows nothing of the stacks that threads have */
	if (!c->result && (c->args[2] & PROT_GROWSDOWN) && (c->args[2] & PROT_EXEC))
		threads_make_executable();
}

/* Where a file is mapped shared the bytes stay in it; or they go there, and the memory has others then. Replay, where
   it is a copy, leaves it alone. */
static void advise_files(struct call *c)
{
	uint64_t end = c->args[0] + ALIGN_UP(c->args[1], page_size), to;
	bool file;
	if (replaying) {
		call_replay(c);
	} else {
		call_begin(c);
		call_on_range(c);
		call_done(c);
	}
	for (uint64_t at = c->args[0]; at < end; at = to) {
		to = shared_file_run(at, end, &file);
		if (replaying && !file && took_effect(c))
			SYS3(__NR_madvise, at, to - at, c->real[2]);
		else if (!replaying && file && c->real[2] == MADV_REMOVE) /* also one that failed later on */
			shared_file_log(c, at, to - at);
	}
	if (!replaying)
		entry_finish(c);
}

static bool meets_files(const struct call *c)
{
	bool file;
	uint64_t end = c->args[0] + ALIGN_UP(c->args[1], page_size), to = shared_file_run(c->args[0], end, &file);
	return file || to < end;
}

void special_madvise(struct call *c)
{
	/* MADV_FREE leaves it to the system when the bytes go; DONTNEED is the one legal moment we can repeat */
	if (c->args[2] == MADV_FREE) {
		long r = replaying ? 0 : SYS3(__NR_madvise, c->args[0], c->args[1], MADV_FREE);
		if (r && r != -ENOMEM) { /* not for this kind of memory */
			call_answer(c, r);
			return;
		}
		c->real[2] = MADV_DONTNEED;
	}
	bool bytes_go = c->real[2] == MADV_DONTNEED || c->real[2] == MADV_DONTNEED_LOCKED || c->real[2] == MADV_REMOVE;
	if (bytes_go && meets_files(c)) {
		advise_files(c);
		return;
	}
	if (bytes_go || !replaying) {
		on_range(c);
		return;
	}
	/* advice that changes no bytes may be answered differently by another kernel */
	call_replay(c);
	long logged = c->result;
	call_kernel(c);
	c->result = logged;
}

void special_brk(struct call *c)
{
	if (replaying) {
		call_replay(c);
		require(c, SYS1(__NR_brk, c->result)); /* less than the program asked for, if there was a limit */
		return;
	}
	call_begin(c);
	uint64_t to = c->args[0];
	c->result = SYS1(__NR_brk, to < MAP_BRK_END ? to : 0);
	call_end(c);
}

/* What the program asks for, never into our memory. */
static long remap_somewhere(const uint64_t *a)
{
	if (is_ours(a[0], a[1]) || ((a[3] & MREMAP_FIXED) && is_ours(a[4], a[2])))
		return -EINVAL;
	if ((a[3] & MREMAP_FIXED) || !(a[3] & MREMAP_MAYMOVE))
		return SYS5(__NR_mremap, a[0], a[1], a[2], a[3], a[4]);
	long r = a[3] & MREMAP_DONTUNMAP ? -ENOMEM : SYS5(__NR_mremap, a[0], a[1], a[2], 0, 0);
	if (r != -ENOMEM)
		return r;
	/* FIXED would replace what is there: a reservation finds a free place first */
	const uint64_t reserve[6] = {
		0, a[2], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0
	};
	long place = map_somewhere(reserve);
	if (is_error(place))
		return r;
	r = SYS5(__NR_mremap, a[0], a[1], a[2], a[3] | MREMAP_FIXED, place);
	if (is_error(r))
		SYS2(__NR_munmap, place, a[2]);
	return r;
}

static void remap_again(struct call *c)
{
	const uint64_t *a = c->args;
	if (is_error(c->result))
		return;
	uint64_t to = (uint64_t)c->result, flags = (a[3] & MREMAP_DONTUNMAP) | MREMAP_MAYMOVE | MREMAP_FIXED;
	if (shared_file_at(a[0]))
		require(c, shared_file_remap(a[0], a[1], to, a[2], a[3] & MREMAP_DONTUNMAP));
	else
		require(c, SYS5(__NR_mremap, a[0], a[1], a[2], to == a[0] ? 0 : flags, to));
}

void special_mremap(struct call *c)
{
	const uint64_t *a = c->args;
	bool file = shared_file_at(a[0]);
	if (replaying) {
		c->before_bytes = remap_again;
		call_replay(c);
	} else {
		call_begin(c);
		c->result = remap_somewhere(a);
		if (!is_error(c->result))
			order_mapped((uint64_t)c->result, a[2]);
		call_done(c);
		if (file && !is_error(c->result) && a[2] > a[1])
			shared_file_log(c, (uint64_t)c->result + ALIGN_UP(a[1], page_size),
					a[2] - MIN(a[2], ALIGN_UP(a[1], page_size)));
	}
	if (!is_error(c->result)) {
		known_sites_unmapped(a[0], a[1]);
		if (file)
			shared_file_moved(a[0], a[1], (uint64_t)c->result, a[2], a[3] & MREMAP_DONTUNMAP);
	}
	if (!replaying)
		entry_finish(c);
}
