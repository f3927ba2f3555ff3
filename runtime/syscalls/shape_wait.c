/*
 * poll, select, clock_nanosleep: the kernel stores what is left of the timeout
 * and the events even when the call fails with EINTR, so all of it goes in and
 * comes back.
 */
#include <linux/time.h>
#include <linux/time_types.h>

#include "shapes.h"

#define TIMEOUT 16 /* timespec and timeval alike */
_Static_assert(sizeof(struct __kernel_timespec) == TIMEOUT && sizeof(struct timeval) == TIMEOUT, "the kernel's");

static struct sys_io both(unsigned arg, uint32_t size)
{
	return (struct sys_io){ INOUT_FIXED, (uint8_t)arg, NO_ARG, size };
}

/* struct pollfd has 8 bytes. No kernel allows 2^26 descriptors: such a call only fails. */
int shape_poll(const uint64_t args[6], struct sys_io *io)
{
	uint32_t n = (uint32_t)args[1];
	if (n && n < 1u << 26)
		io[0] = both(0, 8 * n);
	return 0;
}

int shape_ppoll(const uint64_t args[6], struct sys_io *io)
{
	shape_poll(args, io);
	io[io[0].rule ? 1 : 0] = both(2, TIMEOUT);
	return 0;
}

/*
 * The sets are read and written in whole 64-bit words. The kernel cuts n down to
 * the descriptors that the process has room for, so a program may pass
 * getdtablesize(), a million, with sets of 1024. What it passes cannot overlap:
 * the distance of its pointers limits the size.
 */
int shape_select(const uint64_t args[6], struct sys_io *io)
{
	int32_t n = (int32_t)args[0];
	uint64_t size = n > 0 ? ((uint64_t)n + 63) / 64 * 8 : 0;
	for (unsigned i = 1; i <= 4; i++)
		for (unsigned j = 1; j <= 3; j++)
			if (args[j] && args[i] > args[j] && args[i] - args[j] < size && n > 1024)
				size = args[i] - args[j];
	for (unsigned i = 0; i < 3 && size; i++)
		io[i] = both(1 + i, (uint32_t)size);
	io[size ? 3 : 0] = both(4, TIMEOUT);
	return 0;
}

int shape_pselect6(const uint64_t args[6], struct sys_io *io)
{
	return shape_select(args, io);
}

int shape_clock_nanosleep(const uint64_t args[6], struct sys_io *io)
{
	io[0] = (struct sys_io){ IN_BYTES, 2, NO_ARG, TIMEOUT };
	if (!(args[1] & 1 /* TIMER_ABSTIME */)) /* then nothing is "left" */
		io[1] = (struct sys_io){ OUT_EINTR, 3, NO_ARG, TIMEOUT };
	return 0;
}
