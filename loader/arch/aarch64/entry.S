/*
 * aarch64: the only instructions of ours that enter the kernel, the way from a
 * system call site into dispatch() and back, and the loader's first instruction.
 *
 * Offsets into struct thread (checked by stub.c): regs at 0, then stack,
 * resume, held.
 */
#define T_X29	 232
#define T_SP	 248
#define T_PC	 256
#define T_FLAGS	 264
#define T_STACK	 272
#define T_RESUME 280
#define T_FRONT	 296
/* into struct hook_self, which begins with events and until */
#define SELF_CLAIMS 16
#define SELF_MINE   72

/*
 * Finds struct thread from the thread pointer: TLS on a stack of ours tells the
 * slot by its address (MAP_STACKS_BASE, 8 MiB each; MAP_RUNTIME_STACKS, 1 MiB
 * each); others are in a small table; whoever is in neither is the first thread. The
 * flags are the program's still: a branch behind an atomic instruction may look at
 * a comparison before it.
 */
.macro find_thread to, a, b
	mrs \to, tpidr_el0
	mov \a, #0x90 << 32
	sub \a, \to, \a
	lsr \a, \a, #23
	lsr \b, \a, #13
	cbz \b, 97f
	adrp \a, outside_threads
	add \a, \a, :lo12:outside_threads
	/* pairs of (thread pointer, thread), ended by a pair whose pointer is 0: the default */
98:	ldr \b, [\a], #16
	cbz \b, 99f
	sub \b, \b, \to
	cbnz \b, 98b
99:	ldr \to, [\a, #-8]
	b 96f
97:	mov \b, #0x6001 << 32
	movk \b, #0xc, lsl #16
	add \to, \b, \a, lsl #20
96:
.endm

/* x20 to x28, which calls preserve, into struct thread; x19 goes beside whatever else the caller saves. */
.macro save_preserved t
	stp x20, x21, [\t, #160]
	stp x22, x23, [\t, #176]
	stp x24, x25, [\t, #192]
	stp x26, x27, [\t, #208]
	str x28, [\t, #224]
.endm

/* The rest of the way from a call of the program's to a function of ours: frame, stack pointer, `from` to begin again
   at, flags. Then on our stack, with struct thread as the argument, and in x19. Uses \a. */
.macro enter_runtime t, from, flags, a
	stp x29, x30, [\t, #T_X29]
	mov \a, sp
	str \a, [\t, #T_SP]
	adr \a, \from
	stp \a, \flags, [\t, #T_PC]
	ldr \a, [\t, #T_STACK]
	mov sp, \a
	mov x19, \t
	mov x0, \t
	mov x29, #0
.endm

	.section .text.gate, "ax"
	.globl gate, gate_wait, gate_window, gate_svc, gate_held
	.globl gate_sigreturn, gate_vfork, gate_thread, gate_restorer

/* long gate(nr, a..f) */
gate:
	mov x8, x0
	mov x0, x1
	mov x1, x2
	mov x2, x3
	mov x3, x4
	mov x4, x5
	mov x5, x6
	svc #0
	ret

/*
 * long gate_wait(held, nr, args). A signal between gate_window and gate_svc
 * (the svc not yet executed, or about to be restarted by the kernel) makes the
 * handler continue at gate_held instead.
 */
gate_wait:
	mov x9, x0
	mov x8, x1
	mov x10, x2
	ldp x0, x1, [x10]
	ldp x2, x3, [x10, #16]
	ldp x4, x5, [x10, #32]
gate_window:
	ldr w11, [x9]
	cbnz w11, gate_held
gate_svc:
	svc #0
	ret
gate_held:
	mov x0, #-512
	ret

/* gate_sigreturn(frame): continue as the frame says */
gate_sigreturn:
	mov sp, x0
gate_restorer:
	mov x8, #139
	svc #0
	brk #1

/* long gate_vfork(flags, stack, ptid, tls, ctid, thread): the child calls vfork_child(thread) */
gate_vfork:
	mov x9, x5
	mov x8, #220
	svc #0
	cbz x0, 1f
	ret
1:	mov x0, x9
	mov x29, #0
	bl vfork_child
	brk #1

/* long gate_thread(args, stack, thread): clone; the new thread calls thread_child(thread) */
gate_thread:
	mov x9, x2
	mov x10, x0
	ldr x0, [x10]
	ldp x2, x3, [x10, #16]
	ldr x4, [x10, #32]
	mov x8, #220
	svc #0
	cbz x0, 1f
	ret
1:	mov x0, x9
	mov x29, #0
	bl thread_child
	brk #1

	.text
/*
 * Reached from a stub, which has pushed x29, x30, x0, x1 on the program's stack
 * (32 bytes below its sp: the same bytes at record and replay). x30 points into
 * the stub; the site's address lies 16 bytes further on.
 */
.macro stub_entry to
	find_thread x29, x0, x1
	stp x2, x3, [x29, #16]
	stp x4, x5, [x29, #32]
	stp x6, x7, [x29, #48]
	stp x8, x9, [x29, #64]
	stp x10, x11, [x29, #80]
	stp x12, x13, [x29, #96]
	stp x14, x15, [x29, #112]
	stp x16, x17, [x29, #128]
	stp x18, x19, [x29, #144]
	save_preserved x29
	ldp x0, x1, [sp, #16]
	stp x0, x1, [x29]
	ldp x0, x1, [sp]
	stp x0, x1, [x29, #T_X29]
	add x0, sp, #32
	str x0, [x29, #T_SP]
	ldr x0, [x30, #16]
	mrs x1, nzcv
	stp x0, x1, [x29, #T_PC]
	ldr x1, [x29, #T_STACK]
	str x30, [x29, #T_RESUME]
	mov sp, x1
	mov x0, x29
	mov x19, x29
	mov x29, #0
	bl \to
.endm
	.globl syscall_entry, atomic_entry
/* An atomic instruction may change any register. */
atomic_entry:
	stub_entry atomic_run
	mov x0, x19
	b resume_program
syscall_entry:
	stub_entry dispatch
	/* x20..x28 are as they were: dispatch() is an ordinary function */
	mov x29, x19
	ldr x19, [x29, #152]
	b 1f
/* resume_program(thread): registers from thread->regs, through the stub */
	.globl resume_program
resume_program:
	mov x29, x0
	ldr x19, [x29, #152]
	ldp x20, x21, [x29, #160]
	ldp x22, x23, [x29, #176]
	ldp x24, x25, [x29, #192]
	ldp x26, x27, [x29, #208]
	ldr x28, [x29, #224]
1:	ldr x0, [x29, #T_FLAGS]
	msr nzcv, x0
	ldr x0, [x29, #T_SP]
	sub sp, x0, #32
	ldp x2, x3, [x29, #16]
	ldp x4, x5, [x29, #32]
	ldp x6, x7, [x29, #48]
	ldp x8, x9, [x29, #64]
	ldp x10, x11, [x29, #80]
	ldp x12, x13, [x29, #96]
	ldp x14, x15, [x29, #112]
	ldp x16, x17, [x29, #128]
	ldr x18, [x29, #144]
	ldr x30, [x29, #T_RESUME]
	ldp x0, x1, [x29]
	/* x29 and x30: the stub takes them from the program's stack */
	ret

/*
 * long sync_call(function, a, b, c, d): from libheddle.so into the runtime, on a
 * stack of ours. An ordinary call, so only the registers that calls preserve
 * count; the arguments are kept for a call that is made again after a handler.
 * x1-x18 are cleared: libheddle.so may call a function of the program next, which
 * may write them to its stack; and a debugger that goes back knows a place by its
 * registers, also if this time the thread did not wait here.
 */
	.globl sync_call, sync_self
sync_call:
	find_thread x9, x10, x11
	stp x0, x1, [x9]
	stp x2, x3, [x9, #16]
	str x4, [x9, #32]
	str x19, [x9, #152]
	save_preserved x9
	enter_runtime x9, sync_call, xzr, x10
	bl sync_run
	ldp x29, x30, [x19, #T_X29]
	ldr x10, [x19, #T_SP]
	mov sp, x10
	ldr x19, [x19, #152]
	.irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18
	mov x\n, #0
	.endr
	ret

/*
 * The hooks (compiler/hooks.h): from the program into hook_run(), on a stack of
 * ours. x0: struct hook_self, in the header of the ring (MAP_STREAMS_BASE, 64 MiB a
 * slot), so it tells the slot. The caller expects all but x0-x8, x16-x18 back;
 * vector registers are not touched. x16, the number of the hook, is kept for a
 * call that is made again after a handler.
 */
.macro hook_entries number, name, more:vararg
	.globl hook_entry_\name
hook_entry_\name:
	mov x16, #\number
	b hook_entry
	.ifnb \more
	hook_entries (\number + 1), \more
	.endif
.endm
	hook_entries 0, load, store, load_wide, store_wide, rmw, rmw_wide, cas, cas_wide, set, copy, enter, leave, poll

/* x17: struct thread, of the struct hook_self in x0. Uses x8. */
.macro thread_of_self
	mov x17, #0x6010 << 32
	sub x17, x0, x17
	lsr x17, x17, #26
	mov x8, #0x6001 << 32
	movk x8, #0xc, lsl #16
	add x17, x8, x17, lsl #20
.endm

/*
 * Goes on only if the granule is the thread's own (runtime/order/region_words.c): its page's claim has HOOK_WORDS, its
 * word is self->mine; the bracket is open and `until` has not come; and the access lies within the granule, with 1, 2,
 * 4 or 8 bytes. Uses x5 and x6. A fault goes on at `else`, too.
 */
.macro own_granule else
	ldr x5, [x0, #SELF_CLAIMS]
	ubfx x6, x2, #9, #31
	ldrb w5, [x5, x6]
	tbz w5, #3, \else
	mov x5, #0x6400 << 32
	ubfx x6, x2, #3, #37
	add x5, x5, x6, lsl #4
	ldr x5, [x5]
	ldr x6, [x0, #SELF_MINE]
	cmp x5, x6
	b.ne \else
	ldp x5, x6, [x0]
	tbz x5, #0, \else
	cmp x5, x6
	b.hs \else
	and x5, x2, #7
	add x5, x5, x3
	cmp x5, #8
	b.hi \else
	sub x5, x3, #1
	tst x5, x3
	b.ne \else
.endm

/* One of four, by size. */
.macro by_size size, r, one, two, more
	tbnz \size, #3, 8f
	tbnz \size, #2, 4f
	tbnz \size, #1, 2f
	\one w\r, [x2]
	b 9f
2:	\two w\r, [x2]
	b 9f
4:	\more w\r, [x2]
	b 9f
8:	\more x\r, [x2]
9:
.endm

/*
 * The short way, of loads and stores: hook_run_short(thread, number, addr, size, value) on our stack, with only those
 * registers put away that a function does not preserve. If that does not do it, the other way, as if nothing had been.
 */
	.globl hook_short_load, hook_short_store, hook_short_end, short_load, short_store, hook_ahead
hook_short_load:
	own_granule short_load
	by_size x3, 5, ldrb, ldrh, ldr
	mov x0, x5
	mov x1, #1
	ret
hook_short_store:
	own_granule short_store
	by_size x3, 4, strb, strh, str
hook_short_end:
	mov x1, #1
	ret
hook_ahead:
	mov x16, #13
	b 1f
short_load:
	mov x16, #0
	b 1f
short_store:
	mov x16, #1
1:	thread_of_self
	stp x0, x1, [x17]
	stp x2, x3, [x17, #16]
	str x4, [x17, #32]
	stp x9, x10, [x17, #72]
	stp x11, x12, [x17, #88]
	stp x13, x14, [x17, #104]
	stp x15, x16, [x17, #120]
	mov x8, sp
	ldr x5, [x17, #T_STACK]
	mov sp, x5
	stp x8, x30, [sp, #-32]!
	str x17, [sp, #16]
	mov x0, x17
	mov x1, x16
	bl hook_run_short
	ldr x17, [sp, #16]
	ldp x8, x30, [sp]
	mov sp, x8
	ldp x9, x10, [x17, #72]
	ldp x11, x12, [x17, #88]
	ldp x13, x14, [x17, #104]
	ldp x15, x16, [x17, #120]
	cbz x1, 1f
	ret
1:	ldp x0, x1, [x17]
	ldp x2, x3, [x17, #16]
	ldr x4, [x17, #32]
	mov x5, #0
hook_entry:
	thread_of_self
	stp x0, x1, [x17]
	stp x2, x3, [x17, #16]
	stp x4, x5, [x17, #32]
	stp x8, x9, [x17, #64]
	stp x10, x11, [x17, #80]
	stp x12, x13, [x17, #96]
	stp x14, x15, [x17, #112]
	str x16, [x17, #128]
	stp x18, x19, [x17, #144]
	save_preserved x17
	enter_runtime x17, hook_entry, xzr, x8
	bl hook_run
	ldr x8, [x19, #T_SP]
	mov sp, x8
	ldp x29, x30, [x19, #T_X29]
	ldr x9, [x19, #72]
	ldp x10, x11, [x19, #80]
	ldp x12, x13, [x19, #96]
	ldp x14, x15, [x19, #112]
	ldr x19, [x19, #152]
	ret

/* struct front *sync_self(void) */
sync_self:
	find_thread x0, x1, x2
	ldr x0, [x0, #T_FRONT]
	ret

/* enter_handler(pc, sp, a0, a1, a2, lr, fp): the program's signal handler begins */
	.globl enter_handler
enter_handler:
	mov x16, x0
	mov sp, x1
	mov x0, x2
	mov x1, x3
	mov x2, x4
	mov x30, x5
	mov x29, x6
	b clear_and_jump

/* enter_program(pc, sp, x0): nothing of ours is left in the registers */
	.globl enter_program
enter_program:
	mov x16, x0
	mov sp, x1
	mov x0, x2
	mov x1, #0
	mov x2, #0
	mov x29, #0
	mov x30, #0
clear_and_jump:
	mov x3, #0
	mov x4, #0
	mov x5, #0
	mov x6, #0
	mov x7, #0
	mov x8, #0
	mov x9, #0
	mov x10, #0
	mov x11, #0
	mov x12, #0
	mov x13, #0
	mov x14, #0
	mov x15, #0
	mov x17, #0
	mov x18, #0
	mov x19, #0
	mov x20, #0
	mov x21, #0
	mov x22, #0
	mov x23, #0
	mov x24, #0
	mov x25, #0
	mov x26, #0
	mov x27, #0
	mov x28, #0
	msr nzcv, xzr
	br x16

/* run_on_stack(stack, function, argument) */
	.globl run_on_stack
run_on_stack:
	mov sp, x0
	mov x0, x2
	mov x29, #0
	mov x30, #0
	br x1

/*
 * Where ld.so jumps instead of the program's entry: tidy what only ld.so was
 * to see. x0 (the function to run at exit) and sp are the program's.
 */
	.globl program_entry
program_entry:
	mov x20, x0
	find_thread x19, x1, x2
	mov x21, sp
	ldr x1, [x19, #T_STACK]
	mov sp, x1
	mov x0, x21
	bl program_started	/* returns the program's own entry */
	mov x1, x21
	mov x2, x20
	b enter_program

/*
 * Large pieces go through vector registers, which are the program's: kept on the stack meanwhile. The rest is
 * user_copy's, below. Faults in here continue at user_vectors_fault.
 */
	.macro restore_vectors
	ldp q2, q3, [sp, #32]
	ldp q4, q5, [sp, #64]
	ldp q6, q7, [sp, #96]
	ldp q0, q1, [sp], #128
	.endm
	.globl user_vectors_begin, user_vectors_end, user_vectors_fault
user_copy_vectors:
	stp q0, q1, [sp, #-128]!
	stp q2, q3, [sp, #32]
	stp q4, q5, [sp, #64]
	stp q6, q7, [sp, #96]
user_vectors_begin:
1:	ldp q0, q1, [x1]
	ldp q2, q3, [x1, #32]
	ldp q4, q5, [x1, #64]
	ldp q6, q7, [x1, #96]
	add x1, x1, #128
	stp q0, q1, [x0]
	stp q2, q3, [x0, #32]
	stp q4, q5, [x0, #64]
	stp q6, q7, [x0, #96]
	add x0, x0, #128
	sub x2, x2, #128
	cmp x2, #128
	b.hs 1b
user_vectors_end:
	restore_vectors
	b user_copy
user_vectors_fault:
	restore_vectors
	b user_fault

/* long user_copy(to, from, n); faults between user_begin and user_end continue at user_fault */
	.globl user_copy, user_probe, user_begin, user_end, user_fault
user_begin:
user_copy:
	cmp x2, #512
	b.hs user_copy_vectors
	subs x2, x2, #64
	b.lo 2f
1:	ldp x3, x4, [x1]
	ldp x5, x6, [x1, #16]
	ldp x7, x8, [x1, #32]
	ldp x9, x10, [x1, #48]
	add x1, x1, #64
	stp x3, x4, [x0]
	stp x5, x6, [x0, #16]
	stp x7, x8, [x0, #32]
	stp x9, x10, [x0, #48]
	add x0, x0, #64
	subs x2, x2, #64
	b.hs 1b
2:	adds x2, x2, #56	/* 8 less than what is left */
	b.mi 4f
3:	ldr x3, [x1], #8
	str x3, [x0], #8
	subs x2, x2, #8
	b.pl 3b
4:	adds x2, x2, #8
	b.eq 6f
5:	ldrb w3, [x1], #1
	strb w3, [x0], #1
	subs x2, x2, #1
	b.ne 5b
6:	mov x0, #0
	ret

/* long user_probe(p, n) */
user_probe:
	cbz x1, 8f
	add x1, x0, x1
	sub x1, x1, #1
	and x2, x1, #~4095
7:	ldrb w3, [x0]
	and x0, x0, #~4095
	add x0, x0, #4096
	cmp x0, x2
	b.ls 7b
8:	mov x0, #0
	ret

/* long user_load(addr, size: 1, 2, 4 or 8, out) */
	.globl user_load, user_store, user_cas, user_cas16
user_load:
	tbnz x1, #3, 8f
	tbnz x1, #2, 4f
	tbnz x1, #1, 2f
	ldrb w3, [x0]
	b 9f
2:	ldrh w3, [x0]
	b 9f
4:	ldr w3, [x0]
	b 9f
8:	ldr x3, [x0]
9:	str x3, [x2]
	mov x0, #0
	ret

/* long user_store(addr, size: 1, 2, 4 or 8, value) */
user_store:
	tbnz x1, #3, 8f
	tbnz x1, #2, 4f
	tbnz x1, #1, 2f
	strb w2, [x0]
	b 9f
2:	strh w2, [x0]
	b 9f
4:	str w2, [x0]
	b 9f
8:	str x2, [x0]
9:	mov x0, #0
	ret

/* long user_cas(addr, size, expected, desired): 1 if it took place, else 0 and *expected is what was there */
.macro cas load, store, r
10:	\load \r\()5, [x0]
	cmp \r\()5, \r\()4
	b.ne 11f
	\store w6, \r\()3, [x0]
	cbnz w6, 10b
	mov x0, #1
	ret
11:	\store w6, \r\()5, [x0] /* the instruction of the machine faults where it cannot write, also if it would not */
	cbnz w6, 10b
	str x5, [x2]
	mov x0, #0
	ret
.endm
user_cas:
	ldr x4, [x2]
	tbnz x1, #3, 8f
	tbnz x1, #2, 4f
	tbnz x1, #1, 2f
	and w4, w4, #0xff
	cas ldaxrb, stlxrb, w
2:	and w4, w4, #0xffff
	cas ldaxrh, stlxrh, w
4:	cas ldaxr, stlxr, w
8:	cas ldaxr, stlxr, x

/* long user_cas16(addr, expected, desired) */
user_cas16:
	ldp x3, x4, [x1]
	ldp x5, x6, [x2]
1:	ldaxp x7, x8, [x0]
	cmp x7, x3
	ccmp x8, x4, #0, eq
	b.ne 2f
	stlxp w9, x5, x6, [x0]
	cbnz w9, 1b
	mov x0, #1
	ret
	/* what was read is one value only if it can be stored back */
2:	stlxp w9, x7, x8, [x0]
	cbnz w9, 1b
	stp x7, x8, [x1]
	mov x0, #0
	ret
user_end:
user_fault:
	mov x0, #-14
	ret

/* save_fp(struct fpsimd_context body: fpsr, fpcr, v0..v31) */
	.globl save_fp
save_fp:
	mrs x1, fpsr
	mrs x2, fpcr
	stp w1, w2, [x0]
	add x0, x0, #8
	stp q0, q1, [x0, #0]
	stp q2, q3, [x0, #32]
	stp q4, q5, [x0, #64]
	stp q6, q7, [x0, #96]
	stp q8, q9, [x0, #128]
	stp q10, q11, [x0, #160]
	stp q12, q13, [x0, #192]
	stp q14, q15, [x0, #224]
	stp q16, q17, [x0, #256]
	stp q18, q19, [x0, #288]
	stp q20, q21, [x0, #320]
	stp q22, q23, [x0, #352]
	stp q24, q25, [x0, #384]
	stp q26, q27, [x0, #416]
	stp q28, q29, [x0, #448]
	stp q30, q31, [x0, #480]
	ret

/* vector_get(n, uint64_t to[2]), vector_set(n, const uint64_t from[2]): the program's vector register n, which we leave
   alone */
.macro vector_table to, instruction
	.globl \to
\to:
	adr x2, 1f
	add x2, x2, x0, lsl #3
	br x2
1:
	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	\instruction q\n, [x1]
	ret
	.endr
.endm
	vector_table vector_get, str
	vector_table vector_set, ldr

	.globl _start
_start:
	mov x29, #0
	mov x30, #0
	mov x0, sp
	b loader_start

	.section .note.GNU-stack, "", %progbits
