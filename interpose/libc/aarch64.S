/*
 * The common part of all stubs. A stub comes here with its index in x17.
 *
 * The frame's address lies in x19 while the real function runs, so that the unwinder finds the caller's x19 and return
 * address by ordinary rules, without thread-local storage: exceptions, cancellation and backtraces pass through.
 * The frame has no bytes on the stack, so the unwinder would take it for its caller's, which it knows by the address of
 * the end of the frame below (CFA): the CFA given here is 8 more than the stack pointer, and that has a rule of its
 * own. sp is the caller's throughout. Neither libc_enter() and libc_leave() nor the runtime touch vector registers.
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
/* x16 = this thread's libc_shadow; uses x15 */
.macro shadow
	adrp x16, :gottprel:libc_shadow
	ldr x16, [x16, :gottprel_lo12:libc_shadow]
	mrs x15, tpidr_el0
	add x16, x16, x15
.endm

/* x16 = libc_real[x17] */
.macro real
	adrp x16, libc_real
	add x16, x16, :lo12:libc_real
	ldr x16, [x16, x17, lsl #3]
.endm

/* Makes x19 the new frame and enters the sections; all arguments are back afterwards. */
.macro enter
	shadow
	ldr x9, [x16]
	cmp x9, #FRAMES
	b.hs 9f			/* too deep: unordered, and at replay again */
	add x10, x9, #1
	str x10, [x16]		/* first, so that a handler that comes now takes the next */
	add x10, x16, x9, lsl #7
	add x10, x10, #64
	mov x11, sp
	stp x30, x11, [x10, #RET]
	stp x19, x17, [x10, #SAVED]
	stp xzr, xzr, [x10, #OBJECT]
	stp x0, x1, [x10, #ARGS]
	stp x2, x3, [x10, #ARGS + 16]
	stp x4, x5, [x10, #ARGS + 32]
	stp x6, x7, [x10, #ARGS + 48]
	stp x8, xzr, [x10, #ARGS + 64]
	mov x19, x10
	.cfi_remember_state
	.cfi_escape 0x10, 30, 2, 0x83, RET	/* x30 is at x19 + RET */
	.cfi_escape 0x10, 19, 2, 0x83, SAVED
	.cfi_escape 0x16, 31, 3, 0x83, SP, 6	/* sp is *(x19 + SP) */
	.cfi_def_cfa_offset 8			/* see above */
	mov x0, x19
	bl libc_enter
	ldp x0, x1, [x19, #ARGS]
	ldp x2, x3, [x19, #ARGS + 16]
	ldp x4, x5, [x19, #ARGS + 32]
	ldp x6, x7, [x19, #ARGS + 48]
	ldr x8, [x19, #ARGS + 64]
	ldr x17, [x19, #INDEX]
	real
.endm

/* Leaves the sections and returns to the caller. */
.macro leave
	stp x0, x1, [x19, #ARGS]
	mov x0, x19
	bl libc_leave
	mov x9, x0
	shadow
	ldp x0, x1, [x19, #ARGS]
	stp xzr, xzr, [x19, #ARGS]	/* x1 may be anything, and this is the program's memory */
	ldr x30, [x19, #RET]
	ldr x19, [x19, #SAVED]
	str x9, [x16]		/* last: from here on the frame is anybody's */
	.cfi_restore_state
	ret
9:	real
	br x16
.endm

	.hidden libc_stub
	.globl libc_stub
	.type libc_stub, %function
	.p2align 4
libc_stub:
	.cfi_startproc
	.cfi_personality 0x1b, libc_personality
	enter
	blr x16
	leave
	.cfi_endproc
	.size libc_stub, . - libc_stub

/*
 * The same for functions that look at their return address to know who calls (dlopen, dlsym): they shall find an
 * address in the caller's object. EXTRA is one where that object has "ldp x29, x30, [sp], #16; ret", and brings us
 * back.
 */
	.hidden libc_stub_caller
	.globl libc_stub_caller
	.type libc_stub_caller, %function
	.p2align 4
libc_stub_caller:
	.cfi_startproc
	.cfi_personality 0x1b, libc_personality
	enter
	ldr x9, [x19, #EXTRA]
	cbz x9, 1f
	adr x10, 2f
	stp x29, x10, [sp, #-16]!
	mov x30, x9
	br x16
1:	blr x16
2:	leave
	.cfi_endproc
	.size libc_stub_caller, . - libc_stub_caller
	.hidden libc_stubs_end
	.globl libc_stubs_end
libc_stubs_end:

/* The first call of a function: x17 is the index. All that can carry arguments is kept. */
	.hidden libc_early
	.globl libc_early
	.type libc_early, %function
libc_early:
	.cfi_startproc
	stp x29, x30, [sp, #-224]!
	.cfi_def_cfa_offset 224
	.cfi_offset 29, -224
	.cfi_offset 30, -216
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	stp x8, x17, [sp, #80]
	stp q0, q1, [sp, #96]
	stp q2, q3, [sp, #128]
	stp q4, q5, [sp, #160]
	stp q6, q7, [sp, #192]
	mov x0, x17
	bl libc_resolve
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldp x8, x17, [sp, #80]
	ldp q0, q1, [sp, #96]
	ldp q2, q3, [sp, #128]
	ldp q4, q5, [sp, #160]
	ldp q6, q7, [sp, #192]
	ldp x29, x30, [sp], #224
	.cfi_def_cfa_offset 0
	.cfi_restore 29
	.cfi_restore 30
	real
	br x16
	.cfi_endproc
	.size libc_early, . - libc_early
	.section .note.GNU-stack, "", %progbits
