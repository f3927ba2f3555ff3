/*
 * x86-64: the only instructions of ours that enter the kernel, the way from a
 * system call site into dispatch() and back, and the loader's first instruction.
 *
 * The base of gs is the address of the calling thread's struct thread, whose
 * offsets are checked by stub.c: regs at 0, then stack, resume, front, running.
 */
#define T_RAX	 0
#define T_RCX	 8
#define T_RDX	 16
#define T_RBX	 24
#define T_RBP	 40
#define T_RSI	 48
#define T_RDI	 56
#define T_R8	 64
#define T_R9	 72
#define T_R10	 80
#define T_R11	 88
#define T_R12	 96
#define T_R13	 104
#define T_R14	 112
#define T_R15	 120
#define T_SP	 128
#define T_PC	 136
#define T_FLAGS	 144
#define T_STACK	 152
#define T_RESUME 160
#define T_FRONT	 176
#define T_CODE	 184
#define T_BACK	 192
#define T_OURS	 200
#define T_FAULT	 208
/* into struct hook_self, which begins with events and until */
#define SELF_CLAIMS 16
#define SELF_MINE   72

/* Flags. Those that sahf does not restore, and those that would disturb our own code. */
#define TRAP_RESUME 0x10100
#define NOT_SAHF    0x244400 /* direction, nested task, alignment check, id */
#define DISTURBING  0x44400

/* The struct thread lies in the same megabyte as the stack of ours that rsp is on. Changes flags. */
.macro find_thread to
	mov %rsp, \to
	and $-0x100000, \to
	add $0xc0000, \to
.endm

/* The program's flags, in rax and in struct thread, and ours instead. On a stack of ours. */
.macro save_flags
	pushfq
	pop %rax
	and $~TRAP_RESUME, %eax /* a debugger that steps through here leaves the trap flag behind */
	mov %rax, %gs:T_FLAGS
	test $DISTURBING, %eax
	jz .Lnot_disturbing\@
	push $0x202
	popfq
.Lnot_disturbing\@:
.endm

/* The flags of the struct thread that rdi points to. Changes rax and rcx. On a stack of ours. */
.macro load_flags
	mov T_FLAGS(%rdi), %eax
	test $NOT_SAHF, %eax
	jnz .Lby_stack\@
	/* popfq would take as long as the rest: overflow by an addition, the others by sahf */
	mov %eax, %ecx
	shr $11, %ecx
	and $1, %ecx
	mov %al, %ah
	mov %cl, %al
	add $0x7f, %al
	sahf
	jmp .Lloaded\@
.Lby_stack\@:
	push %rax
	popfq
.Lloaded\@:
.endm

/* All general registers but the stack pointer: 1: from struct thread, 0: there. Flags stay. */
.macro move_registers to
	.irp name, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	move_register \to, \name
	.endr
.endm
.macro move_register to, name
	.if \to
	mov %gs:T_OF_\name, %\name
	.else
	mov %\name, %gs:T_OF_\name
	.endif
.endm
.set t_next, 0
.irp name, rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
.set T_OF_\name, t_next
.set t_next, t_next + 8
.endr

/*
 * From a stub into a function of ours that gets the thread: rcx points to where the stub has our entry's address,
 * then the site's; behind these is the way back. Registers but rcx and r11 are put away; flags are in rax. Nothing is
 * written to the program's stack.
 */
.macro stub_entry
	mov %rax, %gs:T_RAX
	mov %rdx, %gs:T_RDX
	mov %rbx, %gs:T_RBX
	mov %rbp, %gs:T_RBP
	mov %rsi, %gs:T_RSI
	mov %rdi, %gs:T_RDI
	mov %r8, %gs:T_R8
	mov %r9, %gs:T_R9
	mov %r10, %gs:T_R10
	mov %r12, %gs:T_R12
	mov %r13, %gs:T_R13
	mov %r14, %gs:T_R14
	mov %r15, %gs:T_R15
	mov %rsp, %gs:T_SP
	mov 8(%rcx), %rax
	mov %rax, %gs:T_PC
	lea 16(%rcx), %rcx
	mov %rcx, %gs:T_RESUME
	mov %gs:T_STACK, %rsp
	save_flags
	find_thread %rbx
	mov %rbx, %rdi
	xor %ebp, %ebp
.endm

	.section .text.gate, "ax"
	.globl gate, gate_wait, gate_window, gate_svc, gate_held
	.globl gate_sigreturn, gate_vfork, gate_thread, gate_restorer

/* long gate(nr, a..f) */
gate:
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsi
	mov %rcx, %rdx
	mov %r8, %r10
	mov %r9, %r8
	mov 8(%rsp), %r9
	syscall
	ret

/*
 * long gate_wait(held, nr, args). A signal between gate_window and gate_svc
 * (the call not yet made, or about to be restarted by the kernel, which sets
 * the pc back to gate_svc) makes the handler continue at gate_held instead.
 */
gate_wait:
	mov %rsi, %rax
	mov %rdi, %rcx
	mov %rdx, %r11
	mov (%r11), %rdi
	mov 8(%r11), %rsi
	mov 16(%r11), %rdx
	mov 24(%r11), %r10
	mov 32(%r11), %r8
	mov 40(%r11), %r9
gate_window:
	cmpl $0, (%rcx)
	jne gate_held
gate_svc:
	syscall
	ret
gate_held:
	mov $-512, %rax
	ret

/* gate_sigreturn(frame): continue as the frame says. The handler's `ret` has taken its first word. */
gate_sigreturn:
	lea 8(%rdi), %rsp
gate_restorer:
	mov $15, %eax
	syscall
	ud2

/* long gate_vfork(flags, stack, the third to fifth argument of clone, thread): the child calls vfork_child(thread) */
gate_vfork:
	mov %rcx, %r10
	mov $56, %eax
	syscall
	test %rax, %rax
	jz 1f
	ret
1:	mov %r9, %rdi
	xor %ebp, %ebp
	call vfork_child
	ud2

/* long gate_thread(args, stack, thread): clone; the new thread calls thread_child(thread) */
gate_thread:
	mov %rdx, %r9
	mov 16(%rdi), %rdx
	mov 24(%rdi), %r10
	mov 32(%rdi), %r8
	mov (%rdi), %rdi
	mov $56, %eax
	syscall
	test %rax, %rax
	jz 1f
	ret
1:	mov %r9, %rdi
	xor %ebp, %ebp
	call thread_child
	ud2

	.text
/*
 * Reached from a stub. A system call changes rcx (to the address after it) and
 * r11 (to the flags) anyway, so these two are free: rcx points to the address of
 * syscall_entry in the stub, then follow the site's address and the way back.
 * Nothing is written to the program's stack. The program sees in rcx and r11
 * what the instruction itself would have left there, also if a handler runs
 * before the call.
 */
	.globl syscall_entry, atomic_entry
syscall_entry:
	stub_entry
	mov %rax, %gs:T_R11
	mov %gs:T_PC, %rax
	lea 2(%rax), %rax
	mov %rax, %gs:T_RCX
	call dispatch
	/* r12..r15 are as they were: dispatch() is an ordinary function */
	mov %rbx, %rdi
	jmp 2f

/* As above, but of an instruction that may change any register, or none: rcx is in its place already. */
atomic_entry:
	mov %r11, %gs:T_R11
	stub_entry
	call atomic_run
	mov %rbx, %rdi

/* resume_program(thread): registers from thread->regs, through the stub */
	.globl resume_program
resume_program:
	mov T_R12(%rdi), %r12
	mov T_R13(%rdi), %r13
	mov T_R14(%rdi), %r14
	mov T_R15(%rdi), %r15
2:	load_flags
	mov T_RBX(%rdi), %rbx
	mov T_RCX(%rdi), %rcx
	mov T_RDX(%rdi), %rdx
	mov T_RBP(%rdi), %rbp
	mov T_RSI(%rdi), %rsi
	mov T_R8(%rdi), %r8
	mov T_R9(%rdi), %r9
	mov T_R10(%rdi), %r10
	mov T_R11(%rdi), %r11
	mov T_SP(%rdi), %rsp
	mov T_RAX(%rdi), %rax
	mov T_RDI(%rdi), %rdi
	jmp *%gs:T_RESUME

/*
 * long instruction_run(code, regs): the instruction in a stub, which then jumps back, with the program's registers and
 * on its stack. All of regs but pc are set. If it faults, on_signal() makes it go on at running.fault. Nothing of ours
 * is found there by a signal in between: it sees a pc in a stub, and only puts the signal aside.
 */
	.globl instruction_run
instruction_run:
	push %rbx
	push %rbp
	.irp n, 12, 13, 14, 15
	push %r\n
	.endr
	mov %rdi, %gs:T_CODE
	lea 1f(%rip), %rax
	mov %rax, %gs:T_BACK
	mov %rsi, %rdi
	mov %rsp, %gs:T_OURS
	lea 3f(%rip), %rax
	mov %rax, %gs:T_FAULT
	load_flags
	move_registers to=1
	mov %gs:T_SP, %rsp
	jmp *%gs:T_CODE
1:	move_registers to=0
	mov %rsp, %gs:T_SP
	mov %gs:T_OURS, %rsp
	save_flags
	xor %eax, %eax
2:	mov %gs:T_RESUME, %rcx
	mov %rcx, %gs:T_BACK
	movq $0, %gs:T_FAULT
	.irp n, 15, 14, 13, 12
	pop %r\n
	.endr
	pop %rbp
	pop %rbx
	ret
3:	mov %gs:T_OURS, %rsp
	push $0x202
	popfq
	mov $-14, %rax
	jmp 2b

/* From a call of the program's to a function of ours: its arguments and what calls preserve into struct thread, `from`
   to begin again at. Then on our stack, with struct thread as the argument, and in rbx; r12 is the program's stack
   pointer, since the saved one may be changed for a handler's frame. */
.macro enter_runtime from
	mov %rdi, %gs:T_RDI
	mov %rsi, %gs:T_RSI
	mov %rdx, %gs:T_RDX
	mov %rcx, %gs:T_RCX
	mov %r8, %gs:T_R8
	mov %rbx, %gs:T_RBX
	mov %rbp, %gs:T_RBP
	mov %r12, %gs:T_R12
	mov %r13, %gs:T_R13
	mov %r14, %gs:T_R14
	mov %r15, %gs:T_R15
	mov %rsp, %gs:T_SP
	lea \from(%rip), %rax
	mov %rax, %gs:T_PC
	movq $0x202, %gs:T_FLAGS
	mov %rsp, %r12
	mov %gs:T_STACK, %rsp
	find_thread %rbx
	mov %rbx, %rdi
	xor %ebp, %ebp
.endm

/*
 * long sync_call(function, a, b, c, d): from libheddle.so into the runtime, on a
 * stack of ours. An ordinary call, so only the registers that calls preserve
 * count; the arguments are kept for a call that is made again after a handler.
 * All others are cleared: libheddle.so may call a function of the program next,
 * which may write them to its stack; and a debugger that goes back knows a place by
 * its registers, also if this time the thread did not wait here.
 */
	.globl sync_call, sync_self
sync_call:
	enter_runtime sync_call
	call sync_run
	mov %r12, %rsp
	mov T_RBP(%rbx), %rbp
	mov T_R12(%rbx), %r12
	mov T_RBX(%rbx), %rbx
	.irp r, edi, esi, edx, ecx, r8d, r9d, r10d, r11d
	xor %\r, %\r
	.endr
	ret

/*
 * The hooks (compiler/hooks.h): from the program into hook_run(), on a stack of
 * ours. The caller expects all but rax, rdx and r11 back; vector registers are
 * not touched. r11, the number of the hook, is kept for a call that is made again
 * after a handler.
 */
.macro hook_entries number, name, more:vararg
	.globl hook_entry_\name
hook_entry_\name:
	mov $\number, %r11d
	jmp hook_entry
	.ifnb \more
	hook_entries (\number + 1), \more
	.endif
.endm
	hook_entries 0, load, store, load_wide, store_wide, rmw, rmw_wide, cas, cas_wide, set, copy, enter, leave, poll

/*
 * Goes on only if the granule is the thread's own (runtime/order/region_words.c): its page's claim has HOOK_WORDS, its
 * word is self->mine; the bracket is open and `until` has not come; and the access lies within the granule, with 1, 2,
 * 4 or 8 bytes. Uses rax and r11. A fault goes on at `else`, too.
 */
.macro own_granule else
	mov %rdx, %rax
	shl $24, %rax
	shr $33, %rax
	mov SELF_CLAIMS(%rdi), %r11
	testb $8, (%r11, %rax)
	jz \else
	mov %rdx, %rax
	shl $24, %rax
	shr $24, %rax
	and $-8, %rax
	movabs $0x640000000000, %r11
	mov (%r11, %rax, 2), %rax
	cmp SELF_MINE(%rdi), %rax
	jne \else
	mov (%rdi), %rax
	test $1, %al
	jz \else
	cmp 8(%rdi), %rax
	jae \else
	mov %edx, %eax
	and $7, %eax
	add %ecx, %eax
	cmp $8, %eax
	ja \else
	lea -1(%rcx), %eax
	test %ecx, %eax
	jnz \else
.endm

/*
 * The short way, of loads and stores: hook_run_short(thread, number, addr, size, value) on our stack, with only those
 * registers put away that a function does not preserve. If that does not do it, the other way, as if nothing had been.
 */
	.globl hook_short_load, hook_short_store, hook_short_end, short_load, short_store, hook_ahead
hook_short_load:
	own_granule short_load
	cmp $4, %ecx
	ja 8f
	je 4f
	cmp $1, %ecx
	je 1f
	movzwl (%rdx), %eax
	jmp 9f
1:	movzbl (%rdx), %eax
	jmp 9f
4:	mov (%rdx), %eax
	jmp 9f
8:	mov (%rdx), %rax
9:	mov $1, %edx
	ret
hook_short_store:
	own_granule short_store
	cmp $4, %ecx
	ja 8f
	je 4f
	cmp $1, %ecx
	je 1f
	mov %r8w, (%rdx)
	jmp 9f
1:	mov %r8b, (%rdx)
	jmp 9f
4:	mov %r8d, (%rdx)
	jmp 9f
8:	mov %r8, (%rdx)
hook_short_end:
9:	mov $1, %edx
	ret
hook_ahead:
	mov $13, %r11d
	jmp 1f
short_load:
	xor %r11d, %r11d
	jmp 1f
short_store:
	mov $1, %r11d
1:	mov %rdi, %gs:T_RDI
	mov %rsi, %gs:T_RSI
	mov %rdx, %gs:T_RDX
	mov %rcx, %gs:T_RCX
	mov %r8, %gs:T_R8
	mov %r9, %gs:T_R9
	mov %r10, %gs:T_R10
	mov %r11, %gs:T_R11
	mov %rsp, %rax
	mov %gs:T_STACK, %rsp
	push %rax
	push %rax
	find_thread %rdi
	mov %r11, %rsi
	call hook_run_short
	pop %rsp
	mov %gs:T_RDI, %rdi
	mov %gs:T_RSI, %rsi
	mov %gs:T_RCX, %rcx
	mov %gs:T_R8, %r8
	mov %gs:T_R9, %r9
	mov %gs:T_R10, %r10
	test %rdx, %rdx
	jz 1f
	ret
1:	mov %gs:T_RDX, %rdx
	mov %gs:T_R11, %r11
hook_entry:
	mov %r9, %gs:T_R9
	mov %r10, %gs:T_R10
	mov %r11, %gs:T_R11
	enter_runtime hook_entry
	call hook_run
	mov %r12, %rsp
	mov T_RDI(%rbx), %rdi
	mov T_RSI(%rbx), %rsi
	mov T_RCX(%rbx), %rcx
	mov T_R8(%rbx), %r8
	mov T_R9(%rbx), %r9
	mov T_R10(%rbx), %r10
	mov T_RBP(%rbx), %rbp
	mov T_R12(%rbx), %r12
	mov T_RBX(%rbx), %rbx
	ret

/* struct front *sync_self(void) */
sync_self:
	mov %gs:T_FRONT, %rax
	ret

/* enter_handler(pc, sp, a0, a1, a2, lr, fp): the program's signal handler begins, with vector
   registers and flags as at the start of a program. The frame holds where it returns to. */
	.globl enter_handler
enter_handler:
	mov 8(%rsp), %rbp
	mov %rdi, %gs:T_RESUME
	mov %rdx, %rdi
	mov %r8, %r10
	mov fp_reset(%rip), %rax
	mov %rax, %rdx
	shr $32, %rdx
	test %rax, %rax
	jz 1f
	xrstor64 fp_initial(%rip)
	jmp 2f
1:	fxrstor64 fp_initial(%rip)
2:	push $0x202
	popfq
	mov %rsi, %rsp
	mov %rcx, %rsi
	mov %r10, %rdx
	jmp clear_and_jump

/* enter_program(pc, sp, rdx): nothing of ours is left in the registers */
	.globl enter_program
enter_program:
	mov %rdi, %gs:T_RESUME
	push $0x202
	popfq
	mov %rsi, %rsp
	mov $0, %edi
	mov $0, %esi
	mov $0, %ebp
/* without a change of the flags */
clear_and_jump:
	mov $0, %eax
	mov $0, %ebx
	mov $0, %ecx
	mov $0, %r8d
	mov $0, %r9d
	mov $0, %r10d
	mov $0, %r11d
	mov $0, %r12d
	mov $0, %r13d
	mov $0, %r14d
	mov $0, %r15d
	jmp *%gs:T_RESUME

/* run_on_stack(stack, function, argument) */
	.globl run_on_stack
run_on_stack:
	mov %rdi, %rsp
	mov %rdx, %rdi
	xor %ebp, %ebp
	call *%rsi
	ud2

/*
 * Where ld.so jumps instead of the program's entry: tidy what only ld.so was
 * to see. rdx (the function to run at exit) and rsp are the program's.
 */
	.globl program_entry
program_entry:
	mov %rdx, %r12
	mov %rsp, %r13
	mov %gs:T_STACK, %rsp
	mov %r13, %rdi
	xor %ebp, %ebp
	call program_started	/* returns the program's own entry */
	mov %rax, %rdi
	mov %r13, %rsi
	mov %r12, %rdx
	jmp enter_program

/* long user_copy(to, from, n); faults between user_begin and user_end continue at user_fault */
	.globl user_copy, user_probe, user_begin, user_end, user_fault
	.globl user_vectors_begin, user_vectors_end, user_vectors_fault
user_vectors_begin:
user_vectors_end:
user_vectors_fault:
user_begin:
user_copy:
	cmp $1024, %rdx
	jae 5f
	sub $32, %rdx
	jb 2f
1:	mov (%rsi), %rax
	mov 8(%rsi), %rcx
	mov 16(%rsi), %r8
	mov 24(%rsi), %r9
	add $32, %rsi
	mov %rax, (%rdi)
	mov %rcx, 8(%rdi)
	mov %r8, 16(%rdi)
	mov %r9, 24(%rdi)
	add $32, %rdi
	sub $32, %rdx
	jae 1b
2:	add $32, %rdx
	jz 4f
3:	movzbl (%rsi), %eax
	inc %rsi
	mov %al, (%rdi)
	inc %rdi
	dec %rdx
	jnz 3b
4:	xor %eax, %eax
	ret
5:	mov %rdx, %rcx
	rep movsb
	xor %eax, %eax
	ret

/* long user_probe(p, n) */
user_probe:
	test %rsi, %rsi
	jz 7f
	lea -1(%rdi, %rsi), %rsi
	and $-4096, %rsi
6:	movzbl (%rdi), %eax
	and $-4096, %rdi
	add $4096, %rdi
	cmp %rsi, %rdi
	jbe 6b
7:	xor %eax, %eax
	ret
/* long user_load(addr, size: 1, 2, 4 or 8, out) */
	.globl user_load, user_store, user_cas, user_cas16
user_load:
	xor %eax, %eax
	cmp $4, %esi
	ja 8f
	je 4f
	cmp $1, %esi
	je 1f
	movzwl (%rdi), %eax
	jmp 9f
1:	movzbl (%rdi), %eax
	jmp 9f
4:	mov (%rdi), %eax
	jmp 9f
8:	mov (%rdi), %rax
9:	mov %rax, (%rdx)
	xor %eax, %eax
	ret

/* long user_store(addr, size: 1, 2, 4 or 8, value) */
user_store:
	xor %eax, %eax
	cmp $4, %esi
	ja 8f
	je 4f
	cmp $1, %esi
	je 1f
	mov %dx, (%rdi)
	ret
1:	mov %dl, (%rdi)
	ret
4:	mov %edx, (%rdi)
	ret
8:	mov %rdx, (%rdi)
	ret

/* long user_cas(addr, size, expected, desired): 1 if it took place, else 0 and *expected is what was there */
user_cas:
	mov (%rdx), %rax
	cmp $4, %esi
	ja 8f
	je 4f
	cmp $1, %esi
	je 1f
	movzwl %ax, %eax
	lock cmpxchg %cx, (%rdi)
	jmp 9f
1:	movzbl %al, %eax
	lock cmpxchg %cl, (%rdi)
	jmp 9f
4:	mov %eax, %eax
	lock cmpxchg %ecx, (%rdi)
	jmp 9f
8:	lock cmpxchg %rcx, (%rdi)
9:	jne 2f
	mov $1, %eax
	ret
2:	mov %rax, (%rdx)
	xor %eax, %eax
	ret

/* long user_cas16(addr, expected, desired) */
user_cas16:
	/* faults here, if it will, for want of memory or of alignment: from then on rbx is not as it was */
	lock addq $0, (%rdi)
	test $15, %dil
	jz 1f
	movaps (%rdi), %xmm0
1:	mov %rbx, %r9
	mov %rdx, %r8
	mov (%rsi), %rax
	mov 8(%rsi), %rdx
	mov (%r8), %rbx
	mov 8(%r8), %rcx
	lock cmpxchg16b (%rdi)
	mov %r9, %rbx
	jne 2f
	mov $1, %eax
	ret
2:	mov %rax, (%rsi)
	mov %rdx, 8(%rsi)
	xor %eax, %eax
	ret
user_end:
user_fault:
	mov $-14, %rax
	ret

/* save_fp(area, features): features 0 means a processor without xsave */
	.globl save_fp
save_fp:
	mov %rsi, %rax
	mov %rsi, %rdx
	shr $32, %rdx
	test %rax, %rax
	jz 1f
	xsave64 (%rdi)
	ret
1:	fxsave64 (%rdi)
	ret

	.globl _start
_start:
	xor %ebp, %ebp
	mov %rsp, %rdi
	and $-16, %rsp
	call loader_start
	ud2

	.section .note.GNU-stack, "", @progbits
