/*
 * What a call writes, and no more. What could go wrong: bytes that went in come back over what another thread has
 * stored there meanwhile; something is written although the call fails, or by a command that is seldom used; a buffer
 * ends before its size does, must be aligned, or is not there, while its length is; a string that is longer than any
 * path.
 */
// run: varies flags=-pthread
#include "check.h"
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

static int ends[2];
static struct pollfd polled[2];
static struct {
	fd_set set;
	volatile int flag;
} * beside;

static void *change_polled(void *unused)
{
	(void)unused;
	usleep(100000);
	polled[1] = (struct pollfd){ .fd = 42, .events = POLLIN };
	CHECK(write(ends[1], "x", 1) == 1);
	return 0;
}

static void *change_beside(void *unused)
{
	(void)unused;
	usleep(100000);
	beside->flag = 1;
	CHECK(write(ends[1], "x", 1) == 1);
	return 0;
}

static void drain(void)
{
	char byte;

	CHECK(read(ends[0], &byte, 1) == 1);
}

static void meanwhile(void)
{
	pthread_t thread;

	polled[0] = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	polled[1].fd = -1;
	CHECK(pthread_create(&thread, 0, change_polled, 0) == 0);
	CHECK(poll(polled, 2, -1) == 1 && polled[0].revents == POLLIN);
	CHECK(pthread_join(thread, 0) == 0);
	say("polled: descriptor %d, events %d", polled[1].fd, polled[1].events);
	drain();

	CHECK((beside = calloc(1, 1 << 20)));
	FD_SET(ends[0], &beside->set);
	CHECK(pthread_create(&thread, 0, change_beside, 0) == 0);
	CHECK(select(1 << 20, &beside->set, 0, 0, 0) == 1);
	CHECK(pthread_join(thread, 0) == 0);
	say("behind the set: %d", beside->flag);
	drain();
}

/* Sets of 1024 near the end of the stack, as with getdtablesize() where that is a million. */
static void many_descriptors(void)
{
	struct timeval limit = { 5, 0 };
	int quiet[2];
	fd_set set;

	CHECK(pipe(quiet) == 0 && write(ends[1], "x", 1) == 1);
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	FD_SET(quiet[0], &set);
	CHECK(select(1 << 20, &set, 0, 0, &limit) == 1);
	say("%d %d, after %ld us", !!FD_ISSET(ends[0], &set), !!FD_ISSET(quiet[0], &set), 5000000 - limit.tv_usec);
	drain();
}

static void messages(size_t page)
{
	struct {
		long type;
		char text[16];
	} sent = { 5, "hello" };
	int queue = msgget(IPC_PRIVATE, 0600);
	char *p = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at = p + page - 64;

	CHECK(munmap(p + page, page) == 0);
	if (queue < 0)
		return;
	CHECK(msgsnd(queue, &sent, 6, 0) == 0);
	CHECK(msgrcv(queue, at, 8000, 0, 0) == 6);
	CHECK(msgctl(queue, IPC_RMID, 0) == 0);
	say("type %ld, '%s'", *(long *)at, at + 8);
}

static void lengths(void)
{
	gid_t groups[16];
	socklen_t size = 0;
	int pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	int r = getsockopt(pair[0], SOL_SOCKET, SO_PEERGROUPS, groups, &size);
	say("groups of the peer: %d, %u bytes", r, size);
	size = 0;
	r = getsockopt(pair[0], SOL_SOCKET, SO_PEERGROUPS, 0, &size);
	say("without a buffer: %d, %u bytes", r, size);
	size = 0;
	r = getsockname(pair[0], 0, &size);
	say("name: %d, %u bytes", r, size);
	size = 0;
	r = getpeername(pair[0], 0, &size);
	say("name of the peer: %d, %u bytes", r, size);
	size = 2;
	FAILS(getsockname(pair[0], 0, &size), EFAULT);
	FAILS(getsockname(pair[0], 0, bad_pointer), EFAULT);
}

/* These two do not look at a length without a buffer. */
static void unread_lengths(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	char byte;

	CHECK(bind(server, (struct sockaddr *)&name, sizeof name.sun_family) == 0 && listen(server, 1) == 0);
	socklen_t size = sizeof name;
	CHECK(getsockname(server, (struct sockaddr *)&name, &size) == 0);
	CHECK(connect(client, (struct sockaddr *)&name, size) == 0);
	int end = (int)syscall(SYS_accept4, server, 0, bad_pointer, 0);
	CHECK(end >= 0 && write(client, "x", 1) == 1);
	CHECK(syscall(SYS_recvfrom, end, &byte, 1, 0, 0, bad_pointer) == 1);
	say("named '%s'", name.sun_path + 1);
}

static void seldom(void)
{
	static uint32_t word, other = 7;
	struct seccomp_notif_sizes sizes;

	memset(&sizes, 0x5a, sizeof sizes);
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0)
		say("notifications: %u %u %u", sizes.seccomp_notif, sizes.seccomp_notif_resp, sizes.seccomp_data);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1, &other, FUTEX_OP(FUTEX_OP_ADD, 5, FUTEX_OP_CMP_EQ, 0)) ==
	      0);
	say("the other word: %u", other);
	CHECK(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, 0, 0, 0) == 0);
	say("owned by %u", word);
	CHECK(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, 0, 0, 0) == 0);
	say("and then by %u", word);
}

static int ends_at_once(void *unused)
{
	(void)unused;
	_exit(3);
}

static void children(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int id = -1, descriptor = -1, how = CLONE_VM | CLONE_VFORK | SIGCHLD;
	int pid = clone(ends_at_once, stack + sizeof stack, how | CLONE_PARENT_SETTID, 0, &id);

	CHECK(pid > 0 && waitpid(pid, 0, 0) == pid && id == pid);
	say("child %d", id);
	pid = clone(ends_at_once, stack + sizeof stack, how | CLONE_PIDFD, 0, &descriptor);
	CHECK(pid > 0 && waitpid(pid, 0, 0) == pid);
	say("as descriptor %d", descriptor);
}

static void buffers(size_t page)
{
	char *p = mmap(0, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec parts[2] = { { p, page }, { p + page, page } };
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);

	memset(p, 'q', 2 * page);
	CHECK(write(fd, p, 2 * page) == (ssize_t)(2 * page) && fsync(fd) == 0);
	CHECK(mprotect(p + 3 * page, page, PROT_READ) == 0);
	ssize_t r = pread(fd, p + 3 * page - 100, 300, 0);
	say("before what cannot be written: %zd, '%.3s'", r, p + 3 * page - 100);
	if ((fd = open("data", O_RDWR | O_DIRECT)) < 0)
		return;
	r = read(fd, p, page);
	ssize_t second = pread(fd, p, page, (off_t)page);
	say("direct: %zd, %zd, %zd", r, second, preadv(fd, parts, 2, 0));
}

static void too_long(void)
{
	char *path = malloc(6001);

	memset(path, 'a', 6000);
	path[6000] = 0;
	FAILS(open(path, O_RDONLY), ENAMETOOLONG);
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	CHECK(pipe(ends) == 0);
	seldom();
	children();
	messages(page);
	lengths();
	unread_lengths();
	buffers(page);
	too_long();
	many_descriptors();
	meanwhile();
	return 0;
}
