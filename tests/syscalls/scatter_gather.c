/*
 * Data in several pieces. What could go wrong: a short read spread wrongly over
 * the pieces, empty pieces, bytes of a piece that were not reached, headers that
 * recvmsg and recvmmsg update.
 */
// run: varies
#include "check.h"
#include <sys/socket.h>
#include <sys/uio.h>

static struct iovec three[3];
static char one[8], two[8], rest[32];

static void fresh(void)
{
	memset(one, '.', sizeof one);
	memset(two, '.', sizeof two);
	memset(rest, '.', sizeof rest);
	three[0] = (struct iovec){ one, 4 };
	three[1] = (struct iovec){ two, 3 };
	three[2] = (struct iovec){ rest, sizeof rest };
}

static void files(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600);
	struct iovec out[4] = { { "abcd", 4 }, { 0, 0 }, { "efg", 3 }, { "hijkl", 5 } };
	CHECK(fd >= 0 && writev(fd, out, 4) == 12);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	fresh();
	CHECK(readv(fd, three, 3) == 12 && !memcmp(one, "abcd.", 5) && !memcmp(two, "efg.", 4) &&
	      !memcmp(rest, "hijkl.", 6));
	fresh();
	CHECK(preadv(fd, three, 3, 7) == 5 && !memcmp(one, "hijk.", 5) && !memcmp(two, "l..", 3) && rest[0] == '.');
	fresh();
	CHECK(preadv(fd, three, 3, 50) == 0 && one[0] == '.');
	CHECK(pwritev(fd, out, 3, 20) == 7);
	fresh();
	if (preadv2(fd, three, 2, 20, 0) == 7)
		CHECK(!memcmp(one, "abcd.", 5) && !memcmp(two, "efg.", 4));
	else
		skipped("preadv2");
	if (pwritev2(fd, out, 1, 0, RWF_APPEND) != 4)
		skipped("pwritev2");
	volatile int minus_one = -1; /* a plain one draws a warning */
	FAILS(readv(fd, three, minus_one), EINVAL);
	FAILS(readv(fd, bad_pointer, 1), EFAULT);
	CHECK(readv(fd, three, 0) == 0);
	static char piece[600][500];
	struct iovec many[600];
	for (int i = 0; i < 600; i++)
		many[i] = (struct iovec){ piece[i], sizeof piece[i] };
	int random = open("/dev/urandom", O_RDONLY);
	CHECK(random >= 0);
	long n = readv(random, many, 600);
	CHECK(n > 0);
	say("readv of 600 pieces gave %ld: %016lx", n, (unsigned long)hash_bytes(piece, sizeof piece));
	close(random);
	close(fd);
	unlink("file");
}

static void messages(void)
{
	int s[2];
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, s) == 0);
	struct iovec out[2] = { { "first ", 6 }, { "message", 7 } };
	struct msghdr m = { .msg_iov = out, .msg_iovlen = 2 };
	CHECK(sendmsg(s[0], &m, 0) == 13 && sendmsg(s[0], &m, 0) == 13);
	fresh();
	struct msghdr r = { .msg_iov = three, .msg_iovlen = 3, .msg_flags = 0x5a5a };
	CHECK(recvmsg(s[1], &r, 0) == 13 && !memcmp(one, "firs.", 5) && !memcmp(two, "t m.", 4) &&
	      !memcmp(rest, "essage.", 7));
	CHECK(r.msg_flags == 0 && r.msg_iovlen == 3 && r.msg_namelen == 0);
	fresh();
	r.msg_iovlen = 2; /* too small */
	CHECK(recvmsg(s[1], &r, 0) == 7 && (r.msg_flags & MSG_TRUNC) && rest[0] == '.');
	FAILS(recvmsg(s[1], &r, MSG_DONTWAIT), EAGAIN);

	struct mmsghdr many[3];
	memset(many, 0, sizeof many);
	for (int i = 0; i < 3; i++)
		many[i].msg_hdr = (struct msghdr){ .msg_iov = out + i % 2, .msg_iovlen = 1 };
	int n = sendmmsg(s[0], many, 3, 0);
	if (n < 0) {
		CHECK(errno == ENOSYS);
		skipped("sendmmsg");
		for (int i = 0; i < 3; i++)
			CHECK(sendmsg(s[0], &many[i].msg_hdr, 0) > 0);
	} else {
		CHECK(n == 3 && many[0].msg_len == 6 && many[1].msg_len == 7);
	}
	char room[4][16];
	struct iovec in[4];
	struct mmsghdr got[4];
	memset(room, '.', sizeof room);
	memset(got, 0, sizeof got);
	for (int i = 0; i < 4; i++) {
		in[i] = (struct iovec){ room[i], sizeof room[i] };
		got[i].msg_hdr = (struct msghdr){ .msg_iov = in + i, .msg_iovlen = 1 };
		got[i].msg_len = 999;
	}
	n = recvmmsg(s[1], got, 4, MSG_WAITFORONE, 0);
	if (n < 0) {
		CHECK(errno == ENOSYS);
		skipped("recvmmsg");
	} else {
		CHECK(n == 3 && got[0].msg_len == 6 && got[1].msg_len == 7 && got[3].msg_len == 999);
		CHECK(!memcmp(room[0], "first .", 7) && !memcmp(room[1], "message.", 8) && room[3][0] == '.');
	}
	close(s[0]);
	close(s[1]);
}

static void own_memory(void)
{
	struct iovec local[2] = { { one, 3 }, { rest, 10 } }, remote = { "another address", 15 };
	fresh();
	ssize_t n = process_vm_readv(getpid(), local, 2, &remote, 1, 0);
	if (n < 0) {
		skipped("process_vm_readv");
		return;
	}
	CHECK(n == 13 && !memcmp(one, "ano.", 4) && !memcmp(rest, "ther addre.", 11));
}

int main(void)
{
	enter_temp();
	say("pid %d", getpid());
	files();
	messages();
	own_memory();
	leave_temp();
	return done();
}
