/*
 * Files that the program maps are kept in the trace: small ones in the stream
 * itself (git maps hundreds, and making a file costs more than its bytes),
 * others in files/, once per content.
 *
 * The key names device, inode, size and time of last change. A file that was
 * changed very recently could change again without a new time, so its copy gets
 * a number of its own and is not shared. Older ones are copied once into a cache
 * beside the traces, and each trace has a hard link to that copy: never to the
 * file itself, which somebody may still write to.
 */
#include "runtime/runtime.h"
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/stat.h>

#define COPY_STEP  (1ul << 30)
#define RECENT_NS  2000000000ll
#define SMALL_FILE 16384
#define SMALL_NEW  65536 /* of a file that cannot be shared with other traces */

static int64_t now_ns(void)
{
	struct {
		int64_t sec, nsec;
	} now = { 0, 0 };
	SYS2(__NR_clock_gettime, 0, &now);
	return now.sec * 1000000000ll + now.nsec;
}

static bool is_recent(const struct statx *st)
{
	return now_ns() - (st->stx_ctime.tv_sec * 1000000000ll + st->stx_ctime.tv_nsec) < RECENT_NS;
}

/* By the kernel alone; falls back to plain copying where file systems differ. */
static long copy_all(long from, long to, uint64_t size)
{
	uint64_t in = 0, out = 0;
	while (in < size) {
		long r = SYS6(__NR_copy_file_range, from, &in, to, &out, MIN(size - in, COPY_STEP), 0);
		if (r == 0)
			break;
		if (r < 0) {
			r = SYS4(__NR_sendfile, to, from, &in, MIN(size - in, COPY_STEP));
			if (r < 0)
				return r;
			if (r == 0)
				break;
			out = in;
		}
	}
	return 0;
}

/* Copies into `folder`, under a name of its own until it is complete. If the disk is full, and the program goes on
   unrecorded, there is no copy. */
static void save(long fd, uint64_t size, const char *folder, const char *key)
{
	TEXT(path, PATH_ROOM);
	TEXT(part, PATH_ROOM);
	text_add(&path, "%s/%s", folder, key);
	text_add(&part, "%s/%s.part%u", folder, key, (unsigned long)SYS0(__NR_getpid));
	long to = file_open(TEXT_OF(part), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (to < 0 && log_detach(to))
		return;
	if (to < 0)
		cannot("cannot save a mapped file as %s: error %d", TEXT_OF(part), -to);
	limit_lift(LIMIT_FILE);
	long r = copy_all(fd, to, size);
	limit_restore(LIMIT_FILE);
	file_close(to);
	if (r < 0)
		SYS3(__NR_unlinkat, AT_FDCWD, TEXT_OF(part), 0); /* others may use the room */
	if (r < 0 && log_detach(r))
		return;
	if (r < 0)
		cannot("cannot save a mapped file as %s: error %d\nheddle: is the trace's disk full? Use -o DIR on "
		       "another disk",
		       TEXT_OF(part), -r);
	/* another process may have saved the same content meanwhile: either copy will do */
	SYS5(__NR_renameat2, AT_FDCWD, TEXT_OF(part), AT_FDCWD, TEXT_OF(path), 0);
}

static bool link_from_cache(const char *key, const char *path)
{
	TEXT(cached, PATH_ROOM);
	text_add(&cached, "%s/%s", control->cache, key);
	long r = SYS5(__NR_linkat, AT_FDCWD, TEXT_OF(cached), AT_FDCWD, path, 0);
	return r == 0 || r == -EEXIST;
}

/* Copies the file into files/, or finds it there, and writes its key. */
static void keep(long fd, const struct statx *st, bool changes, char key[SAVED_KEY_ROOM])
{
	struct text k = { key, key + SAVED_KEY_ROOM - 1 };
	key[0] = 0;
	TEXT(folder, PATH_ROOM);
	text_add(&folder, "%s/files", control->trace);
	if (changes || is_recent(st)) {
		static uint64_t copies;
		text_add(&k, "r%u.%u", (unsigned long)image_number, __atomic_add_fetch(&copies, 1, __ATOMIC_RELAXED));
		save(fd, st->stx_size, TEXT_OF(folder), key);
		return;
	}
	text_add(&k, "%u.%u.%u.%u.%u", (unsigned long)(st->stx_dev_major * 4096ul + st->stx_dev_minor), st->stx_ino,
		 st->stx_size, (unsigned long)st->stx_ctime.tv_sec, (unsigned long)st->stx_ctime.tv_nsec);
	TEXT(path, PATH_ROOM);
	text_add(&path, "%s/%s", TEXT_OF(folder), key);
	if (SYS4(__NR_faccessat, AT_FDCWD, TEXT_OF(path), 0, 0) == 0)
		return;
	if (*control->cache) {
		if (link_from_cache(key, TEXT_OF(path)))
			return;
		save(fd, st->stx_size, control->cache, key);
		if (link_from_cache(key, TEXT_OF(path)))
			return;
	}
	save(fd, st->stx_size, TEXT_OF(folder), key);
}

/* Stores to a page that is written anyhow do not change the times of its file, so it may have other bytes under the
   same key. */
static bool may_change(const struct call *c, int fd)
{
	bool shared = c->nr == __NR_mmap && (c->args[3] & MAP_TYPE) != MAP_PRIVATE;
	if (shared && (SYS2(__NR_fcntl, fd, F_GETFL) & O_ACCMODE) == O_RDWR)
		return true;
	return shared_file_known(fd);
}

long saved_file_log(struct call *c, unsigned arg, long fd, char key[SAVED_KEY_ROOM])
{
	uint8_t bytes[SMALL_NEW];
	struct statx st;
	key[0] = 0;
	memset(&st, 0, sizeof st);
	long r = SYS5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st);
	if (r < 0)
		return r;
	if ((st.stx_mode & S_IFMT) != S_IFREG)
		return -ENODEV;
	if (log_detached())
		return 0;
	bool small = st.stx_size <= SMALL_FILE || (st.stx_size <= SMALL_NEW && is_recent(&st));
	long n = file_read(fd, bytes, small ? st.stx_size : 4, 0);
	if (n < 0)
		return n; /* not open for reading: it cannot be mapped either */
	/* programs and libraries deserve a name: who looks for functions by address finds them in files/ */
	bool is_elf = n >= 4 && !memcmp(bytes, "\177ELF", 4);
	if (small && !is_elf) {
		entry_room(c, (size_t)n);
		call_block(c, BLOCK_CONTENT, arg, 0, (uint32_t)n, bytes);
		return 0;
	}
	keep(fd, &st, may_change(c, (int)fd), key);
	entry_room(c, SAVED_KEY_ROOM);
	call_block(c, BLOCK_FILE, arg, st.stx_size, (uint32_t)strlen(key) + 1, key);
	return 0;
}

static long open_key(const char *key)
{
	TEXT(path, PATH_ROOM);
	if (strchr(key, '/'))
		damaged("a saved file '%s', which cannot be", key);
	text_add(&path, "%s/files/%s", control->trace, key);
	long fd = file_open(TEXT_OF(path), O_RDONLY, 0);
	if (fd < 0)
		cannot("the trace lacks the saved file %s", TEXT_OF(path));
	return fd;
}

/* A nameless file with these bytes. */
static long file_of(const void *bytes, size_t n)
{
	long fd = SYS2(__NR_memfd_create, "mapped file", 1 /* MFD_CLOEXEC */);
	if (fd < 0 || SYS4(__NR_pwrite64, fd, bytes, n, 0) != (long)n)
		cannot("no memory for a mapped file of %u bytes: error %d", n, -fd);
	return fd;
}

const char *saved_file_key(const struct block *b)
{
	bool named = b->kind == BLOCK_FILE && b->len <= SAVED_KEY_ROOM && !((const char *)block_data(b))[b->len - 1];
	return named ? block_data(b) : "";
}

long saved_file_open(const struct block *b, uint64_t *size)
{
	*size = b->kind == BLOCK_CONTENT ? b->len : b->addr;
	return b->kind == BLOCK_CONTENT ? file_of(block_data(b), b->len) : open_key(block_data(b));
}
