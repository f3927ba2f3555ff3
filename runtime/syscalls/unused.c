/*
 * Arguments that a call does not look at, by its command: fcntl(fd, F_GETFL), ioctl(fd, FIOCLEX), syscall(SYS_futex,
 * word, FUTEX_WAKE, 1). libc passes on whatever lies in their registers, perhaps left there by a hook, and that would
 * be compared with the recording. Commands that look at all of them are not here: the program gives them all.
 */
#include <asm/ioctls.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include "runtime/runtime.h"

#define FROM(n) (63u & ~((1u << (n)) - 1)) /* argument n, and all that follow */

static unsigned of_fcntl(unsigned command)
{
	switch (command) {
	case F_GETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_GETSIG:
	case F_GETLEASE:
	case F_GETPIPE_SZ:
	case F_GET_SEALS: return FROM(2);
	}
	return 0;
}

static unsigned of_ioctl(unsigned request)
{
	switch (request) {
	case TIOCSBRK:
	case TIOCCBRK:
	case TIOCEXCL:
	case TIOCNXCL:
	case TIOCNOTTY:
	case TIOCVHANGUP:
	case FIOCLEX:
	case FIONCLEX:
	case FIFREEZE:
	case FITHAW:
	case BLKRRPART:
	case BLKFLSBUF: return FROM(2);
	}
	return 0;
}

static unsigned of_prctl(unsigned option)
{
	switch (option) {
	case PR_GET_DUMPABLE:
	case PR_GET_KEEPCAPS:
	case PR_GET_TIMERSLACK: return FROM(1);
	case PR_SET_NAME:
	case PR_GET_NAME:
	case PR_SET_PDEATHSIG:
	case PR_GET_PDEATHSIG:
	case PR_SET_DUMPABLE:
	case PR_SET_KEEPCAPS:
	case PR_SET_TIMERSLACK: return FROM(2);
	}
	return 0;
}

static unsigned of_futex(unsigned command)
{
	switch (command & FUTEX_CMD_MASK) {
	case FUTEX_WAKE: return FROM(3);
	case FUTEX_WAIT:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2: return FROM(4);
	case FUTEX_WAIT_BITSET: return 1 << 4;
	case FUTEX_WAKE_BITSET: return 1 << 3 | 1 << 4;
	case FUTEX_REQUEUE: return FROM(5);
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI: return FROM(2);
	}
	return 0;
}

unsigned unused_arguments(unsigned nr, const uint64_t args[6])
{
	switch (nr) {
	case __NR_fcntl: return of_fcntl((unsigned)args[1]);
	case __NR_ioctl: return of_ioctl((unsigned)args[1]);
	case __NR_prctl: return of_prctl((unsigned)args[0]);
	case __NR_futex: return of_futex((unsigned)args[1]);
	}
	return 0;
}
