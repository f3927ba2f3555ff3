/*
 * What a recorder on ptrace pays at least: stop at the entry and the exit of
 * every system call of a process tree, and read the registers.
 * ptrace_baseline PROGRAM ARGS passes on the program's exit status.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: ptrace_baseline PROGRAM ARGS\n");
		return 121;
	}
	pid_t root = fork();
	if (root == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(122);
	}
	int status, result = 0;
	waitpid(root, &status, 0);
	ptrace(PTRACE_SETOPTIONS, root, 0,
	       PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	ptrace(PTRACE_SYSCALL, root, 0, 0);

	for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
		if (!WIFSTOPPED(status)) {
			if (pid == root)
				result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		int sig = WSTOPSIG(status);
		if (sig == (SIGTRAP | 0x80)) {
			struct user_regs_struct regs;
			struct iovec where = { &regs, sizeof regs };
			ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &where);
			sig = 0;
		} else if (status >> 16 || sig == SIGSTOP) {
			sig = 0; /* an event of ptrace, or a new child's first stop */
		}
		ptrace(PTRACE_SYSCALL, pid, 0, sig);
	}
	return result;
}
