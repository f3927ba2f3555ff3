/*
 * Waiting for descriptors. What could go wrong: sets and revents that the kernel
 * writes in place, timeouts of which the kernel stores what is left (also when it
 * fails), timeouts in read-only memory, sets larger than 1024 bits, the packed
 * epoll_event of x86-64, signal masks that hold only while waiting.
 */
// run: varies
#include "check.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static volatile sig_atomic_t handled;
static void handler(int sig UNUSED)
{
	handled++;
}

static const struct timespec read_only = { 0, 2000000 };

static void with_poll(int p[2])
{
	struct pollfd f[3] = { { p[0], POLLIN, -1 }, { p[1], POLLOUT, -1 }, { -1, POLLIN, -1 } };
	CHECK(poll(f, 3, 0) == 1 && f[0].revents == 0 && f[1].revents == POLLOUT && f[2].revents == 0);
	CHECK(poll(f, 1, 1) == 0 && poll(0, 0, 1) == 0);
	struct pollfd bad = { 999, POLLIN, 0 };
	CHECK(poll(&bad, 1, 100) == 1 && bad.revents == POLLNVAL);
	CHECK(ppoll(f, 1, &read_only, 0) == 0);
	CHECK(write(p[1], "x", 1) == 1);
	CHECK(poll(f, 3, -1) == 2 && f[0].revents == POLLIN);
	/* the raw call stores what is left */
	struct timespec left = { 5, 0 };
	CHECK(syscall(SYS_ppoll, f, 2ul, &left, (void *)0, 8ul) == 2 && left.tv_sec == 4 && left.tv_nsec > 0);
	say("left by ppoll %ld.%09ld", (long)left.tv_sec, left.tv_nsec);
	/* a timeout in memory that cannot be written */
	CHECK(syscall(SYS_ppoll, f, 2ul, &read_only, (void *)0, 8ul) == 2);
	char c;
	CHECK(read(p[0], &c, 1) == 1);
}

static void with_select(int p[2])
{
	fd_set r, w;
	struct timeval v = { 0, 1500 };
	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(p[0], &r);
	FD_SET(p[1], &w);
	CHECK(select(p[1] + 1, &r, &w, 0, &v) == 1 && !FD_ISSET(p[0], &r) && FD_ISSET(p[1], &w));
	say("left by select %ld.%06ld", (long)v.tv_sec, (long)v.tv_usec);
	FD_SET(p[0], &r);
	v = (struct timeval){ 0, 1500 };
	CHECK(select(p[0] + 1, &r, 0, 0, &v) == 0 && !FD_ISSET(p[0], &r) && v.tv_usec == 0 && v.tv_sec == 0);
	CHECK(select(0, 0, 0, 0, &(struct timeval){ 0, 500 }) == 0);
	CHECK(write(p[1], "x", 1) == 1);
	FD_SET(p[0], &r);
	FD_SET(p[1], &w);
	/* more descriptors than there are: the kernel looks only at those it has */
	struct {
		fd_set w, r; /* in the order that shows a copy over its neighbour */
	} sets = { w, r };
	struct timespec t = { 1, 0 };
	CHECK(syscall(SYS_pselect6, 1 << 20, &sets.r, &sets.w, (void *)0, &t, (void *)0) == 2);
	CHECK(FD_ISSET(p[0], &sets.r) && FD_ISSET(p[1], &sets.w) && t.tv_nsec > 0);
	FD_ZERO(&r);
	FD_SET(50, &r);
	FAILS(select(51, &r, 0, 0, 0), EBADF);
	FAILS(select(-1, 0, 0, 0, 0), EINVAL);
	char c;
	CHECK(read(p[0], &c, 1) == 1);
}

static void with_epoll(int p[2])
{
	int e = epoll_create1(EPOLL_CLOEXEC);
	CHECK(e >= 0);
	struct epoll_event in = { EPOLLIN, { .u64 = 0x1122334455667788 } }, out = { EPOLLOUT | EPOLLET, { .u64 = 42 } };
	CHECK(epoll_ctl(e, EPOLL_CTL_ADD, p[0], &in) == 0 && epoll_ctl(e, EPOLL_CTL_ADD, p[1], &out) == 0);
	FAILS(epoll_ctl(e, EPOLL_CTL_ADD, p[0], &in), EEXIST);
	struct epoll_event got[4];
	memset(got, 0x5a, sizeof got);
	CHECK(epoll_wait(e, got, 4, 0) == 1 && got[0].data.u64 == 42 && ((unsigned char *)&got[1])[0] == 0x5a);
	CHECK(epoll_wait(e, got, 4, 1) == 0);
	CHECK(write(p[1], "x", 1) == 1);
	int n = epoll_wait(e, got, 4, -1);
	CHECK(n >= 1);
	for (int i = 0; i < n; i++)
		say("epoll %x %lx", got[i].events, (unsigned long)got[i].data.u64);
	in.events = EPOLLIN | EPOLLONESHOT;
	CHECK(epoll_ctl(e, EPOLL_CTL_MOD, p[0], &in) == 0 && epoll_ctl(e, EPOLL_CTL_DEL, p[1], 0) == 0);
	CHECK(epoll_pwait(e, got, 1, -1, 0) == 1 && got[0].data.u64 == in.data.u64);
#ifdef SYS_epoll_pwait2
	if (syscall(SYS_epoll_pwait2, e, got, 4, &read_only, (void *)0, 8ul))
		CHECK(errno == ENOSYS);
#endif
	FAILS(epoll_wait(e, got, 0, 0), EINVAL);
	char c;
	CHECK(read(p[0], &c, 1) == 1);
	close(e);
}

/* A signal that is blocked everywhere but during the wait ends the wait, once. */
static void with_masks(int p[2])
{
	struct sigaction a = { .sa_handler = handler };
	sigset_t block, none;
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	CHECK(sigaction(SIGUSR1, &a, 0) == 0 && sigprocmask(SIG_BLOCK, &block, 0) == 0);
	struct pollfd f = { p[0], POLLIN, 0 };
	struct timespec t = { 10, 0 };

	raise(SIGUSR1);
	CHECK(handled == 0);
	FAILS(ppoll(&f, 1, &t, &none), EINTR);
	CHECK(handled == 1);
	raise(SIGUSR1);
	t.tv_sec = 10;
	FAILS(syscall(SYS_pselect6, 0, (void *)0, (void *)0, (void *)0, &t, (void *[]){ &none, (void *)8 }), EINTR);
	CHECK(handled == 2);
	say("left when interrupted %ld.%09ld", (long)t.tv_sec, t.tv_nsec);
	CHECK(t.tv_sec == 9);
	raise(SIGUSR1);
	int e = epoll_create1(0);
	struct epoll_event got;
	FAILS(epoll_pwait(e, &got, 1, 10000, &none), EINTR);
	CHECK(handled == 3);
	raise(SIGUSR1);
	CHECK(poll(&f, 1, 1) == 0 && handled == 3); /* still blocked here */
	CHECK(sigprocmask(SIG_UNBLOCK, &block, 0) == 0 && handled == 4);
	close(e);
}

int main(void)
{
	int p[2];
	CHECK(pipe(p) == 0);
	with_poll(p);
	with_select(p);
	with_epoll(p);
	with_masks(p);
	return done();
}
