/*
 * File locks. What could go wrong: F_GETLK's answer, which the kernel writes over
 * the question, waits for a lock that a child holds, locks of open files against
 * locks of processes.
 */
// run: varies
#include "check.h"
#include <sys/file.h>
#include <sys/wait.h>

static struct flock range(short type, off_t start, off_t len)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len };
}

int main(void)
{
	enter_temp();
	int fd = open("file", O_CREAT | O_RDWR, 0600), ready[2], go[2];
	CHECK(fd >= 0 && pipe(ready) == 0 && pipe(go) == 0);
	struct flock l = range(F_WRLCK, 0, 10);
	CHECK(fcntl(fd, F_SETLK, &l) == 0);
	l = range(F_WRLCK, 0, 100);
	CHECK(fcntl(fd, F_GETLK, &l) == 0 && l.l_type == F_UNLCK); /* one's own never conflict */
	l = range(F_UNLCK, 0, 0);
	CHECK(fcntl(fd, F_SETLK, &l) == 0);

	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		char c;
		l = range(F_WRLCK, 5, 7);
		CHECK(fcntl(fd, F_SETLK, &l) == 0);
		int own = open("file", O_RDWR);
		CHECK(own >= 0 && flock(own, LOCK_EX) == 0);
		CHECK(write(ready[1], "x", 1) == 1 && read(go[0], &c, 1) == 1);
		usleep(2000);
		_exit(0); /* both locks go with it */
	}
	char c;
	CHECK(read(ready[0], &c, 1) == 1);
	l = range(F_RDLCK, 0, 100);
	CHECK(fcntl(fd, F_GETLK, &l) == 0 && l.l_type == F_WRLCK && l.l_start == 5 && l.l_len == 7 && l.l_pid == child);
	say("locked by %d", l.l_pid);
	l = range(F_WRLCK, 0, 100);
	CHECK(fcntl(fd, F_SETLK, &l) == -1 && (errno == EAGAIN || errno == EACCES));
	FAILS(flock(fd, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	CHECK(write(go[1], "x", 1) == 1);
	CHECK(fcntl(fd, F_SETLKW, &l) == 0); /* waits for the child's end */
	CHECK(flock(fd, LOCK_EX) == 0 && flock(fd, LOCK_UN) == 0);
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	l = range(F_UNLCK, 0, 0);
	CHECK(fcntl(fd, F_SETLK, &l) == 0);

	int second = open("file", O_RDWR);
	CHECK(second >= 0);
	l = range(F_WRLCK, 0, 0);
	if (fcntl(fd, F_OFD_SETLK, &l)) {
		skipped("locks of open files");
	} else {
		l = range(F_WRLCK, 0, 0);
		CHECK(fcntl(second, F_OFD_GETLK, &l) == 0 && l.l_type == F_WRLCK && l.l_pid == -1);
		l = range(F_WRLCK, 0, 0);
		CHECK(fcntl(second, F_OFD_SETLK, &l) == -1 && errno == EAGAIN);
	}
	struct f_owner_ex owner = { F_OWNER_PID, getpid() }, was = { 0, 0 };
	CHECK(fcntl(go[0], F_SETOWN_EX, &owner) == 0 && fcntl(go[0], F_GETOWN_EX, &was) == 0 && was.pid == getpid());
	CHECK(fcntl(go[0], F_GETOWN) == getpid() && fcntl(go[0], F_SETSIG, SIGIO) == 0 &&
	      fcntl(go[0], F_GETSIG) == SIGIO);
	FAILS(fcntl(fd, F_SETFD, 0) ? 0 : fcntl(999, F_GETFD), EBADF);
	close(fd);
	close(second);
	unlink("file");
	leave_temp();
	return done();
}
