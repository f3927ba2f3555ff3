/* Settings of the process that concern the recorder itself. */
#include "runtime/syscalls/special/special.h"
#include "runtime/runtime.h"
#include <linux/prctl.h>
#include <linux/seccomp.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

void special_prctl(struct call *c)
{
	switch (c->args[0]) {
	case PR_SET_SECCOMP: /* our own filter is stricter; theirs would catch the gate */
	case PR_SET_TSC: /* the counter stays recorded */ call_answer(c, 0); return;
	case PR_SET_MM: call_answer(c, -EPERM); return;
	case PR_SET_SYSCALL_USER_DISPATCH: call_answer(c, -EINVAL); return;
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
	/* x86-64: the program's fs base must really change; gs is left alone */
	call_run(c);
	if (replaying && c->args[0] == 0x1002 /* ARCH_SET_FS */ && !c->result)
		gate(c->nr, (long)c->args[0], (long)c->args[1], 0, 0, 0, 0);
}

void special_seccomp(struct call *c)
{
	if (c->args[0] == SECCOMP_SET_MODE_STRICT || c->args[0] == SECCOMP_SET_MODE_FILTER)
		call_answer(c, 0);
	else
		call_run(c);
}

void special_personality(struct call *c)
{
	call_run(c);
}
