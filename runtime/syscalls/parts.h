/* Which bytes of a structure the kernel reads: parts.c. */
#ifndef PARTS_H
#define PARTS_H
#include "runtime/runtime.h"
#include "runtime/syscalls/describe.h"

struct part {
	uint64_t at, size;
};

/* Those of `which` in the len bytes at p, which are readable; how many. */
unsigned parts_of(enum io_parts which, const void *p, uint64_t len, struct part part[2]);
#endif
