/*
 * Messages, vectors and lengths that other threads change while one passes them to the kernel: sendmsg and recvmsg (header,
 * vector, data), readv's vector, poll's array, the length word of getsockname, with a buffer and without, what ioctl
 * writes.
 * What could go wrong: each is read or written in the order of all other accesses, and a call must not look at it twice.
 */
// run: fails
#include "bugs.h"
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

enum { ROUNDS = 60, SIZE = 96, MOST = SIZE / 2 };
static uint8_t out[SIZE], in[SIZE];
static struct iovec sent[2] = { { out, MOST }, { out + MOST, MOST } },
		    received[2] = { { in, MOST }, { in + MOST, MOST } };
static struct msghdr header = { .msg_iov = received, .msg_iovlen = 2 };
static struct pollfd polled[2];
static socklen_t length, wanted;
static int waiting;
static uint64_t seen[TEAM_MAX];
static unsigned odd[TEAM_MAX];
static volatile int over;

static void once(unsigned me, int ends[2])
{
	struct msghdr message = { .msg_iov = sent, .msg_iovlen = 2 };
	struct sockaddr_un name;

	memset(&name, 0, sizeof name);
	ssize_t n = sendmsg(ends[0], &message, 0);
	if (n <= 0 || ioctl(ends[1], FIONREAD, &waiting))
		abort();
	note(&seen[me], (uint64_t)poll(polled, 2, 0));
	ssize_t got = n % 3 ? recvmsg(ends[1], &header, 0) : readv(ends[1], received, 2);
	note(&seen[me], (uint64_t)n << 32 | (uint64_t)got);
	odd[me] += got != 2 * MOST;
	note(&seen[me], in[0]);
	if (getsockname(ends[0], (struct sockaddr *)&name, &length))
		abort();
	note(&seen[me], name.sun_family);
	wanted = 0;
	if (getsockname(ends[0], NULL, &wanted))
		abort();
	note(&seen[me], wanted);
}

static void talk(unsigned me)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		abort();
	polled[0].fd = ends[0];
	polled[1].fd = ends[1];
	for (int i = 0; i < ROUNDS; i++)
		once(me, ends);
	close(ends[0]);
	close(ends[1]);
	over = 1;
}

static void disturb(unsigned me)
{
	unsigned turns = 0;

	for (unsigned i = me; !over; i++) {
		out[i % SIZE] = (uint8_t)i;
		sent[i % 2].iov_len = MOST - i % 5;
		received[i % 2].iov_len = MOST - i % 7;
		polled[i % 2].events = i % 3 ? POLLIN : POLLOUT;
		length = i % 4 ? sizeof(struct sockaddr_un) : 1;
		note(&seen[me], (uint64_t)header.msg_flags << 8 | (uint64_t)wanted << 40 | in[i % SIZE]);
		note(&seen[me], (uint64_t)polled[i % 2].revents << 32 | (uint64_t)waiting << 16 | length);
		spin(&turns);
	}
}

static void work(unsigned me)
{
	me ? disturb(me) : talk(me);
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return verdict(odd[0], "messages of odd lengths");
}
