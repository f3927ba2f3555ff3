/*
 * Local sockets. What could go wrong: descriptors passed in control data, which
 * exist only while recording; control data cut (MSG_CTRUNC); names of unnamed and
 * abstract sockets with their odd lengths; credentials asked again.
 */
// run: varies
#include "check.h"
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct msghdr message(struct iovec *v, void *data, size_t n, void *control, size_t room)
{
	*v = (struct iovec){ data, n };
	return (struct msghdr){ .msg_iov = v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = room };
}

static void pass_descriptors(void)
{
	int s[2], p[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) == 0 && pipe(p) == 0);
	say("pair %d %d", s[0], s[1]);
	union {
		char room[256];
		struct cmsghdr align;
	} c;
	struct iovec v;
	memset(&c, 0, sizeof c);
	struct msghdr m = message(&v, "fd", 2, c.room, CMSG_SPACE(2 * sizeof(int)));
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	*h = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(2 * sizeof(int)) };
	memcpy(CMSG_DATA(h), p, sizeof p);
	CHECK(sendmsg(s[0], &m, 0) == 2);
	CHECK(sendmsg(s[0], &m, 0) == 2);

	char b[16];
	memset(&c, 0x5a, sizeof c);
	m = message(&v, b, 2, c.room, sizeof c.room);
	CHECK(recvmsg(s[1], &m, MSG_CMSG_CLOEXEC) == 2 && !memcmp(b, "fd", 2));
	h = CMSG_FIRSTHDR(&m);
	CHECK(h && h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(2 * sizeof(int)));
	int got[2];
	memcpy(got, CMSG_DATA(h), sizeof got);
	say("passed %d %d, control length %zu, flags %x", got[0], got[1], (size_t)m.msg_controllen,
	    (unsigned)m.msg_flags);
	CHECK(fcntl(got[0], F_GETFD) == FD_CLOEXEC);
	CHECK(write(got[1], "via the copy", 12) == 12 && read(p[0], b, 12) == 12 && !memcmp(b, "via the copy", 12));

	/* Room for one only: the other is lost and a flag says so. */
	m = message(&v, b, 2, c.room, CMSG_LEN(sizeof(int)));
	CHECK(recvmsg(s[1], &m, 0) == 2 && (m.msg_flags & MSG_CTRUNC));
	memcpy(got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	say("cut: %d, control length %zu", got[0], (size_t)m.msg_controllen);

	struct ucred who;
	socklen_t n = sizeof who;
	CHECK(getsockopt(s[0], SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.pid == getpid() && who.uid == geteuid());
	int one = 1;
	CHECK(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof one) == 0 && send(s[0], "me", 2, 0) == 2);
	m = message(&v, b, 2, c.room, sizeof c.room);
	CHECK(recvmsg(s[1], &m, 0) == 2 && (h = CMSG_FIRSTHDR(&m)) && h->cmsg_type == SCM_CREDENTIALS);
	memcpy(&who, CMSG_DATA(h), sizeof who);
	say("credentials %d %u %u", who.pid, who.uid, who.gid);
	CHECK(who.pid == getpid());
	for (int i = 3; i < 20; i++)
		close(i);
}

static void named(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "sock" }, name;
	socklen_t len = offsetof(struct sockaddr_un, sun_path) + 5, n;
	int server = socket(AF_UNIX, SOCK_SEQPACKET, 0), fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	CHECK(server >= 0 && fd >= 0 && bind(server, (struct sockaddr *)&a, len) == 0 && listen(server, 1) == 0);
	FAILS(bind(fd, (struct sockaddr *)&a, len), EADDRINUSE);
	CHECK(connect(fd, (struct sockaddr *)&a, len) == 0);
	n = sizeof name;
	memset(&name, 0x5a, sizeof name);
	int end = accept(server, (struct sockaddr *)&name, &n);
	CHECK(end >= 0 && n == 2); /* an unnamed peer: the family alone */
	CHECK(((char *)&name)[2] == 0x5a);
	n = sizeof name;
	CHECK(getsockname(end, (struct sockaddr *)&name, &n) == 0 && n == len && !strcmp(name.sun_path, "sock"));
	CHECK(send(fd, "packet", 6, 0) == 6 && send(fd, "second", 6, 0) == 6);
	char b[32];
	CHECK(recv(end, b, 3, 0) == 3 && recv(end, b, sizeof b, 0) == 6 && !memcmp(b, "second", 6));
	close(fd);
	CHECK(recv(end, b, sizeof b, 0) == 0);
	close(end);
	close(server);
	unlink("sock");

	/* The kernel makes up an abstract name. */
	int x = socket(AF_UNIX, SOCK_DGRAM, 0), y = socket(AF_UNIX, SOCK_DGRAM, 0);
	sa_family_t family = AF_UNIX;
	CHECK(bind(x, (struct sockaddr *)&family, sizeof family) == 0);
	n = sizeof name;
	CHECK(getsockname(x, (struct sockaddr *)&name, &n) == 0 && name.sun_path[0] == 0);
	say("abstract @%.*s", (int)(n - offsetof(struct sockaddr_un, sun_path) - 1), name.sun_path + 1);
	CHECK(sendto(y, "to the abstract", 15, 0, (struct sockaddr *)&name, n) == 15);
	n = sizeof name;
	CHECK(recvfrom(x, b, sizeof b, 0, (struct sockaddr *)&name, &n) == 15 && n == 0);
	close(x);
	close(y);
}

int main(void)
{
	enter_temp();
	pass_descriptors();
	named();
	leave_temp();
	return done();
}
