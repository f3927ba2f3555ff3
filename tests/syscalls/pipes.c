/*
 * Pipes and FIFOs. What could go wrong: partial reads joined or split otherwise
 * at replay, the two descriptors not written, EAGAIN or EPIPE lost, a FIFO's open
 * waiting for a partner that replay has not got.
 */
// run: varies
#include "check.h"
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void nonblocking(void)
{
	int p[2];
	char b[4096];
	FAILS(pipe(bad_pointer), EFAULT);
	CHECK(pipe2(p, O_NONBLOCK | O_CLOEXEC) == 0);
	say("pipe %d %d", p[0], p[1]);
	FAILS(read(p[0], b, 1), EAGAIN);
	say("room %d", fcntl(p[1], F_GETPIPE_SZ));
	long total = 0, n;
	memset(b, 'x', sizeof b);
	while ((n = write(p[1], b, sizeof b)) > 0)
		total += n;
	CHECK(errno == EAGAIN);
	say("filled with %ld", total);
	int queued = -1;
	CHECK(ioctl(p[0], FIONREAD, &queued) == 0 && queued == total);
	CHECK(fcntl(p[1], F_SETPIPE_SZ, 4096) < 0 && errno == EBUSY);
	while ((n = read(p[0], b, 1000)) > 0)
		total -= n;
	CHECK(errno == EAGAIN && total == 0);
	close(p[0]);
	signal(SIGPIPE, SIG_IGN);
	FAILS(write(p[1], b, 1), EPIPE);
	signal(SIGPIPE, SIG_DFL);
	close(p[1]);
}

static void two_pipes(void)
{
	int p[2], q[2];
	char b[100] = { 0 };
	CHECK(pipe(p) == 0 && pipe(q) == 0 && write(p[1], "hello, pipe", 11) == 11);
	CHECK(tee(p[0], q[1], 5, 0) == 5 && read(q[0], b, sizeof b) == 5 && !memcmp(b, "hello", 5));
	CHECK(splice(p[0], 0, q[1], 0, 100, 0) == 11 && read(q[0], b, sizeof b) == 11 && !memcmp(b, "hello, pipe", 11));
	struct iovec v = { "gift", 4 };
	if (vmsplice(p[1], &v, 1, 0) != 4)
		skipped("vmsplice");
	else
		CHECK(read(p[0], b, sizeof b) == 4 && !memcmp(b, "gift", 4));
	close(q[0]);
	close(q[1]);
	close(p[1]);
	CHECK(read(p[0], b, 1) == 0);
	close(p[0]);
}

/* How the data is cut depends on timing: every read must come again as it was. */
static void child_writes(void)
{
	int p[2];
	CHECK(pipe(p) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		for (int i = 0; i < 200; i++) {
			char line[32];
			int n = snprintf(line, sizeof line, "%d:%d;", getpid(), i);
			if (write(p[1], line, (size_t)n) != n)
				_exit(1);
			if (i % 50 == 0)
				usleep(500);
		}
		_exit(0);
	}
	close(p[1]);
	static char all[8192];
	size_t total = 0;
	long n;
	while ((n = read(p[0], all + total, sizeof all - total)) > 0) {
		say("got %ld", n);
		total += (size_t)n;
	}
	CHECK(n == 0);
	say("from the child %016lx", (unsigned long)hash_bytes(all, total));
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	close(p[0]);
}

static void fifo(void)
{
	CHECK(mkfifo("fifo", 0600) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		usleep(1000);
		int fd = open("fifo", O_WRONLY);
		_exit(fd < 0 || write(fd, "through the fifo", 16) != 16);
	}
	int fd = open("fifo", O_RDONLY);
	char b[100];
	long n = 0, got;
	CHECK(fd >= 0);
	while ((got = read(fd, b + n, sizeof b - (size_t)n)) > 0)
		n += got;
	CHECK(n == 16 && !memcmp(b, "through the fifo", 16));
	int status;
	CHECK(wait(&status) == child && status == 0);
	close(fd);
	unlink("fifo");
}

int main(void)
{
	enter_temp();
	nonblocking();
	two_pipes();
	child_writes();
	fifo();
	leave_temp();
	return done();
}
