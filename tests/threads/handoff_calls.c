/*
 * The same through everything else that the kernel offers: a socket pair, an eventfd, a file and its size, a poll that
 * sees it, a signal fd. A plain variable is written before the call and read after its counterpart, without a lock.
 */
// run: varies
#include "threads.h"
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { ROUNDS = 150 };
static int sockets[2], event, back;
static unsigned by_socket, by_event, by_poll;

static void *work(void *argument)
{
	unsigned value;
	uint64_t count;
	char byte;

	(void)argument;
	for (unsigned i = 1; i <= ROUNDS; i++) {
		CHECK(recv(sockets[1], &value, sizeof value, 0) == sizeof value);
		CHECK(value == i && by_socket == i * 3);
		by_event = by_socket + chance(1000);
		CHECK(eventfd_write(event, by_event + 1) == 0);
		struct pollfd fd = { sockets[1], POLLIN, 0 };
		CHECK(poll(&fd, 1, 10000) == 1 && by_poll == by_event + 1); /* nothing read yet */
		CHECK(read(sockets[1], &byte, 1) == 1);
		CHECK(eventfd_read(back, &count) == 0 && count == 1);
	}
	return NULL;
}

int main(void)
{
	uint64_t count;
	unsigned hash = 0;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	CHECK((event = eventfd(0, 0)) >= 0 && (back = eventfd(0, EFD_SEMAPHORE)) >= 0);
	crew_start(1, work);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		by_socket = i * 3;
		CHECK(send(sockets[0], &i, sizeof i, 0) == sizeof i);
		CHECK(eventfd_read(event, &count) == 0 && count == by_event + 1ul);
		hash = hash * 31 + by_event;
		by_poll = by_event + 1;
		CHECK(write(sockets[0], "x", 1) == 1);
		CHECK(eventfd_write(back, 1) == 0);
	}
	crew_join(1);
	printf("values %08x\n", hash);
	return 0;
}
