/*
 * Structures of which the kernel does not read every byte. A program leaves in the rest what was on its stack, and that
 * may differ at replay (doc/nondeterminism.md): only what is read is compared.
 */
#include <sys/epoll.h>
#include "runtime/syscalls/parts.h"

enum { FAMILY = 2, INET = 2, UNIX = 1, INET_READ = 8 /* family, port, address; not sin_zero */ };
enum { EVENT_READ = 16 /* value, signal, how */, EVENT_TID = 20, EVENT_HOW = 12, THREAD_ID = 4 };

/* The path of a unix socket ends with its 0; an abstract name begins with one, and all of it counts. */
static uint64_t address_read(const uint8_t *p, uint64_t len)
{
	uint16_t family = 0;

	if (len >= FAMILY)
		memcpy(&family, p, FAMILY);
	if (family == INET)
		return MIN(len, INET_READ);
	if (family != UNIX || len <= FAMILY || !p[FAMILY])
		return len;
	for (uint64_t n = FAMILY; n < len; n++)
		if (!p[n])
			return n + 1;
	return len;
}

static uint64_t event_read(const uint8_t *p)
{
	int how;

	memcpy(&how, p + EVENT_HOW, sizeof how);
	return how & THREAD_ID ? EVENT_TID : EVENT_READ;
}

unsigned parts_of(enum io_parts which, const void *p, uint64_t len, struct part part[2])
{
	switch (which) {
	case PARTS_ALL: break;
	case PARTS_ADDRESS: part[0] = (struct part){ 0, address_read(p, len) }; return 1;
	case PARTS_EPOLL:
		part[0] = (struct part){ 0, 4 };
		part[1] = (struct part){ offsetof(struct epoll_event, data), 8 };
		return 2;
	case PARTS_LOCK: /* type and whence, start and length; not pid */
		part[0] = (struct part){ 0, 4 };
		part[1] = (struct part){ 8, 16 };
		return 2;
	case PARTS_SIGEVENT: part[0] = (struct part){ 0, event_read(p) }; return 1;
	}
	part[0] = (struct part){ 0, len };
	return 1;
}
