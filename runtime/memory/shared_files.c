/*
 * Files that the program has mapped shared.
 *
 * At replay such a mapping is a private copy: what the program stores there it
 * stores again. But a write() to the same file also changes the mapping; so,
 * while any is mapped, each write looks whether its file is one of them, and the
 * bytes that changed are logged as memory. Writes by other processes are not
 * seen: doc/nondeterminism.md.
 */
#include "runtime/runtime.h"
#include <linux/fcntl.h>
#include <linux/stat.h>

static struct shared_file files[SHARED_FILES];
unsigned shared_file_count;

static bool identify(int fd, struct shared_file *f)
{
	struct statx st;
	memset(&st, 0, sizeof st);
	if (SYS5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) < 0 || (st.stx_mode & S_IFMT) != S_IFREG)
		return false;
	f->device = st.stx_dev_major * 4096ul + st.stx_dev_minor;
	f->inode = st.stx_ino;
	return true;
}

void shared_file_mapped(int fd, uint64_t addr, uint64_t len, uint64_t offset)
{
	struct shared_file f = { .addr = addr, .len = ALIGN_UP(len, page_size), .offset = offset };
	if (!identify(fd, &f))
		return;
	if (shared_file_count == SHARED_FILES)
		cannot("the program maps more than %d files shared at once, which cannot be recorded",
		       (long)SHARED_FILES);
	files[shared_file_count++] = f;
}

static void remove(unsigned i)
{
	files[i] = files[--shared_file_count];
}

/* What is unmapped in the middle is cut at its beginning: the rest is then not followed any more. */
void shared_file_unmapped(uint64_t addr, uint64_t len)
{
	uint64_t end = addr + ALIGN_UP(len, page_size);
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
}

static uint64_t written_at(const struct call *c)
{
	bool positioned = c->nr == __NR_pwrite64 || c->nr == __NR_pwritev ||
			  (c->nr == __NR_pwritev2 && c->args[3] != ~0ull);
	if (positioned)
		return c->args[3];
	long now = SYS3(__NR_lseek, c->args[0], 0, 1 /* SEEK_CUR */);
	return now < c->result ? 0 : (uint64_t)(now - c->result);
}

unsigned shared_files_written(const struct call *c, struct shared_file found[SHARED_FILES])
{
	struct shared_file target;
	unsigned n = 0;
	if (!identify((int)c->args[0], &target))
		return 0;
	uint64_t from = written_at(c), to = from + (uint64_t)c->result;
	for (unsigned i = 0; i < shared_file_count; i++) {
		const struct shared_file *f = &files[i];
		uint64_t low = MAX(from, f->offset), high = MIN(to, f->offset + f->len);
		if (f->inode != target.inode || f->device != target.device || low >= high)
			continue;
		found[n] = *f;
		found[n].addr = f->addr + (low - f->offset);
		found[n++].len = high - low;
	}
	return n;
}

void shared_file_patch(uint64_t addr, const void *data, uint32_t n)
{
	if (is_ours(addr, n))
		cannot("the trace wants to write over Heddle itself: it is damaged");
	long fd = file_open("/proc/self/mem", O_RDWR, 0);
	long r = fd < 0 ? fd : SYS4(__NR_pwrite64, fd, data, n, addr);
	file_close(fd);
	if (r != (long)n)
		cannot("cannot change mapped memory at %x: error %d", addr, -r);
}
