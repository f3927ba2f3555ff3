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
 */
#include "runtime/memory/maps.h"
#include "runtime/runtime.h"
#include "runtime/syscalls/capture.h"
#include <linux/mman.h>
#include <linux/fcntl.h>
#include <linux/stat.h>

#define SHARED_FILES 1024
static struct shared_file {
	uint64_t addr, len, offset, device, inode; /* at replay no device and inode: nobody asks */
} files[SHARED_FILES];
unsigned shared_file_count;
static uint32_t lock;

void shared_files_forked(void)
{
	lock = 0; /* another thread may have held it; it is gone */
}

static enum fd_kind identify(int fd, struct shared_file *f)
{
	struct statx st;
	memset(&st, 0, sizeof st);
	if (SYS5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) < 0)
		return FD_UNKNOWN;
	f->device = st.stx_dev_major * 4096ul + st.stx_dev_minor;
	f->inode = st.stx_ino;
	return (st.stx_mode & S_IFMT) == S_IFREG ? FD_REGULAR : FD_OTHER;
}

static void keep(const struct shared_file *f)
{
	if (shared_file_count == SHARED_FILES)
		cannot("the program maps more than %d files shared at once, which cannot be recorded",
		       (long)SHARED_FILES);
	brief_lock(&lock);
	files[shared_file_count++] = *f;
	brief_unlock(&lock);
}

void shared_file_mapped(int fd, uint64_t addr, uint64_t len, uint64_t offset)
{
	struct shared_file f = { .addr = addr, .len = ALIGN_UP(len, page_size), .offset = offset };
	if (!replaying && identify(fd, &f) != FD_REGULAR)
		return;
	keep(&f);
}

static void remove(unsigned i)
{
	files[i] = files[--shared_file_count];
}

/* What is unmapped in the middle is cut at its beginning: the rest is then not followed any more. */
void shared_file_unmapped(uint64_t addr, uint64_t len)
{
	uint64_t end = addr + ALIGN_UP(len, page_size);
	if (!shared_file_count)
		return;
	brief_lock(&lock);
	for (unsigned i = 0; i < shared_file_count; i++) {
		struct shared_file *f = &files[i];
		if (f->addr >= end || f->addr + f->len <= addr)
			continue;
		if (f->addr < addr) {
			f->len = addr - f->addr;
		} else if (f->addr + f->len > end) {
			f->offset += end - f->addr;
			f->len -= end - f->addr;
			f->addr = end;
		} else {
			remove(i--);
		}
	}
	brief_unlock(&lock);
}

bool shared_file_at(uint64_t addr)
{
	for (unsigned i = 0; i < shared_file_count; i++)
		if (addr >= files[i].addr && addr < files[i].addr + files[i].len)
			return true;
	return false;
}

void shared_file_moved(uint64_t from, uint64_t old_len, uint64_t to, uint64_t new_len)
{
	struct shared_file moved = { 0 };
	for (unsigned i = 0; i < shared_file_count; i++)
		if (from >= files[i].addr && from < files[i].addr + files[i].len)
			moved = files[i];
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

static uint64_t written_at(const struct call *c)
{
	bool positioned = c->nr == __NR_pwrite64 || c->nr == __NR_pwritev ||
			  (c->nr == __NR_pwritev2 && c->args[3] != ~0ull);
	bool appends = positioned && SYS2(__NR_fcntl, c->args[0], F_GETFL) & O_APPEND;
	if (positioned && !appends)
		return c->args[3];
	struct statx st = { 0 };
	if (appends)
		SYS5(__NR_statx, c->args[0], "", AT_EMPTY_PATH, STATX_SIZE, &st);
	long now = appends ? (long)st.stx_size : SYS3(__NR_lseek, c->args[0], 0, 1 /* SEEK_CUR */);
	return now < c->result ? 0 : (uint64_t)(now - c->result);
}

/* Bytes [from, to) of the file, where they are mapped. */
static void log_bytes(struct call *c, const struct shared_file *target, uint64_t from, uint64_t to)
{
	brief_lock(&lock);
	for (unsigned i = 0; i < shared_file_count; i++) {
		const struct shared_file *f = &files[i];
		uint64_t low = MAX(from, f->offset), high = MIN(to, f->offset + f->len);
		if (f->inode == target->inode && f->device == target->device && low < high)
			shared_file_log(c, f->addr + (low - f->offset), high - low);
	}
	brief_unlock(&lock);
}

void shared_files_written(struct call *c)
{
	struct shared_file target;
	uint64_t fd = c->args[0];
	uint8_t unknown = FD_UNKNOWN, *kinds = c->t->process->kinds;
	uint8_t *kind = fd < COUNT(c->t->process->kinds) ? &kinds[fd] : &unknown;
	if (*kind == FD_OTHER || (*kind == FD_REGULAR && !shared_file_count))
		return;
	*kind = (uint8_t)identify((int)fd, &target);
	if (*kind != FD_REGULAR || !shared_file_count)
		return;
	uint64_t from = written_at(c);
	log_bytes(c, &target, from, from + (uint64_t)c->result);
}

/* The file that a call changes otherwise; -1: none. */
static int changed_by(const struct call *c)
{
	switch (c->nr) {
	case __NR_openat: return c->args[2] & O_TRUNC ? (int)c->result : -1;
#ifdef __NR_open
	case __NR_open: return c->args[1] & O_TRUNC ? (int)c->result : -1;
	case __NR_creat: return (int)c->result;
#endif
	}
	if (c->row->flags & SYS_NOT_TO_SHOWN)
		return (int)c->args[c->row->to_arg];
	return c->row->flags & SYS_CHANGES ? (int)c->args[0] : -1;
}

void shared_files_changed(struct call *c)
{
	struct shared_file target;
	int fd = changed_by(c);
	if (fd >= 0 && identify(fd, &target) == FD_REGULAR)
		log_bytes(c, &target, 0, UINT64_MAX);
}

bool shared_file_known(int fd)
{
	struct shared_file target;
	bool known = false;
	if (!shared_file_count || identify(fd, &target) != FD_REGULAR)
		return false;
	brief_lock(&lock);
	for (unsigned i = 0; i < shared_file_count; i++)
		known |= files[i].inode == target.inode && files[i].device == target.device;
	brief_unlock(&lock);
	return known;
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

long shared_file_remap(uint64_t from, uint64_t old_len, uint64_t to, uint64_t new_len)
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
	SYS2(__NR_munmap, from, old_len);
	SYS3(__NR_mprotect, to, new_len, protection);
	return r;
}
