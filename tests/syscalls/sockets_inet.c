/*
 * TCP and UDP over loopback, one process on both ends. What could go wrong: an
 * address longer than its room (the kernel stores the full length), MSG_TRUNC
 * results larger than the buffer, or without any bytes for it (TCP), ports and sequence numbers asked again, a
 * connection attempted at replay, where there is no network.
 */
// run: varies
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static struct sockaddr_in local(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static int port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t n = sizeof a;
	memset(&a, 0x5a, sizeof a);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &n) == 0 && n == sizeof a && a.sin_family == AF_INET);
	return ntohs(a.sin_port);
}

/* TCP throws the bytes away. */
static void discarded(int from, int to)
{
	struct sockaddr_in peer;
	socklen_t n = sizeof peer;
	char b[16];
	struct iovec parts[2] = { { b, 4 }, { b + 8, 4 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	memset(b, '-', sizeof b);
	CHECK(send(from, "0123456789abcdefghijklmnopqrst", 30, 0) == 30);
	CHECK(recv(to, b, 4, MSG_TRUNC) == 4 && !memcmp(b, "----------------", 16));
	CHECK(recvfrom(to, b, 4, MSG_TRUNC, (struct sockaddr *)&peer, &n) == 4 && !memcmp(b, "----------------", 16));
	CHECK(recvmsg(to, &message, MSG_TRUNC) == 8 && !memcmp(b, "----------------", 16));
	CHECK(recv(to, 0, 4, MSG_TRUNC) == 4);
	CHECK(recv(to, b, sizeof b, 0) == 10 && !memcmp(b, "klmnopqrst------", 16));
}

static void tcp(void)
{
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = local(0), peer;
	CHECK(server >= 0);
	int one = 1;
	CHECK(setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0);
	if (bind(server, (struct sockaddr *)&a, sizeof a)) {
		skipped("loopback");
		close(server);
		return;
	}
	CHECK(listen(server, 5) == 0);
	int port = port_of(server), fd = socket(AF_INET, SOCK_STREAM, 0);
	a = local(port);
	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
	FAILS(connect(fd, (struct sockaddr *)&a, sizeof a), EISCONN);

	/* Less room than the address needs. */
	struct {
		unsigned char cut[8], guard[24];
	} small;
	memset(&small, 0x5a, sizeof small);
	socklen_t n = sizeof small.cut;
	int end = accept4(server, (struct sockaddr *)&small, &n, SOCK_NONBLOCK);
	CHECK(end >= 0 && n == sizeof peer && small.guard[0] == 0x5a && small.cut[0] == AF_INET);
	say_bytes("accepted", &small, sizeof small);
	n = sizeof peer;
	CHECK(getpeername(end, (struct sockaddr *)&peer, &n) == 0 && n == sizeof peer &&
	      ntohs(peer.sin_port) == port_of(fd));
	say("server port %d, client port %d", port, ntohs(peer.sin_port));

	char b[64];
	FAILS(recv(end, b, sizeof b, 0), EAGAIN);
	CHECK(send(fd, "0123456789", 10, 0) == 10);
	CHECK(fcntl(end, F_SETFL, 0) == 0);
	memset(b, '-', sizeof b);
	CHECK(recv(end, b, 4, MSG_PEEK) == 4 && !memcmp(b, "0123--", 6));
	CHECK(recv(end, b, sizeof b, 0) == 10 && !memcmp(b, "0123456789-", 11));
	n = sizeof peer;
	CHECK(write(fd, "more", 4) == 4 && recvfrom(end, b, sizeof b, 0, (struct sockaddr *)&peer, &n) == 4);
	say("recvfrom left a length of %u", n);
	discarded(fd, end);

	struct tcp_info info;
	n = sizeof info;
	memset(&info, 0x5a, sizeof info);
	CHECK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 && n <= sizeof info);
	say("rtt %u window %u", info.tcpi_rtt, info.tcpi_snd_cwnd);
	say_bytes("tcp_info", &info, n);
	int value = 0;
	n = sizeof value;
	CHECK(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, &n) == 0 && n == sizeof value);
	say("receive buffer %d", value);
	n = 2; /* an option cut in the middle */
	value = -1;
	CHECK(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &n) == 0 && n == 2);
	say("cut option %x", (unsigned)value);
	FAILS(getsockopt(fd, SOL_SOCKET, 9999, &value, &n), ENOPROTOOPT);
	int queued;
	CHECK(ioctl(fd, TIOCOUTQ, &queued) == 0);

	CHECK(shutdown(fd, SHUT_WR) == 0 && recv(end, b, sizeof b, 0) == 0);
	FAILS(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	close(end);
	close(fd);
	close(server);

	/* Nobody listens any more. */
	fd = socket(AF_INET, SOCK_STREAM, 0);
	FAILS(connect(fd, (struct sockaddr *)&a, sizeof a), ECONNREFUSED);
	close(fd);
	FAILS(socket(12345, SOCK_STREAM, 0), EAFNOSUPPORT);
}

static void udp(void)
{
	int x = socket(AF_INET, SOCK_DGRAM, 0), y = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in a = local(0), from;
	CHECK(x >= 0 && y >= 0);
	if (bind(x, (struct sockaddr *)&a, sizeof a)) {
		skipped("udp");
		return;
	}
	a = local(port_of(x));
	char b[64];
	CHECK(sendto(y, "a datagram", 10, 0, (struct sockaddr *)&a, sizeof a) == 10);
	CHECK(sendto(y, "another datagram", 16, 0, (struct sockaddr *)&a, sizeof a) == 16);
	CHECK(sendto(y, "", 0, 0, (struct sockaddr *)&a, sizeof a) == 0);
	socklen_t n = sizeof from;
	memset(b, '-', sizeof b);
	CHECK(recvfrom(x, b, sizeof b, 0, (struct sockaddr *)&from, &n) == 10 && n == sizeof from &&
	      !memcmp(b, "a datagram-", 11));
	say("from port %d", ntohs(from.sin_port));
	CHECK(ntohs(from.sin_port) == port_of(y));
	memset(b, '-', sizeof b);
	CHECK(recvfrom(x, b, 5, MSG_TRUNC, 0, 0) == 16 && !memcmp(b, "anoth-", 6));
	CHECK(recvfrom(x, b, sizeof b, 0, (struct sockaddr *)&from, &n) == 0);
	FAILS(recv(x, b, sizeof b, MSG_DONTWAIT), EAGAIN);
	struct timeval wait = { 0, 1000 };
	CHECK(setsockopt(x, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0);
	FAILS(recv(x, b, sizeof b, 0), EAGAIN);
	close(x);
	close(y);
}

int main(void)
{
	tcp();
	udp();
	return done();
}
