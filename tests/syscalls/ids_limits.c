/*
 * Who and how much: ids, groups, sessions, limits, priorities, capabilities.
 * What could go wrong: ids of the replaying process instead of the recorded ones,
 * a size asked with room 0 taken for data, limits changed for the runtime too.
 */
// run: varies
#include "check.h"
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/wait.h>

int main(void)
{
	say("pid %d tid %d ppid %d pgid %d sid %d pgrp %d", getpid(), gettid(), getppid(), getpgid(0), getsid(0),
	    getpgrp());
	say("uid %d %d gid %d %d", getuid(), geteuid(), getgid(), getegid());
	CHECK(getpid() == gettid() && getpgid(0) == getpgrp() && getpgid(getpid()) == getpgrp());
	FAILS(getpgid(-1), ESRCH);
	uid_t r, e, s;
	CHECK(getresuid(&r, &e, &s) == 0 && r == getuid() && e == geteuid());
	say("resuid %u %u %u", r, e, s);
	CHECK(getresgid(&r, &e, &s) == 0 && r == getgid());
	CHECK(setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1) == 0 && setregid((gid_t)-1, getegid()) == 0 &&
	      setuid(getuid()) == 0);
	CHECK(setfsuid((uid_t)-1) == (int)geteuid());
	FAILS(syscall(SYS_getresuid, &r, bad_pointer, &s), EFAULT);

	int n = getgroups(0, 0);
	CHECK(n >= 0);
	gid_t groups[70000];
	memset(groups, 0x5a, sizeof groups);
	CHECK(getgroups(0, groups) == n && groups[0] == 0x5a5a5a5a);
	CHECK(getgroups(n + 5, groups) == n && groups[n] == 0x5a5a5a5a);
	for (int i = 0; i < n; i++)
		say("group %u", groups[i]);

	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		pid_t me = getpid();
		_exit(!(setsid() == me && getsid(0) == me && getpgrp() == me && setpgid(0, 0) == -1 && errno == EPERM));
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);

	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit l;
		CHECK(getrlimit((__rlimit_resource_t)i, &l) == 0);
		say("limit %d %lx %lx", i, (unsigned long)l.rlim_cur, (unsigned long)l.rlim_max);
	}
	struct rlimit was, now = { 0, 0 };
	CHECK(getrlimit(RLIMIT_NOFILE, &was) == 0);
	struct rlimit less = { 40, was.rlim_max };
	CHECK(prlimit(0, RLIMIT_NOFILE, &less, &now) == 0 && now.rlim_cur == was.rlim_cur);
	int fds[64], got = 0;
	while (got < 64 && (fds[got] = open("/dev/null", O_RDONLY)) >= 0)
		got++;
	CHECK(got < 40 && errno == EMFILE);
	while (got)
		close(fds[--got]);
	CHECK(setrlimit(RLIMIT_NOFILE, &was) == 0);
	FAILS(getrlimit((__rlimit_resource_t)99, &was), EINVAL);

	errno = 0;
	int nice_now = getpriority(PRIO_PROCESS, 0);
	CHECK(nice_now != -1 || !errno);
	CHECK(setpriority(PRIO_PROCESS, 0, nice_now + 1) == 0 && getpriority(PRIO_PROCESS, 0) == nice_now + 1);
	say("nice %d, io priority %ld", nice_now, syscall(SYS_ioprio_get, 1, 0));

	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[3];
	memset(d, 0x5a, sizeof d);
	CHECK(syscall(SYS_capget, &h, d) == 0 && d[2].effective == 0x5a5a5a5a);
	say("capabilities %x %x %x %x", d[0].effective, d[1].effective, d[0].permitted, d[1].permitted);
	h.version = 1; /* unknown: the kernel stores the one it likes */
	FAILS(syscall(SYS_capget, &h, d), EINVAL);
	CHECK(h.version == _LINUX_CAPABILITY_VERSION_3);
	h.version = _LINUX_CAPABILITY_VERSION_1;
	memset(d, 0x5a, sizeof d);
	CHECK(syscall(SYS_capget, &h, d) == 0 && d[1].effective == 0x5a5a5a5a);
	h.version = _LINUX_CAPABILITY_VERSION_3;
	CHECK(syscall(SYS_capget, &h, d) == 0 && syscall(SYS_capset, &h, d) == 0);
	return done();
}
