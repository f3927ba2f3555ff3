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
enum { GET_SHADOW_STACK = 74, FUTEX_HASH = 78, GET_AUXV = 0x41555856 };

/* clang-format off */
static const struct {
	uint32_t option;
	struct sys_io io;
} with_memory[] = {
	{ PR_GET_PDEATHSIG,	  { OUT_FIXED, 1, NO_ARG, 4 } },
	{ PR_GET_UNALIGN,	  { OUT_FIXED, 1, NO_ARG, 4 } },
	{ PR_GET_FPEMU,		  { OUT_FIXED, 1, NO_ARG, 4 } },
	{ PR_GET_FPEXC,		  { OUT_FIXED, 1, NO_ARG, 4 } },
	{ PR_GET_ENDIAN,	  { OUT_FIXED, 1, NO_ARG, 4 } },
	{ PR_GET_TSC,		  { OUT_FIXED, 1, NO_ARG, 4 } },
	{ PR_GET_CHILD_SUBREAPER, { OUT_FIXED, 1, NO_ARG, 4 } },
	{ PR_GET_TID_ADDRESS,	  { OUT_FIXED, 1, NO_ARG, 8 } },
	{ PR_GET_NAME,		  { OUT_FIXED, 1, NO_ARG, 16 } },
	{ PR_SET_NAME,		  { IN_STRING, 1, NO_ARG, 1 } }, /* cut to 15 characters by the kernel */
	{ GET_SHADOW_STACK,	  { OUT_FIXED, 1, NO_ARG, 8 } },
	{ GET_AUXV,		  { OUT_RESULT, 1, 2, 1 } },
};

/* Seccomp and user dispatch are special_prctl's business. */
static const uint32_t values_only[] = {
	PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_SET_UNALIGN, PR_GET_KEEPCAPS, PR_SET_KEEPCAPS,
	PR_SET_FPEMU, PR_SET_FPEXC, PR_GET_TIMING, PR_SET_TIMING, PR_SET_ENDIAN, PR_GET_SECCOMP, PR_SET_SECCOMP,
	PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_TSC, PR_GET_SECUREBITS, PR_SET_SECUREBITS, PR_SET_TIMERSLACK,
	PR_GET_TIMERSLACK, PR_TASK_PERF_EVENTS_DISABLE, PR_TASK_PERF_EVENTS_ENABLE, PR_MCE_KILL, PR_MCE_KILL_GET,
	PR_SET_PTRACER, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_SET_THP_DISABLE,
	PR_GET_THP_DISABLE, PR_MPX_ENABLE_MANAGEMENT, PR_MPX_DISABLE_MANAGEMENT, PR_SET_FP_MODE, PR_GET_FP_MODE,
	PR_CAP_AMBIENT, PR_SVE_SET_VL, PR_SVE_GET_VL, PR_GET_SPECULATION_CTRL, PR_SET_SPECULATION_CTRL,
	PR_PAC_RESET_KEYS, PR_PAC_SET_ENABLED_KEYS, PR_PAC_GET_ENABLED_KEYS, PR_SET_TAGGED_ADDR_CTRL,
	PR_GET_TAGGED_ADDR_CTRL, PR_SET_IO_FLUSHER, PR_GET_IO_FLUSHER, PR_SET_SYSCALL_USER_DISPATCH,
};
/* clang-format on */

static int shape_set_mm(const uint64_t args[6], struct sys_io *io)
{
	if (args[1] == PR_SET_MM_MAP_SIZE)
		return one(io, OUT_FIXED, 2, 4);
	if (args[1] == PR_SET_MM_MAP || args[1] == PR_SET_MM_AUXV)
		io[0] = (struct sys_io){ IN_BYTES, 2, 3, 1 };
	return 0;
}

int shape_prctl(const uint64_t args[6], struct sys_io *io)
{
	uint32_t option = (uint32_t)args[0];
	switch (option) {
	case PR_SET_VMA: /* PR_SET_VMA_ANON_NAME, address, length, name */
		return args[1] == 0 ? one(io, IN_STRING, 4, 1) : 0;
	case PR_SCHED_CORE: return args[1] == 0 ? one(io, OUT_FIXED, 4, 8) : 0; /* PR_SCHED_CORE_GET */
	case PR_SET_MM: return shape_set_mm(args, io);
	}
	for (unsigned i = 0; i < sizeof with_memory / sizeof *with_memory; i++)
		if (with_memory[i].option == option) {
			io[0] = with_memory[i].io;
			return 0;
		}
	for (unsigned i = 0; i < sizeof values_only / sizeof *values_only; i++)
		if (values_only[i] == option)
			return 0;
	/* SME (63, 64), MDWE (65, 66), KSM (67, 68), RISC-V and PowerPC (69-73), shadow stacks (75, 76), restored
	   timers and futexes' hash (77, 78): values only. */
	return option >= 63 && option <= FUTEX_HASH ? 0 : -1;
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
