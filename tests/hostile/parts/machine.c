/*
 * Preloaded: a machine with faults. EIO_AFTER=N: what heddle writes to a file after N bytes is refused, as by a disk
 * with errors, EIO_TIMES times, or from then on; EIO_BUT times after the first it is written all the same. CLOCK_JUMPS:
 * the time of day jumps a day ahead and back each time it is asked for.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int in_heddle(void)
{
	return !strcmp(program_invocation_short_name, "heddle");
}

/* Is this one refused, the nth from EIO_AFTER on? */
static int is_refused(size_t nth)
{
	const char *times = getenv("EIO_TIMES"), *but = getenv("EIO_BUT");
	size_t passed = but ? strtoul(but, 0, 10) : 0;

	if (nth >= 1 && nth <= passed)
		return 0;
	return !times || nth < strtoul(times, 0, 10) + passed;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	static ssize_t (*next)(int, const void *, size_t, off_t);
	static size_t written, late;
	const char *after = getenv("EIO_AFTER");

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pwrite");
	if (after && in_heddle() && __atomic_add_fetch(&written, size, __ATOMIC_RELAXED) > strtoul(after, 0, 10) &&
	    is_refused(__atomic_fetch_add(&late, 1, __ATOMIC_RELAXED))) {
		errno = EIO;
		return -1;
	}
	return next(fd, data, size, offset);
}

ssize_t pwrite64(int, const void *, size_t, off_t) __attribute__((alias("pwrite")));

static time_t jump(void)
{
	static unsigned asked;
	return getenv("CLOCK_JUMPS") && __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED) % 2 ? 86400 : 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	static int (*next)(clockid_t, struct timespec *);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	int result = next(id, t);
	if (!result && id == CLOCK_REALTIME)
		t->tv_sec += jump();
	return result;
}

time_t time(time_t *to)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (to)
		*to = now.tv_sec;
	return now.tv_sec;
}
