/* The program's registers, as entry.S saves them. Same names for both machines. */
#ifndef ARCH_REGS_H
#define ARCH_REGS_H
#include <stdint.h>

#if defined __aarch64__
struct regs {
	uint64_t x[31];
	uint64_t sp, pc, flags; /* pc: address of the system call instruction; flags: nzcv */
};
#define REGS_NR(r)     ((r)->x[8])
#define REGS_ARG(r, i) ((r)->x[i])
#define REGS_RESULT(r) ((r)->x[0])
#define SYSCALL_SIZE   4
#define CLONE_TLS      3
#define CLONE_CTID     4 /* which argument of clone points to the child's id */
/* An ordinary call's arguments, and its return. */
#define SYNC_CALL_ARG(r, i) ((r)->x[i])
#define HOOK_CALL_ARG5(r)   ((r)->x[5])
#define HOOK_CALL_NUMBER(r) ((r)->x[16])
static inline void regs_returned(struct regs *r, uint64_t result)
{
	r->x[0] = result;
	r->pc = r->x[30];
}
#elif defined __x86_64__
struct regs {
	/* in the order of the hardware's numbers */
	uint64_t rax, rcx, rdx, rbx, rsp_unused, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t sp, pc, flags; /* pc: address of the system call instruction */
};
#define REGS_NR(r) ((r)->rax)
#define REGS_ARG(r, i)          \
	(*(i == 0 ? &(r)->rdi : \
	   i == 1 ? &(r)->rsi : \
	   i == 2 ? &(r)->rdx : \
	   i == 3 ? &(r)->r10 : \
	   i == 4 ? &(r)->r8 :  \
		    &(r)->r9))
#define REGS_RESULT(r) ((r)->rax)
#define SYSCALL_SIZE   2
#define CLONE_TLS      4
#define SYNC_CALL_ARG(r, i) \
	(*(i == 0 ? &(r)->rdi : i == 1 ? &(r)->rsi : i == 2 ? &(r)->rdx : i == 3 ? &(r)->rcx : &(r)->r8))
static inline void regs_returned(struct regs *r, uint64_t result)
{
	r->rax = result;
	r->pc = *(uint64_t *)r->sp;
	r->sp += 8;
}
#define HOOK_CALL_ARG5(r)   ((r)->r9)
#define HOOK_CALL_NUMBER(r) ((r)->r11)
#define CLONE_CTID	    3
#endif
#endif
