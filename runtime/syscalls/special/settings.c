/* Settings of the process that concern the recorder itself. */
#include "runtime/syscalls/special/special.h"
#include "runtime/runtime.h"
#include <asm/socket.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
/* Newer than some headers. */
enum { SME_SET_VL = 63, SET_SHADOW_STACK = 75, LOCK_SHADOW_STACK = 76 };

/* One of the program's own would catch our gate, too, and at replay calls that are not made. So it is not in force, and
   the user is told. */
static void filter(struct call *c)
{
	note_not_recorded(OWN_FILTER);
	call_answer(c, 0);
}

/* How instructions work from here on: so they must at replay, too. */
static void set_again(struct call *c)
{
	const uint64_t *a = c->args;
	call_run(c);
	if (!replaying || is_error(c->result))
		return;
	long r = SYS5(__NR_prctl, a[0], a[1], a[2], a[3], a[4]);
	if (r != c->result)
		cannot("prctl(%u) gives %x instead of %x at replay: is this another processor?", a[0], r, c->result);
}

void special_prctl(struct call *c)
{
	switch (c->args[0]) {
	case PR_SET_SECCOMP: filter(c); return;
	case PR_SET_TSC: /* the counter stays recorded */ call_answer(c, 0); return;
	case PR_SET_MM: call_answer(c, -EPERM); return;
	case SET_SHADOW_STACK: /* our frames have no shadow */
	case LOCK_SHADOW_STACK:
	case PR_SET_SYSCALL_USER_DISPATCH: call_answer(c, -EINVAL); return;
	case PR_SVE_SET_VL: /* the length of vectors; tags in addresses; signed pointers */
	case SME_SET_VL:
	case PR_SET_TAGGED_ADDR_CTRL:
	case PR_PAC_SET_ENABLED_KEYS: set_again(c); return;
	case PR_SET_NAME:
		call_run(c);
		if (replaying) /* so that gdb and ps show it */
			SYS2(__NR_prctl, PR_SET_NAME, c->args[1]);
		return;
	}
	call_run(c);
}

void special_arch_prctl(struct call *c)
{
	switch ((uint32_t)c->args[0]) {
	case 0x1001: /* ARCH_SET_GS: it is ours, see entry.S */ call_answer(c, -EPERM); return;
	case 0x1002: /* ARCH_SET_FS: must really change */
		call_run(c);
		if (replaying && !c->result)
			SYS2(c->nr, c->args[0], c->args[1]);
		return;
	case 0x1011: /* ARCH_GET_CPUID: to the program it works */ call_answer(c, 1); return;
	case 0x1012: /* ARCH_SET_CPUID: would let cpuid fault */ call_answer(c, -ENODEV); return;
	case 0x1023: /* ARCH_REQ_XCOMP_PERM: frames have no room for tiles */
	case 0x2001: /* ARCH_MAP_VDSO_X32, _32, _64: time would pass us by */
	case 0x2002:
	case 0x2003:
	case 0x4002: /* ARCH_ENABLE_TAGGED_ADDR */
	case 0x5001: /* ARCH_SHSTK_ENABLE: our frames have no shadow */ call_answer(c, -EINVAL); return;
	}
	call_run(c);
}

void special_seccomp(struct call *c)
{
	if (c->args[0] == SECCOMP_SET_MODE_STRICT || c->args[0] == SECCOMP_SET_MODE_FILTER)
		filter(c);
	else
		call_run(c);
}

/* The kernel would go on reading what it was given to send after the call. In a program with hooks that is a copy, of
   which the next call makes another. */
void special_setsockopt(struct call *c)
{
	if (control->hooked && c->args[1] == SOL_SOCKET && c->args[2] == SO_ZEROCOPY)
		call_answer(c, -EOPNOTSUPP);
	else
		call_run(c);
}

void special_personality(struct call *c)
{
	call_run(c);
	if (replaying) /* memory that is readable may be executable by it */
		SYS1(c->nr, c->args[0]);
}

/* All memory would be ours, too, and that is more than there is. The program cannot tell, but by the clock. */
void special_mlockall(struct call *c)
{
	enum { CURRENT = 1, FUTURE = 2, ON_FAULT = 4 };
	bool valid = c->nr == __NR_munlockall || (c->args[0] & (CURRENT | FUTURE) && c->args[0] <= 7);
	call_answer(c, valid ? 0 : -EINVAL);
}

/* How far the first stack may grow. Other limits make calls fail, which are in the log. */
void special_rlimit(struct call *c)
{
	bool own = c->nr != __NR_prlimit64 || !c->args[0];
	unsigned at = c->nr == __NR_prlimit64;
	call_run(c);
	if (replaying && !c->result && own && c->args[at] == 3 /* RLIMIT_STACK */ && c->args[1 + at])
		SYS4(__NR_prlimit64, 0, c->args[at], c->real[1 + at], 0);
}
