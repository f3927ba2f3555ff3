/*
 * A child that computes for ever after its last system call, until its parent kills it. What could go wrong: at replay
 * nobody kills it, and the replay does not end. And many children, one after the other: at replay, too, somebody must
 * see to them when they have ended.
 */
// run: varies
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int status, wrong = 0;
	pid_t child = fork();

	if (!child)
		for (volatile long i = 0;; i++)
			;
	usleep(100000);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	printf("%d was killed by %d\n", child, WTERMSIG(status));
	fflush(stdout);
	for (int i = 0; i < 100; i++) {
		if (!(child = fork()))
			_exit(i & 7);
		wrong += waitpid(child, &status, 0) != child || WEXITSTATUS(status) != (i & 7);
	}
	printf("the last was %d, %d were wrong\n", child, wrong);
	return 0;
}
