/*
 * The common part of all stubs. A stub comes here with its index in r11.
 *
 * The frame's address lies in rbx while the real function runs, so that the unwinder finds the caller's rbx and return
 * address by ordinary rules, without thread-local storage: exceptions, cancellation and backtraces pass through.
 * The frame has no bytes on the stack, so the unwinder would take it for its caller's, which it knows by the address of
 * the end of the frame below (CFA): the CFA given here is 8 more than that, and the stack pointer has a rule of its
 * own. The return address on the stack is replaced by ours, in place. Neither libc_enter() and libc_leave() nor the
 * runtime touch vector or x87 registers.
 */
#define RET 0
#define SP 8
#define SAVED 16
#define INDEX 24
#define OBJECT 32
#define ARGS 48
#define EXTRA 120
#define FRAMES 16

	.text
/* Makes rbx the new frame and enters the sections; all arguments are back afterwards; the return address is popped. */
.macro enter
	movq libc_shadow@gottpoff(%rip), %r10
	addq %fs:0, %r10
	cmpq $FRAMES, (%r10)
	jae 9f			/* too deep: unordered, and at replay again */
	incq (%r10)		/* first, so that a handler that comes now takes the next */
	pushq %rax
	.cfi_adjust_cfa_offset 8
	movq (%r10), %rax
	shlq $7, %rax
	leaq 64 - 128(%r10, %rax), %r10
	popq %rax
	.cfi_adjust_cfa_offset -8
	movq %rbx, SAVED(%r10)
	movq %r11, INDEX(%r10)
	movq $0, OBJECT(%r10)
	movq $0, OBJECT + 8(%r10)
	movq %rdi, ARGS(%r10)
	movq %rsi, ARGS + 8(%r10)
	movq %rdx, ARGS + 16(%r10)
	movq %rcx, ARGS + 24(%r10)
	movq %r8, ARGS + 32(%r10)
	movq %r9, ARGS + 40(%r10)
	movq %rax, ARGS + 48(%r10)
	movq $0, EXTRA(%r10)
	movq %rsp, SP(%r10)
	movq (%rsp), %r11
	movq %r11, RET(%r10)
	movq %r10, %rbx
	.cfi_remember_state
	.cfi_escape 0x10, 16, 2, 0x73, RET	/* the return address is at rbx + RET */
	.cfi_escape 0x10, 3, 2, 0x73, SAVED
	.cfi_escape 0x16, 7, 5, 0x73, SP, 6, 0x23, 8	/* rsp is *(rbx + SP) + 8 */
	.cfi_def_cfa_offset 16				/* see above */
	movq %rbx, %rdi
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	call libc_enter
	addq $16, %rsp		/* the return address, too: `call` puts ours there */
	.cfi_def_cfa_offset 8
	movq ARGS(%rbx), %rdi
	movq ARGS + 8(%rbx), %rsi
	movq ARGS + 16(%rbx), %rdx
	movq ARGS + 24(%rbx), %rcx
	movq ARGS + 32(%rbx), %r8
	movq ARGS + 40(%rbx), %r9
	movq INDEX(%rbx), %r11
	leaq libc_real(%rip), %r10
	movq (%r10, %r11, 8), %r11
	movq ARGS + 48(%rbx), %rax
.endm

/* Leaves the sections and returns to the caller. rsp is as the caller will have it. */
.macro leave
	movq %rax, ARGS(%rbx)
	movq %rdx, ARGS + 8(%rbx)
	movq %rbx, %rdi
	call libc_leave		/* rsp is a multiple of 16 here */
	movq %rax, %r10
	movq ARGS(%rbx), %rax
	movq ARGS + 8(%rbx), %rdx
	movq $0, ARGS(%rbx)
	movq $0, ARGS + 8(%rbx)	/* rdx may be anything, and this is the program's memory */
	movq RET(%rbx), %rcx
	movq SAVED(%rbx), %rbx
	pushq %rcx
	movq libc_shadow@gottpoff(%rip), %rcx
	movq %r10, %fs:(%rcx)	/* last: from here on the frame is anybody's */
	.cfi_restore_state
	ret
9:	leaq libc_real(%rip), %r10
	jmp *(%r10, %r11, 8)
.endm

	.hidden libc_stub
	.globl libc_stub
	.type libc_stub, @function
	.p2align 4
libc_stub:
	.cfi_startproc
	.cfi_personality 0x1b, libc_personality
	enter
	call *%r11
	leave
	.cfi_endproc
	.size libc_stub, . - libc_stub

/*
 * The same for functions that look at their return address to know who calls (dlopen, dlsym): they shall find an
 * address in the caller's object. EXTRA is one where that object has "pop %rbp; ret", and brings us back.
 */
	.hidden libc_stub_caller
	.globl libc_stub_caller
	.type libc_stub_caller, @function
	.p2align 4
libc_stub_caller:
	.cfi_startproc
	.cfi_personality 0x1b, libc_personality
	enter
	cmpq $0, EXTRA(%rbx)
	je 1f
	leaq 2f(%rip), %r10
	pushq %r10
	pushq %rbp
	pushq EXTRA(%rbx)
	jmp *%r11
1:	call *%r11
2:	leave
	.cfi_endproc
	.size libc_stub_caller, . - libc_stub_caller
	.hidden libc_stubs_end
	.globl libc_stubs_end
libc_stubs_end:

/* The first call of a function: r11 is the index. All that can carry arguments is kept. */
	.hidden libc_early
	.globl libc_early
	.type libc_early, @function
libc_early:
	.cfi_startproc
	subq $200, %rsp
	.cfi_adjust_cfa_offset 200
	movq %rdi, (%rsp)
	movq %rsi, 8(%rsp)
	movq %rdx, 16(%rsp)
	movq %rcx, 24(%rsp)
	movq %r8, 32(%rsp)
	movq %r9, 40(%rsp)
	movq %rax, 48(%rsp)
	movq %r11, 56(%rsp)
	movups %xmm0, 64(%rsp)
	movups %xmm1, 80(%rsp)
	movups %xmm2, 96(%rsp)
	movups %xmm3, 112(%rsp)
	movups %xmm4, 128(%rsp)
	movups %xmm5, 144(%rsp)
	movups %xmm6, 160(%rsp)
	movups %xmm7, 176(%rsp)
	movl %r11d, %edi
	call libc_resolve
	movq (%rsp), %rdi
	movq 8(%rsp), %rsi
	movq 16(%rsp), %rdx
	movq 24(%rsp), %rcx
	movq 32(%rsp), %r8
	movq 40(%rsp), %r9
	movq 48(%rsp), %rax
	movq 56(%rsp), %r11
	movups 64(%rsp), %xmm0
	movups 80(%rsp), %xmm1
	movups 96(%rsp), %xmm2
	movups 112(%rsp), %xmm3
	movups 128(%rsp), %xmm4
	movups 144(%rsp), %xmm5
	movups 160(%rsp), %xmm6
	movups 176(%rsp), %xmm7
	addq $200, %rsp
	.cfi_adjust_cfa_offset -200
	leaq libc_real(%rip), %r10
	jmp *(%r10, %r11, 8)
	.cfi_endproc
	.size libc_early, . - libc_early
	.section .note.GNU-stack, "", @progbits
