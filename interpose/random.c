/*
 * std::random_device, which on x86-64 takes its numbers from an instruction (rdseed, rdrand) that nobody sees: here
 * they come from the kernel, by a call that is recorded. Other machines' libstdc++ asks the kernel anyway.
 */
#ifdef __x86_64__
#define _GNU_SOURCE
#include "interpose/interpose.h"
#include <stdlib.h>
#include <sys/random.h>

/* unsigned std::random_device::_M_getval(): behind operator(), whatever the device was opened as */
unsigned _ZNSt13random_device9_M_getvalEv(void *device);
EXPORT unsigned _ZNSt13random_device9_M_getvalEv(void *device)
{
	unsigned value;
	(void)device;
	if (getrandom(&value, sizeof value, 0) != sizeof value)
		abort();
	return value;
}
#endif
