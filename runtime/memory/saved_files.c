/*
 * Files that the program maps are kept in the trace, once per content.
 *
 * The key names device, inode, size and time of last change. A file that was
 * changed very recently could change again without a new time, so its copy gets
 * a number of its own and is not shared. Older ones are copied once into a cache
 * beside the traces, and each trace has a hard link to that copy: never to the
 * file itself, which somebody may still write to.
 */
#include "runtime/runtime.h"
#include <linux/fcntl.h>
#include <linux/stat.h>

#define COPY_STEP (1ul << 30)
#define RECENT_NS 2000000000ll

static int64_t now_ns(void)
{
	struct {
		int64_t sec, nsec;
	} now = { 0, 0 };
	SYS2(__NR_clock_gettime, 0, &now);
	return now.sec * 1000000000ll + now.nsec;
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

/* Copies into `folder`, under a name of its own until it is complete. */
static void save(long fd, uint64_t size, const char *folder, const char *key)
{
	TEXT(path, PATH_ROOM);
	TEXT(part, PATH_ROOM);
	text_add(&path, "%s/%s", folder, key);
	text_add(&part, "%s/%s.part%u", folder, key, (unsigned long)SYS0(__NR_getpid));
	long to = file_open(TEXT_OF(part), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (to < 0)
		cannot("cannot save a mapped file as %s: error %d", TEXT_OF(part), -to);
	long r = copy_all(fd, to, size);
	file_close(to);
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

long saved_file_keep(long fd, char key[64])
{
	struct statx st;
	memset(&st, 0, sizeof st);
	long r = SYS5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st);
	if (r < 0)
		return r;
	if ((st.stx_mode & S_IFMT) != S_IFREG)
		return -ENODEV;
	struct text k = { key, key + 63 };
	key[0] = 0;
	text_add(&k, "%u.%u.%u.%u.%u", (unsigned long)(st.stx_dev_major * 4096ul + st.stx_dev_minor), st.stx_ino,
		 st.stx_size, (unsigned long)st.stx_ctime.tv_sec, (unsigned long)st.stx_ctime.tv_nsec);
	bool recent = now_ns() - (st.stx_ctime.tv_sec * 1000000000ll + st.stx_ctime.tv_nsec) < RECENT_NS;
	TEXT(folder, PATH_ROOM);
	text_add(&folder, "%s/files", control->trace);
	if (recent) {
		k = (struct text){ key, key + 63 };
		static uint64_t copies;
		text_add(&k, "r%u.%u", (unsigned long)image_number, __atomic_add_fetch(&copies, 1, __ATOMIC_RELAXED));
		save(fd, st.stx_size, TEXT_OF(folder), key);
		return (long)st.stx_size;
	}
	TEXT(path, PATH_ROOM);
	text_add(&path, "%s/%s", TEXT_OF(folder), key);
	if (SYS4(__NR_faccessat, AT_FDCWD, TEXT_OF(path), 0, 0) == 0)
		return (long)st.stx_size;
	if (*control->cache) {
		if (link_from_cache(key, TEXT_OF(path)))
			return (long)st.stx_size;
		save(fd, st.stx_size, control->cache, key);
		if (link_from_cache(key, TEXT_OF(path)))
			return (long)st.stx_size;
	}
	save(fd, st.stx_size, TEXT_OF(folder), key);
	return (long)st.stx_size;
}

long saved_file_open(const char *key)
{
	TEXT(path, PATH_ROOM);
	if (strchr(key, '/'))
		cannot("the trace names a saved file '%s', which cannot be: it is damaged", key);
	text_add(&path, "%s/files/%s", control->trace, key);
	long fd = file_open(TEXT_OF(path), O_RDONLY, 0);
	if (fd < 0)
		cannot("the trace lacks the saved file %s", TEXT_OF(path));
	return fd;
}
