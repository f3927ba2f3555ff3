/*
 * clone() that tells the caller who the child is, by its id or by a descriptor. What could go wrong: the child of a fork has
 * memory of its own, in which nothing was written; that of a vfork has its parent's, and finds it there; nobody can be
 * told by a bad pointer, and the child is there all the same; no child, and it is waited for.
 */
// run: varies
#include "check.h"
#include <sched.h>
#include <sys/wait.h>

static int told, seen;

static void forked(int how)
{
	told = -1;
	int pid = (int)syscall(SYS_clone, how | SIGCHLD, 0, &told, 0, 0);

	CHECK(pid >= 0);
	if (!pid) {
		say("the child sees %d", told);
		_exit(0);
	}
	CHECK(waitpid(pid, 0, 0) == pid && told >= 0);
	say("its parent, of %d, sees %d", pid, told);
}

static int look(void *unused)
{
	(void)unused;
	seen = told;
	_exit(3);
}

static void borrowed(int how, int *where)
{
	static char stack[65536] __attribute__((aligned(16)));

	told = -1;
	int pid = clone(look, stack + sizeof stack, how | CLONE_VM | CLONE_VFORK | SIGCHLD, 0, where);
	say("child %d: %s", pid, pid < 0 ? strerror(errno) : "begins");
	CHECK(pid < 0 || (waitpid(pid, 0, 0) == pid && seen == told));
	say("both see %d", seen);
}

int main(void)
{
	forked(CLONE_PARENT_SETTID);
	forked(CLONE_PIDFD);
	borrowed(CLONE_PARENT_SETTID, &told);
	borrowed(CLONE_PIDFD, &told);
	borrowed(CLONE_PARENT_SETTID, bad_pointer);
	borrowed(CLONE_PIDFD, bad_pointer);
	return done();
}
