/*
 * What the verbs share that run a program again and again: its input and output, and the end of it all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "commands.h"

static void redirect(int fd, const char *path, int flags)
{
	int file = open(path, flags | O_CLOEXEC, 0600);

	if (file < 0 || dup2(file, fd) < 0)
		_exit(EXIT_CANNOT);
}

void again_become(pid_t parent, const sigset_t *before, const char *output)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_CANNOT);
	sigprocmask(SIG_SETMASK, before, NULL);
	redirect(0, "/dev/null", O_RDONLY);
	redirect(1, output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
	dup2(1, 2);
}

bool again_printed(const char *path, const char *text)
{
	struct stat st;
	bool found = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && !fstat(fd, &st) && st.st_size) {
		char *all = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (all != MAP_FAILED) {
			found = memmem(all, (size_t)st.st_size, text, strlen(text));
			munmap(all, (size_t)st.st_size);
		}
	}
	if (fd >= 0)
		close(fd);
	return found;
}

void again_take_signals(sigset_t *wanted, sigset_t *before)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT };
	struct sigaction act;

	sigemptyset(wanted);
	sigaddset(wanted, SIGCHLD);
	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
		if (!sigaction(ending[i], NULL, &act) && act.sa_handler != SIG_IGN)
			sigaddset(wanted, ending[i]);
	sigprocmask(SIG_BLOCK, wanted, before);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that again_end_all() finds those whose heddle it has killed */
}

void again_end_all(void)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	pid_t pid;

	/* Not one kill and then a wait: one that was forked after the look would be waited for until it ends by
	   itself. */
	do {
		tree_kill();
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		nanosleep(&nap, NULL);
	} while (!pid || errno == EINTR);
}

int again_die_of(int sig, const sigset_t *before)
{
	signal(sig, SIG_DFL);
	sigprocmask(SIG_SETMASK, before, NULL);
	raise(sig);
	return 128 + sig;
}
