/*
 * Files that the program has mapped shared.
 *
 * At replay such a mapping is a private copy: what the program stores there it
 * stores again. But a write() to the same file also changes the mapping; so,
 * while any is mapped, each write looks whether its file is one of them, and the
 * bytes that changed are logged as memory. So is all that is mapped of a file
 * which a call changes otherwise (ftruncate, splice), and what mremap() brings
 * into sight of a file that may have grown. Writes by other processes are not
 * seen: doc/nondeterminism.md.
 *
 * The list is changed by calls on the address space, one after the other
 * (space_enter()); writes look at it beside them, hence the lock. The memory
 * itself they read through /proc/thread-self/mem: another thread may just unmap it, or
 * the program may not read it.
 *
 * Nearly every program has one mapped, libc's list of character sets. So a
 * descriptor that is a pipe or a socket is remembered as such, until it is closed
 * or another is put in its place (shown_set() is told of both): what it leads to
 * cannot be mapped. Only their writes take the quick way, which looks before the
 * call, unless there is one thread: another could map the file meanwhile.
 *
 * A write that does not say where it goes is followed by a look at where the
 * descriptor, or the end of the file, is now. Among threads such writes to mapped
 * files are made one after the other, or it would be the place of another one.
 *
 * Two threads may change the same bytes. What is logged is what the memory has then,
 * so the last who looks has seen the changes of all: looking and logging are one
 * step among threads (`turn`), and replay makes these steps in the same order. The
 * order is that of tickets. Who looks takes another one, by which its counter on
 * exit goes on, and which counts as begun at replay when the bytes are in memory.
 * Calls that may wait are made before.
 */
#include "runtime/memory/maps.h"
#include "runtime/runtime.h"
#include "runtime/syscalls/capture.h"
#include <linux/mman.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/stat.h>

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20 /* newer than some headers */
#endif

#define SHARED_FILES 1024
static struct shared_file {
	uint64_t addr, len, offset;
	struct file_id id; /* with its size as it was last known; not at replay: nobody asks */
} files[SHARED_FILES];
unsigned shared_file_count;
static uint32_t lock;
static uint32_t turn; /* held while bytes are looked at and logged; by some writes from before they are made */

void shared_files_forked(void)
{
	lock = turn = 0; /* another thread may have held them; it is gone */
}

/* The file of a descriptor, or the one with this path. */
static enum fd_kind identify(int fd, const char *path, struct file_id *id)
{
	struct statx st;
	memset(&st, 0, sizeof st);
	if (SYS5(__NR_statx, fd, path, AT_EMPTY_PATH, STATX_BASIC_STATS, &st) < 0)
		return FD_UNKNOWN;
	*id = (struct file_id){ st.stx_dev_major * 4096ul + st.stx_dev_minor, st.stx_ino, st.stx_size };
	return (st.stx_mode & S_IFMT) == S_IFREG ? FD_REGULAR : FD_OTHER;
}

static bool is_same(const struct file_id *a, const struct file_id *b)
{
	return a->inode == b->inode && a->device == b->device;
}

static bool is_mapped(const struct file_id *id)
{
	bool mapped = false;
	brief_lock(&lock);
	for (unsigned i = 0; i < shared_file_count; i++)
		mapped |= is_same(&files[i].id, id);
	brief_unlock(&lock);
	return mapped;
}

/* Under the lock. */
static void add(const struct shared_file *f)
{
	if (shared_file_count == SHARED_FILES)
		cannot("the program maps more than %d files shared at once, which cannot be recorded",
		       (long)SHARED_FILES);
	files[shared_file_count++] = *f;
}

static void keep(const struct shared_file *f)
{
	brief_lock(&lock);
	add(f);
	brief_unlock(&lock);
}

void shared_file_mapped(int fd, uint64_t addr, uint64_t len, uint64_t offset)
{
	struct shared_file f = { .addr = addr, .len = ALIGN_UP(len, page_size), .offset = offset };
	if (!replaying && identify(fd, "", &f.id) != FD_REGULAR)
		return;
	keep(&f);
}

static void remove(unsigned i)
{
	files[i] = files[--shared_file_count];
}

/* What is left of it between two addresses. */
static void add_part(const struct shared_file *f, uint64_t from, uint64_t to)
{
	struct shared_file part = *f;
	if (from >= to)
		return;
	part.offset += from - f->addr;
	part.addr = from;
	part.len = to - from;
	add(&part);
}

void shared_file_unmapped(uint64_t addr, uint64_t len)
{
	uint64_t end = addr + ALIGN_UP(len, page_size);
	if (!shared_file_count)
		return;
	brief_lock(&lock);
	for (unsigned i = 0; i < shared_file_count; i++) {
		struct shared_file f = files[i];
		if (f.addr >= end || f.addr + f.len <= addr)
			continue;
		remove(i--);
		add_part(&f, f.addr, addr);
		add_part(&f, end, f.addr + f.len);
	}
	brief_unlock(&lock);
}

uint64_t shared_file_run(uint64_t at, uint64_t end, bool *file)
{
	uint64_t to = end;
	*file = false;
	for (unsigned i = 0; i < shared_file_count; i++) {
		const struct shared_file *f = &files[i];
		if (at >= f->addr && at < f->addr + f->len) {
			*file = true;
			return MIN(end, f->addr + f->len);
		}
		if (f->addr > at)
			to = MIN(to, f->addr);
	}
	return to;
}

bool shared_file_at(uint64_t addr)
{
	bool file;
	shared_file_run(addr, addr + 1, &file);
	return file;
}

void shared_file_moved(uint64_t from, uint64_t old_len, uint64_t to, uint64_t new_len, bool stays)
{
	struct shared_file moved = { 0 };
	for (unsigned i = 0; i < shared_file_count; i++)
		if (from >= files[i].addr && from < files[i].addr + files[i].len)
			moved = files[i];
	if (!stays)
		shared_file_unmapped(from, old_len);
	shared_file_unmapped(to, new_len);
	moved.offset += from - moved.addr;
	moved.addr = to;
	moved.len = ALIGN_UP(new_len, page_size);
	keep(&moved);
}

static long open_memory(int flags)
{
	long fd = file_open("/proc/thread-self/mem", flags, 0);
	if (fd < 0)
		cannot("the bytes of a file that the program has mapped and changed need /proc, which is not mounted "
		       "here");
	return fd;
}

/* Piece by piece, up to the first byte that is not there. */
void shared_file_log(struct call *c, uint64_t at, uint64_t len)
{
	long fd = open_memory(O_RDONLY);
	for (uint64_t piece; len; at += piece, len -= piece) {
		piece = MIN(len, page_size - at % page_size);
		entry_room(c, piece);
		uint8_t *to = c->at + sizeof(struct block);
		if (file_read(fd, to, piece, at) != (long)piece)
			break;
		call_block(c, BLOCK_PATCH, 1, at, (uint32_t)piece, to);
	}
	file_close(fd);
}

static bool is_positioned(const struct call *c)
{
	return c->nr == __NR_pwrite64 || c->nr == __NR_pwritev || (c->nr == __NR_pwritev2 && c->args[3] != ~0ull);
}

static bool appends(const struct call *c)
{
	uint64_t how = c->nr == __NR_pwritev2 ? c->args[5] : 0;
	if (how & (RWF_APPEND | RWF_NOAPPEND))
		return how & RWF_APPEND;
	return SYS2(__NR_fcntl, c->args[0], F_GETFL) & O_APPEND;
}

static uint64_t written_at(const struct call *c)
{
	bool positioned = is_positioned(c), to_end = positioned && appends(c);
	if (positioned && !to_end)
		return c->args[3];
	struct statx st = { 0 };
	if (to_end)
		SYS5(__NR_statx, c->args[0], "", AT_EMPTY_PATH, STATX_SIZE, &st);
	long now = to_end ? (long)st.stx_size : SYS3(__NR_lseek, c->args[0], 0, 1 /* SEEK_CUR */);
	return now < c->result ? 0 : (uint64_t)(now - c->result);
}

static void log_zeros(struct call *c, uint64_t at, uint64_t len)
{
	for (uint64_t piece; len; at += piece, len -= piece) {
		piece = MIN(len, page_size);
		entry_room(c, piece);
		memset(c->at + sizeof(struct block), 0, piece);
		call_block(c, BLOCK_PATCH, 1, at, (uint32_t)piece, c->at + sizeof(struct block));
	}
}

/* What this mapping has of bytes [from, to) of its file. */
static void log_part(struct call *c, const struct shared_file *f, uint64_t from, uint64_t to,
		     void (*log)(struct call *, uint64_t, uint64_t))
{
	uint64_t low = MAX(from, f->offset), high = MIN(to, f->offset + f->len);
	if (low < high)
		log(c, f->addr + (low - f->offset), high - low);
}

/* The file that it goes to, if that may be mapped. */
static bool find_target(const struct call *c, struct file_id *target)
{
	uint64_t fd = c->args[0];
	uint8_t unknown = FD_UNKNOWN, *kinds = c->t->process->kinds;
	uint8_t *kind = fd < COUNT(c->t->process->kinds) ? &kinds[fd] : &unknown;
	if (*kind == FD_OTHER || (*kind == FD_REGULAR && !shared_file_count))
		return false;
	*kind = (uint8_t)identify((int)fd, "", target);
	return *kind == FD_REGULAR && shared_file_count;
}

void shared_file_write_begins(struct call *c, struct file_write *w)
{
	w->found = !one_thread && find_target(c, &w->target);
	w->alone = w->found && is_mapped(&w->target) && !(is_positioned(c) && !appends(c));
	if (w->alone)
		sleep_lock(&turn);
}

/* Bytes [from, to) of the file, where they are mapped. */
void shared_file_written(struct call *c, const struct file_write *w)
{
	uint64_t to = w->from + (uint64_t)c->result;
	if (!w->found)
		return;
	brief_lock(&lock);
	for (unsigned i = 0; i < shared_file_count; i++) {
		struct shared_file *f = &files[i];
		if (!is_same(&f->id, &w->target))
			continue;
		log_part(c, f, w->from, to, shared_file_log);
		f->id.size = MAX(f->id.size, to);
	}
	brief_unlock(&lock);
}

/* Does it cut the file that it opens? */
static bool opens_to_cut(const struct call *c)
{
	uint64_t how = 0;
	switch (c->nr) {
	case __NR_openat: how = c->args[2]; break;
	case __NR_openat2: user_copy(&how, (void *)c->real[2], sizeof how); break; /* the first of its fields */
#ifdef __NR_open
	case __NR_open: how = c->args[1]; break;
	case __NR_creat: how = O_TRUNC; break;
#endif
	}
	return how & O_TRUNC;
}

/* The file that a call changes otherwise. */
static enum fd_kind changed_by(const struct call *c, struct file_id *target)
{
	if (c->nr == __NR_truncate)
		return identify(AT_FDCWD, (const char *)c->real[0], target);
	if (opens_to_cut(c))
		return identify((int)c->result, "", target);
	if (c->row->flags & SYS_NOT_TO_SHOWN)
		return identify((int)c->args[c->row->to_arg], "", target);
	if (c->row->flags & SYS_CHANGES ||
	    (c->nr == __NR_ioctl && (c->args[1] == FICLONE || c->args[1] == FICLONERANGE)))
		return identify((int)c->args[0], "", target);
	return FD_UNKNOWN;
}

static bool changes_mapped(const struct call *c)
{
	struct file_id target;
	return c->result >= 0 && changed_by(c, &target) == FD_REGULAR && is_mapped(&target);
}

void shared_file_call_ended(struct call *c, struct file_write *w, bool writes)
{
	w->found = writes && c->result > 0 && (w->found || find_target(c, &w->target));
	if (w->found)
		w->from = written_at(c);
	c->changes_file = !one_thread && (w->found ? is_mapped(&w->target) : changes_mapped(c));
	if (c->changes_file && !w->alone)
		sleep_lock(&turn);
	else if (w->alone && !c->changes_file)
		sleep_unlock(&turn);
}

void shared_file_call_logged(const struct call *c)
{
	if (c->changes_file)
		sleep_unlock(&turn);
}

/* All of it. What was cut off cannot be read; if the file grows again it is zeros. */
void shared_files_changed(struct call *c)
{
	struct file_id target;
	if (changed_by(c, &target) != FD_REGULAR)
		return;
	brief_lock(&lock);
	for (unsigned i = 0; i < shared_file_count; i++) {
		struct shared_file *f = &files[i];
		if (!is_same(&f->id, &target))
			continue;
		log_part(c, f, 0, UINT64_MAX, shared_file_log);
		log_part(c, f, ALIGN_UP(target.size, page_size), ALIGN_UP(f->id.size, page_size), log_zeros);
		f->id.size = target.size;
	}
	brief_unlock(&lock);
}

bool shared_file_known(int fd)
{
	struct file_id target;
	return shared_file_count && identify(fd, "", &target) == FD_REGULAR && is_mapped(&target);
}

void shared_file_patch(uint64_t addr, const void *data, uint32_t n)
{
	if (is_ours(addr, n))
		damaged("a file that is mapped over Heddle itself");
	long fd = open_memory(O_RDWR);
	long r = SYS4(__NR_pwrite64, fd, data, n, addr);
	file_close(fd);
	if (r != (long)n)
		cannot("cannot change mapped memory at %x: error %d", addr, -r);
}

/* The bytes that are there, in memory of their own: a page that the program may not read, or that its file does not
   reach. */
static void copy_pages(uint64_t to, uint64_t from, uint64_t len)
{
	long fd = open_memory(O_RDONLY);
	for (uint64_t i = 0; i < len; i += page_size)
		file_read(fd, (void *)(to + i), page_size, from + i);
	file_close(fd);
}

static int protection_at(uint64_t addr)
{
	const char *maps = maps_read();
	int protection = PROT_NONE;
	if (!maps)
		cannot("mremap of a file needs /proc at replay, which is not mounted here");
	for (struct mapped m; maps_next(&maps, &m);)
		if (addr >= m.from && addr < m.to)
			protection = (m.readable ? PROT_READ : 0) | (m.writable ? PROT_WRITE : 0) |
				     (m.executable ? PROT_EXEC : 0);
	maps_done();
	return protection;
}

long shared_file_remap(uint64_t from, uint64_t old_len, uint64_t to, uint64_t new_len, bool stays)
{
	int protection = protection_at(from), flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	old_len = ALIGN_UP(old_len, page_size);
	new_len = ALIGN_UP(new_len, page_size);
	if (to == from && new_len <= old_len)
		return SYS5(__NR_mremap, from, old_len, new_len, 0, 0);
	if (to == from) {
		long r = SYS6(__NR_mmap, from + old_len, new_len - old_len, protection, flags, -1, 0);
		return is_error(r) ? r : (long)to;
	}
	long r = SYS6(__NR_mmap, to, new_len, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (is_error(r))
		return r;
	copy_pages(to, from, MIN(old_len, new_len));
	if (!stays)
		SYS2(__NR_munmap, from, old_len);
	SYS3(__NR_mprotect, to, new_len, protection);
	return r;
}
