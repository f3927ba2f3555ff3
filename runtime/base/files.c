/* Files that the runtime itself opens; never kept open, so that the program finds its descriptors free. */
#include "runtime/base/base.h"
#include <linux/fcntl.h>

long file_open(const char *path, int flags, int mode)
{
	return SYS4(__NR_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

void file_close(long fd)
{
	SYS1(__NR_close, fd);
}

long file_read(long fd, void *to, size_t n, uint64_t offset)
{
	size_t got = 0;
	while (got < n) {
		long r = SYS4(__NR_pread64, fd, (char *)to + got, n - got, offset + got);
		if (r == -EINTR)
			continue;
		if (r < 0)
			return r;
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (long)got;
}
