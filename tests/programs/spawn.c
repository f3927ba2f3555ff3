/*
 * posix_spawn and vfork: the child writes into its parent's memory, and the
 * ENOENT of a program that does not exist arrives that way.
 */
// run: varies
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(void)
{
	pid_t pid = 0;
	int status = 0;
	char *good[] = { "sh", "-c", "echo spawned $$; exit 12", 0 }, *bad[] = { "no-such-program", 0 };
	printf("missing: %s\n", strerror(posix_spawnp(&pid, bad[0], 0, 0, bad, environ)));
	int error = posix_spawnp(&pid, good[0], 0, 0, good, environ);
	waitpid(pid, &status, 0);
	printf("%d %d %d\n", error, pid, WEXITSTATUS(status));

	volatile int written = 0;
	pid = vfork();
	if (pid == 0) {
		written = getpid();
		execl("/no/such/file", "x", (char *)0);
		_exit(errno);
	}
	waitpid(pid, &status, 0);
	printf("%d %d %d\n", written, pid, WEXITSTATUS(status));
	return written == pid && WEXITSTATUS(status) == ENOENT ? 0 : 1;
}
