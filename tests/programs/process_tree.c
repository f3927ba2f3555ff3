/*
 * A tree of processes three levels deep, with pipes upwards, exec in the middle
 * and statuses of all kinds. Ids at replay must be the recorded ones.
 */
// run: varies
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int grow(int depth)
{
	int up[2];
	if (pipe(up))
		return 1;
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			char line[64];
			int n = snprintf(line, sizeof line, "%d child %d of %d\n", depth, getpid(), getppid());
			if (write(up[1], line, n) != n)
				_exit(99);
			if (depth < 3)
				_exit(grow(depth + 1));
			if (i == 0)
				execl("/bin/sh", "sh", "-c", "exit 17", (char *)0);
			if (i == 1)
				raise(SIGUSR1);
			_exit(depth * 10 + i);
		}
	}
	close(up[1]);
	int status, n = 0, code = 0;
	for (pid_t pid; (pid = wait(&status)) > 0; n++) {
		printf("%d: %d of mine ended, status %04x\n", getpid(), pid, status);
		code += WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	char text[1024];
	long got = read(up[0], text, sizeof text - 1);
	text[got > 0 ? got : 0] = 0;
	printf("%s", text);
	fflush(stdout);
	return code % 50;
}

int main(void)
{
	grow(1);
	return 0;
}
