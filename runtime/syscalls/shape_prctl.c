/*
 * Calls about the process itself whose arguments depend on the first one:
 * prctl, arch_prctl, keyctl, futex, seccomp, and two about its memory.
 */
#include <asm/errno.h>
#include <linux/futex.h>
#include <linux/keyctl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "shapes.h"

static int one(struct sys_io *io, uint8_t rule, uint8_t arg, uint32_t size)
{
	io[0] = (struct sys_io){ rule, arg, NO_ARG, size };
	return 0;
}

/* Newer than some headers. */
enum { GET_AUXV = 0x41555856, TIMER_CREATE_RESTORE_IDS = 77, FUTEX_HASH = 78 };

int shape_prctl(const uint64_t args[6], struct sys_io *io)
{
	uint32_t option = (uint32_t)args[0];
	switch (option) {
	case PR_GET_PDEATHSIG:
	case PR_GET_UNALIGN:
	case PR_GET_FPEMU:
	case PR_GET_FPEXC:
	case PR_GET_ENDIAN:
	case PR_GET_TSC:
	case PR_GET_CHILD_SUBREAPER: return one(io, OUT_FIXED, 1, 4);
	case PR_GET_TID_ADDRESS: return one(io, OUT_FIXED, 1, 8);
	case PR_GET_NAME: return one(io, OUT_FIXED, 1, 16);
	case PR_SET_NAME: /* cut to 15 characters by the kernel */ return one(io, IN_STRING, 1, 1);
	case GET_AUXV: io[0] = (struct sys_io){ OUT_RESULT, 1, 2, 1 }; return 0;
	case PR_SET_VMA: /* PR_SET_VMA_ANON_NAME, address, length, name */
		return args[1] == 0 ? one(io, IN_STRING, 4, 1) : 0;
	case PR_SCHED_CORE: return args[1] == 0 ? one(io, OUT_FIXED, 4, 8) : 0; /* PR_SCHED_CORE_GET */
	case PR_SET_MM:
		if (args[1] == PR_SET_MM_MAP_SIZE)
			return one(io, OUT_FIXED, 2, 4);
		if (args[1] == PR_SET_MM_MAP || args[1] == PR_SET_MM_AUXV)
			io[0] = (struct sys_io){ IN_BYTES, 2, 3, 1 };
		return 0;
	case PR_SET_PDEATHSIG:
	case PR_GET_DUMPABLE:
	case PR_SET_DUMPABLE:
	case PR_SET_UNALIGN:
	case PR_GET_KEEPCAPS:
	case PR_SET_KEEPCAPS:
	case PR_SET_FPEMU:
	case PR_SET_FPEXC:
	case PR_GET_TIMING:
	case PR_SET_TIMING:
	case PR_SET_ENDIAN:
	case PR_GET_SECCOMP:
	case PR_SET_SECCOMP: /* the filter is special_prctl's business */
	case PR_CAPBSET_READ:
	case PR_CAPBSET_DROP:
	case PR_SET_TSC:
	case PR_GET_SECUREBITS:
	case PR_SET_SECUREBITS:
	case PR_SET_TIMERSLACK:
	case PR_GET_TIMERSLACK:
	case PR_TASK_PERF_EVENTS_DISABLE:
	case PR_TASK_PERF_EVENTS_ENABLE:
	case PR_MCE_KILL:
	case PR_MCE_KILL_GET:
	case PR_SET_PTRACER:
	case PR_SET_CHILD_SUBREAPER:
	case PR_SET_NO_NEW_PRIVS:
	case PR_GET_NO_NEW_PRIVS:
	case PR_SET_THP_DISABLE:
	case PR_GET_THP_DISABLE:
	case PR_MPX_ENABLE_MANAGEMENT:
	case PR_MPX_DISABLE_MANAGEMENT:
	case PR_SET_FP_MODE:
	case PR_GET_FP_MODE:
	case PR_CAP_AMBIENT:
	case PR_SVE_SET_VL:
	case PR_SVE_GET_VL:
	case PR_GET_SPECULATION_CTRL:
	case PR_SET_SPECULATION_CTRL:
	case PR_PAC_RESET_KEYS:
	case PR_PAC_SET_ENABLED_KEYS:
	case PR_PAC_GET_ENABLED_KEYS:
	case PR_SET_TAGGED_ADDR_CTRL:
	case PR_GET_TAGGED_ADDR_CTRL:
	case PR_SET_IO_FLUSHER:
	case PR_GET_IO_FLUSHER:
	case PR_SET_SYSCALL_USER_DISPATCH: /* special_prctl's business */ return 0;
	}
	/* SME (63, 64), MDWE (65, 66), KSM (67, 68), RISC-V and PowerPC (69-73), shadow stacks
	   (74-76), and the two above: values only. */
	if (option >= 63 && option <= FUTEX_HASH)
		return 0;
	return -1;
}

int shape_arch_prctl(const uint64_t args[6], struct sys_io *io)
{
	switch ((uint32_t)args[0]) {
	case 0x1003: /* ARCH_GET_FS */
	case 0x1004: /* ARCH_GET_GS */
	case 0x1021: /* ARCH_GET_XCOMP_SUPP */
	case 0x1022: /* ARCH_GET_XCOMP_PERM */
	case 0x1024: /* ARCH_GET_XCOMP_GUEST_PERM */
	case 0x4001: /* ARCH_GET_UNTAG_MASK */
	case 0x4003: /* ARCH_GET_MAX_TAG_BITS */
	case 0x5005: /* ARCH_SHSTK_STATUS */ return one(io, OUT_FIXED, 1, 8);
	case 0x3001: /* ARCH_CET_STATUS of older patches, which glibc once asked */ return one(io, OUT_FIXED, 1, 24);
	}
	return 0; /* the others take values */
}

int shape_keyctl(const uint64_t args[6], struct sys_io *io)
{
	switch ((uint32_t)args[0]) {
	case KEYCTL_DESCRIBE:
	case KEYCTL_READ:
	case KEYCTL_GET_SECURITY: /* the result is the full size, also when the room is less */
		io[0] = (struct sys_io){ OUT_RESULT, 2, 3, 1 };
		return 0;
	case KEYCTL_JOIN_SESSION_KEYRING: return one(io, IN_STRING, 1, 1);
	case KEYCTL_UPDATE:
	case KEYCTL_INSTANTIATE: io[0] = (struct sys_io){ IN_BYTES, 2, 3, 1 }; return 0;
	case KEYCTL_SEARCH:
		io[0] = (struct sys_io){ IN_STRING, 2, NO_ARG, 1 };
		io[1] = (struct sys_io){ IN_STRING, 3, NO_ARG, 1 };
		return 0;
	case KEYCTL_RESTRICT_KEYRING:
		io[0] = (struct sys_io){ IN_STRING, 2, NO_ARG, 1 };
		io[1] = (struct sys_io){ IN_STRING, 3, NO_ARG, 1 };
		return 0;
	case KEYCTL_CAPABILITIES: io[0] = (struct sys_io){ OUT_RESULT, 1, 2, 1 }; return 0;
	case KEYCTL_GET_KEYRING_ID:
	case KEYCTL_REVOKE:
	case KEYCTL_CHOWN:
	case KEYCTL_SETPERM:
	case KEYCTL_CLEAR:
	case KEYCTL_LINK:
	case KEYCTL_UNLINK:
	case KEYCTL_NEGATE:
	case KEYCTL_SET_REQKEY_KEYRING:
	case KEYCTL_SET_TIMEOUT:
	case KEYCTL_ASSUME_AUTHORITY:
	case KEYCTL_SESSION_TO_PARENT:
	case KEYCTL_REJECT:
	case KEYCTL_INSTANTIATE_IOV:
	case KEYCTL_INVALIDATE:
	case KEYCTL_GET_PERSISTENT:
	case KEYCTL_MOVE: return 0;
	}
	return EOPNOTSUPP; /* public keys: structs with sizes inside; kernels without them say this */
}

/* The word itself is special_futex's business; here is the timeout. */
int shape_futex(const uint64_t args[6], struct sys_io *io)
{
	switch (args[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_WAIT_REQUEUE_PI: return one(io, IN_BYTES, 3, 16);
	}
	return 0;
}

/* A byte a page. Where pages are larger than 4 KiB fewer bytes are written: the others come back as
   they were. */
int shape_mincore(const uint64_t args[6], struct sys_io *io)
{
	uint64_t pages = (args[1] + 4095) / 4096;
	return pages && pages < 1u << 30 ? one(io, INOUT_FIXED, 2, (uint32_t)pages) : 0;
}

int shape_get_mempolicy(const uint64_t args[6], struct sys_io *io)
{
	io[0] = (struct sys_io){ OUT_FIXED, 0, NO_ARG, 4 };
	if (args[2] > 1 && args[2] < 1u << 20) /* maxnode counts bits, plus one */
		io[1] = (struct sys_io){ OUT_FIXED, 1, NO_ARG, (uint32_t)(args[2] - 1 + 63) / 64 * 8 };
	return 0;
}

int shape_seccomp(const uint64_t args[6], struct sys_io *io)
{
	switch (args[0]) {
	case SECCOMP_GET_ACTION_AVAIL: return one(io, IN_BYTES, 2, 4);
	case SECCOMP_GET_NOTIF_SIZES: return one(io, OUT_FIXED, 2, sizeof(struct seccomp_notif_sizes));
	}
	return 0;
}
