/*
 * fcntl: what each command reads and writes through its third argument.
 */
#include <linux/fcntl.h>

#include "shapes.h"

#define LOCK sizeof(struct flock)
_Static_assert(LOCK == 32 && sizeof(struct f_owner_ex) == 8, "the kernel's");

/* Newer than some headers. */
enum { DUPFD_QUERY = 1027, CREATED_QUERY = 1028, GETDELEG = 1039, SETDELEG = 1040 };

static int one(struct sys_io *io, uint8_t rule, uint32_t size)
{
	io[0] = (struct sys_io){ rule, 2, NO_ARG, size };
	return 0;
}

int shape_fcntl(const uint64_t args[6], struct sys_io *io)
{
	switch ((uint32_t)args[1]) {
	case F_GETLK:
	case F_OFD_GETLK: return one(io, INOUT_FIXED, LOCK);
	case F_SETLK:
	case F_SETLKW: io[0] = (struct sys_io){ IN_BYTES, 2, NO_ARG, LOCK, PARTS_LOCK }; return 0;
	case F_OFD_SETLK: /* these want 0 as pid */
	case F_OFD_SETLKW: return one(io, IN_BYTES, LOCK);
	case F_GETOWN_EX:
	case F_GETOWNER_UIDS:
	case F_GET_RW_HINT:
	case F_GET_FILE_RW_HINT: return one(io, OUT_FIXED, 8);
	case F_SETOWN_EX:
	case F_SET_RW_HINT:
	case F_SET_FILE_RW_HINT:
	case SETDELEG: return one(io, IN_BYTES, 8);
	case GETDELEG: return one(io, INOUT_FIXED, 8);
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_GETFD:
	case F_SETFD:
	case F_GETFL:
	case F_SETFL:
	case F_GETOWN:
	case F_SETOWN:
	case F_GETSIG:
	case F_SETSIG:
	case F_GETLEASE:
	case F_SETLEASE:
	case F_NOTIFY:
	case F_GETPIPE_SZ:
	case F_SETPIPE_SZ:
	case F_ADD_SEALS:
	case F_GET_SEALS:
	case DUPFD_QUERY:
	case CREATED_QUERY: return 0;
	}
	return -1;
}
