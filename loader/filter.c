/* The seccomp filter: system calls enter the kernel from the gate alone, all others raise SIGSYS. */
#include "loader/loader.h"
#include "loader/arch/arch.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

long filter_install(void)
{
	/* the gate begins where the upper half of addresses does, so there is one bound to look at */
	_Static_assert(!(uint32_t)MAP_LOADER_BASE, "the gate is first in the loader's image");
	uint64_t to = (uint64_t)gate_end;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(to >> 32), 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)to, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { COUNT(code), code };
	SYS5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return SYS3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
