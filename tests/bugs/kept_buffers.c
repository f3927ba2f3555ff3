/*
 * Buffers of which the kernel wants more than a copy has: files without a cache (O_DIRECT) want them at aligned places,
 * and what is sent without copying (MSG_ZEROCOPY) must stay until it is on its way. What could go wrong: the kernel gets a
 * copy of what other threads use, which lies elsewhere, and is that of the next call soon.
 */
// run: fails
#include "bugs.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif
#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif

enum { ROUNDS = 20, PAGE = 4096, SIZE = 2 * PAGE, SENT = 256 * 1024 };
static uint8_t out[SIZE] __attribute__((aligned(PAGE))), in[SIZE] __attribute__((aligned(PAGE)));
static uint8_t steady[SENT], other[SENT], arrived[SENT];
static uint64_t seen[TEAM_MAX];
static unsigned mixed[TEAM_MAX];
static volatile int over;

static void must(int good)
{
	if (!good)
		abort();
}

static void through_a_file(unsigned me)
{
	struct iovec from[2] = { { out, PAGE }, { out + PAGE, PAGE } }, to[2] = { { in + PAGE, PAGE }, { in, PAGE } };
	int fd = open(".", O_RDWR | O_TMPFILE | O_DIRECT, 0600);

	for (int i = 0; i < ROUNDS && fd >= 0; i++) {
		must(pwritev(fd, from, 2, 0) == SIZE && pwrite(fd, out, PAGE, SIZE) == PAGE);
		must(preadv(fd, to, 2, 0) == SIZE && pread(fd, in, PAGE, SIZE) == PAGE);
		note(&seen[me], in[i]);
	}
}

/* Into a window that is too small, so that most of it has to wait. */
static void connected(int ends[2])
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof name;
	int server = socket(AF_INET, SOCK_STREAM, 0), small = 4096, large = 4 * SENT, on = 1;

	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(server, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &large, sizeof large);
	setsockopt(ends[0], SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on); /* or it is copied */
	must(bind(server, (struct sockaddr *)&name, sizeof name) == 0 && listen(server, 1) == 0);
	must(getsockname(server, (struct sockaddr *)&name, &size) == 0);
	must(connect(ends[0], (struct sockaddr *)&name, sizeof name) == 0);
	ends[1] = accept(server, NULL, NULL);
	must(ends[1] >= 0 && close(server) == 0);
}

static void without_copying(void)
{
	int ends[2], fd = open("/dev/null", O_WRONLY);
	ssize_t got, sum = 0;

	connected(ends);
	memset(steady, 'a', SENT);
	memset(other, 'b', SENT);
	ssize_t sent = send(ends[0], steady, SENT, MSG_ZEROCOPY | MSG_DONTWAIT);
	must(sent > 0 && write(fd, other, SENT) == SENT);
	while (sum < sent && (got = read(ends[1], arrived + sum, (size_t)(sent - sum))) > 0)
		sum += got;
	must(sum == sent && !memcmp(arrived, steady, (size_t)sent));
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

static void use(unsigned me)
{
	uint8_t value = (uint8_t)me;
	unsigned turns = 0;

	while (!over) {
		for (unsigned i = 0; i < SIZE; i += 64)
			out[i] = value;
		for (unsigned i = 0; i < SIZE; i += 64) {
			mixed[me] += in[i] != in[0];
			note(&seen[me], in[i]);
			LOOK_AGAIN();
		}
		value = (uint8_t)(value + team);
		spin(&turns);
	}
}

static void work(unsigned me)
{
	if (me) {
		use(me);
		return;
	}
	through_a_file(me);
	without_copying();
	over = 1;
}

int main(int argc, char **argv)
{
	unsigned sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u mixed\n", i, (unsigned long long)seen[i], mixed[i]);
		sum += mixed[i];
	}
	return verdict(sum, "bytes of another time");
}
