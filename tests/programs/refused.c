/* Calls that are answered as by a kernel without them: io_uring, rseq, clone3. Programs then fall back to others. */
// run: no-plain
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	char room[256] = { 0 };
	int wrong = 0;
	static const struct {
		const char *name;
		long nr;
	} calls[] = { { "io_uring_setup", SYS_io_uring_setup }, { "rseq", SYS_rseq }, { "clone3", SYS_clone3 } };
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
		long result = syscall(calls[i].nr, room, sizeof room, 0, 0);
		printf("%s: %ld %s\n", calls[i].name, result, strerror(errno));
		wrong += result != -1 || errno != ENOSYS;
	}
	return wrong;
}
