/*
 * x86-64: signal contexts and frames.
 *
 * A frame holds the general registers and, above them, the state that the
 * processor's xsave writes, in the kernel's layout: its own rt_sigreturn takes
 * both back. Bytes that the processor may leave as it likes (parts in their
 * initial state, gaps, the address of the last x87 instruction) are made the
 * same each time, since programs can see them.
 */
#include "loader/arch/arch.h"
#include "loader/patch.h"
#include "runtime/runtime.h"
#include <asm/prctl.h>
#include <asm/sigcontext.h>
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <asm/ucontext.h>
#include <linux/prctl.h>

struct frame {
	uint64_t return_to;
	struct ucontext uc;
	uint8_t info[128];
};
_Static_assert(sizeof(struct frame) == 440 && offsetof(struct frame, info) == 312, "the kernel's");

/* The layout of xsave; the first 512 bytes are also that of fxsave. */
enum {
	FP_STATUS = 2, /* 16 bits; bit 7: an exception is pending */
	FP_LAST = 6,   /* last operation, instruction and data pointer, up to FP_MXCSR */
	FP_MXCSR = 24, /* and its mask */
	FP_STACK = 32, /* eight registers of ten bytes, sixteen bytes apart */
	FP_XMM = 160,
	FP_XMM_END = 416,
	FP_SOFTWARE = 464, /* struct _fpx_sw_bytes */
	FP_HEADER = 512,
	FP_PARTS = 576, /* the parts that cpuid describes */
	FP_ROOM = 4096,

	PART_X87 = 1 << 0,
	PART_SSE = 1 << 1,
	PART_PROTECTION_KEYS = 1 << 9,
	PART_TILES = 1 << 18, /* only for who asks the kernel, which special_arch_prctl() refuses */

	MXCSR_INITIAL = 0x1f80,
	X87_INITIAL = 0x37f,

	/* uc_flags */
	FRAME_HAS_XSAVE = 1,
	FRAME_HAS_SS = 2,
	FRAME_RESTORE_SS = 4,

	FLAG_TRAP = 0x100,
	FLAG_DIRECTION = 0x400,
	FLAG_RESUME = 0x10000,
	TRAP_PAGE_FAULT = 14,

	/* cpuid: of leaf 1 in ecx, of leaf 7 in ebx */
	CPUID_XSAVE = 1 << 27,
	CPUID_RDRAND = 1 << 30,
	CPUID_CORE = 0xff << 24, /* of leaf 1 in ebx */
	CPUID_FSGSBASE = 1 << 0,
	CPUID_RDSEED = 1 << 18,

	USER_CODE = 0x33,
	USER_STACK = 0x2b,
};

/* For entry.S: what a handler begins with. The mask is 0 on a processor without xsave. */
extern uint64_t fp_reset;
extern uint8_t fp_initial[];
uint64_t fp_reset;
_Alignas(64) uint8_t fp_initial[FP_PARTS] = {
	[0] = X87_INITIAL & 0xff,
	[1] = X87_INITIAL >> 8,
	[FP_MXCSR] = MXCSR_INITIAL & 0xff,
	[FP_MXCSR + 1] = MXCSR_INITIAL >> 8,
};

void save_fp(void *area, uint64_t features);

/* ---- what the processor saves --------------------------------------------------------- */

static struct fp {
	uint64_t features; /* 0: fxsave only */
	uint32_t size;
	struct {
		uint32_t offset, size;
	} part[64];
} fp;

static void cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
	__asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(sub));
}

/* For the calling thread and those that it will create. Not every processor can; then the call fails, and cpuid
   works. */
static void let_cpuid(bool work)
{
	SYS2(__NR_arch_prctl, ARCH_SET_CPUID, work);
}

static struct fp ask_processor(void)
{
	uint32_t r[4], low, high;
	struct fp all = { .size = FP_HEADER };
	cpuid(1, 0, r);
	if (!(r[2] & CPUID_XSAVE)) /* the kernel has not switched it on */
		return all;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	all.features = ((uint64_t)high << 32 | low) & ~(uint64_t)PART_TILES;
	all.size = FP_PARTS;
	for (unsigned i = 2; i < 63; i++) {
		if (!(all.features >> i & 1))
			continue;
		cpuid(0xd, i, r);
		all.part[i].offset = r[1];
		all.part[i].size = r[0];
		all.size = MAX(all.size, r[1] + r[0]);
	}
	if (all.size + FP_XSTATE_MAGIC2_SIZE > FP_ROOM)
		cannot("this processor has more registers than Heddle knows (%u bytes)", (unsigned long)all.size);
	return all;
}

/* Asked once: under a hypervisor each cpuid costs a microsecond or more. Threads that come here together write the same
   values; release and acquire: who finds it known finds all of them. */
static void find_fp(void)
{
	static bool known;
	if (__atomic_load_n(&known, __ATOMIC_ACQUIRE))
		return;
	let_cpuid(true);
	fp = ask_processor();
	let_cpuid(false);
	fp_reset = fp.features & ~(uint64_t)PART_PROTECTION_KEYS;
	__atomic_store_n(&known, true, __ATOMIC_RELEASE);
}

/* Bytes in a frame. */
static uint32_t fp_frame_size(void)
{
	return fp.features ? fp.size + FP_XSTATE_MAGIC2_SIZE : fp.size;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	while (n)
		if (p[--n])
			return false;
	return true;
}

/* The parts that every processor has, where `present` says which are not in their initial state. */
static void tidy_first(uint8_t *to, const uint8_t *from, uint64_t present)
{
	uint16_t status;
	memcpy(to + FP_MXCSR, from + FP_MXCSR, 8);
	if (present & PART_SSE)
		memcpy(to + FP_XMM, from + FP_XMM, FP_XMM_END - FP_XMM);
	if (!(present & PART_X87)) {
		memcpy(to, fp_initial, 2);
		return;
	}
	memcpy(to, from, FP_LAST);
	memcpy(&status, from + FP_STATUS, 2);
	/* some processors keep these only while an exception is pending */
	if (status & 0x80)
		memcpy(to + FP_LAST, from + FP_LAST, FP_MXCSR - FP_LAST);
	for (int i = 0; i < 8; i++)
		memcpy(to + FP_STACK + 16 * i, from + FP_STACK + 16 * i, 10);
}

/* The same state as in `from`, with every byte determined. `to` holds zeros. */
static void tidy_fp(uint8_t *to, const uint8_t *from)
{
	uint64_t present = PART_X87 | PART_SSE, shown = PART_X87 | PART_SSE;
	if (fp.features)
		memcpy(&present, from + FP_HEADER, 8);
	tidy_first(to, from, present);
	if (!fp.features)
		return;
	for (unsigned i = 2; i < 63; i++) {
		const uint8_t *part = from + fp.part[i].offset;
		/* all zeros is the initial state of each of them */
		if (!(fp.features & present & 1ull << i) || all_zero(part, fp.part[i].size))
			continue;
		memcpy(to + fp.part[i].offset, part, fp.part[i].size);
		shown |= 1ull << i;
	}
	memcpy(to + FP_HEADER, &shown, 8);
	struct _fpx_sw_bytes software = {
		.magic1 = FP_XSTATE_MAGIC1,
		.extended_size = fp.size + FP_XSTATE_MAGIC2_SIZE,
		.xfeatures = fp.features,
		.xstate_size = fp.size,
	};
	const uint32_t end = FP_XSTATE_MAGIC2;
	memcpy(to + FP_SOFTWARE, &software, sizeof software);
	memcpy(to + fp.size, &end, sizeof end);
}

/* ---- contexts --------------------------------------------------------------------------- */

static struct sigcontext *machine(const void *uc)
{
	return &((struct ucontext *)uc)->uc_mcontext;
}

uint64_t context_pc(const void *uc)
{
	return machine(uc)->rip;
}

void context_set_pc(void *uc, uint64_t pc)
{
	machine(uc)->rip = pc;
}

uint64_t *context_mask(void *uc)
{
	return (uint64_t *)&((struct ucontext *)uc)->uc_sigmask;
}

void *context_frame(void *uc)
{
	return (uint8_t *)uc - offsetof(struct frame, uc);
}

void context_regs(const void *uc, struct regs *r)
{
	const struct sigcontext *c = machine(uc);
	*r = (struct regs){
		.rax = c->rax,
		.rcx = c->rcx,
		.rdx = c->rdx,
		.rbx = c->rbx,
		.rbp = c->rbp,
		.rsi = c->rsi,
		.rdi = c->rdi,
		.r8 = c->r8,
		.r9 = c->r9,
		.r10 = c->r10,
		.r11 = c->r11,
		.r12 = c->r12,
		.r13 = c->r13,
		.r14 = c->r14,
		.r15 = c->r15,
		.sp = c->rsp,
		.pc = c->rip,
		.flags = c->eflags,
	};
}

static void put_regs(struct sigcontext *c, const struct regs *r)
{
	c->rax = r->rax, c->rcx = r->rcx, c->rdx = r->rdx, c->rbx = r->rbx, c->rbp = r->rbp, c->rsi = r->rsi,
	c->rdi = r->rdi;
	c->r8 = r->r8, c->r9 = r->r9, c->r10 = r->r10, c->r11 = r->r11, c->r12 = r->r12, c->r13 = r->r13,
	c->r14 = r->r14;
	c->r15 = r->r15, c->rsp = r->sp, c->rip = r->pc, c->eflags = r->flags;
	c->cs = USER_CODE;
	c->ss = USER_STACK;
}

static void put_fault(struct sigcontext *c, const struct sigcontext *from)
{
	c->trapno = from->trapno;
	c->err = from->err;
	if (c->trapno == TRAP_PAGE_FAULT) {
		c->err &= ~1ul; /* whether a page was there: depends on what else uses the memory */
		c->cr2 = from->cr2;
	}
}

/* ---- frames -------------------------------------------------------------------------------- */

bool frame_build(struct handler_frame *f, uint64_t sp, const struct regs *r, const void *siginfo, uint64_t mask,
		 const struct alt_stack *alt, const void *uc, uint64_t restorer)
{
	_Alignas(64) uint8_t live[FP_ROOM];
	uint8_t tidy[FP_ROOM];
	struct frame frame;
	find_fp();
	memset(tidy, 0, fp_frame_size());
	if (uc) {
		tidy_fp(tidy, (const uint8_t *)machine(uc)->fpstate);
	} else {
		memset(live, 0, fp.size); /* not every processor writes every byte */
		save_fp(live, fp.features);
		tidy_fp(tidy, live);
	}
	uint64_t fp_at = ALIGN_DOWN(sp - fp_frame_size(), 64);
	memset(&frame, 0, sizeof frame);
	frame.return_to = restorer;
	frame.uc.uc_flags = FRAME_HAS_SS | FRAME_RESTORE_SS | (fp.features ? FRAME_HAS_XSAVE : 0);
	memcpy(&frame.uc.uc_stack, alt, sizeof frame.uc.uc_stack);
	memcpy(&frame.uc.uc_sigmask, &mask, sizeof mask);
	memcpy(frame.info, siginfo, sizeof frame.info);
	put_regs(&frame.uc.uc_mcontext, r);
	frame.uc.uc_mcontext.fpstate = (void *)fp_at;
	frame.uc.uc_mcontext.oldmask = mask;
	if (uc)
		put_fault(&frame.uc.uc_mcontext, machine(uc));
	/* as at the first instruction of a function that was called */
	f->sp = ALIGN_DOWN(fp_at - sizeof frame, 16) - 8;
	f->info = f->sp + offsetof(struct frame, info);
	f->context = f->sp + offsetof(struct frame, uc);
	f->fp = r->rbp;
	f->lr = restorer;
	return user_copy((void *)f->sp, &frame, sizeof frame) == 0 &&
	       user_copy((void *)fp_at, tidy, fp_frame_size()) == 0;
}

void context_enter_handler(void *uc, const struct handler_frame *f, int sig, uint64_t pc)
{
	struct sigcontext *c = machine(uc);
	uint8_t *state = (uint8_t *)c->fpstate;
	c->rax = 0;
	c->rdi = (uint64_t)sig;
	c->rsi = f->info;
	c->rdx = f->context;
	c->rsp = f->sp;
	c->rip = pc;
	c->eflags &= ~(uint64_t)(FLAG_TRAP | FLAG_DIRECTION | FLAG_RESUME);
	/* handlers begin with initial vector registers */
	if (fp.features) {
		uint64_t present;
		memcpy(&present, state + FP_HEADER, 8);
		present &= PART_PROTECTION_KEYS;
		memcpy(state + FP_HEADER, &present, 8);
		memcpy(state + FP_MXCSR, fp_initial + FP_MXCSR, 4);
	} else {
		memcpy(state, fp_initial, FP_MXCSR + 4);
		memset(state + FP_STACK, 0, FP_XMM_END - FP_STACK);
	}
}

/* Bytes of the vector state in a frame of the program's, as the kernel will see it: it is told by a
   mark at either end. Without them it takes the first 512. */
static uint32_t state_size(const uint8_t *state)
{
	struct _fpx_sw_bytes software;
	memcpy(&software, state + FP_SOFTWARE, sizeof software);
	if (software.magic1 != FP_XSTATE_MAGIC1 || software.xstate_size < FP_PARTS ||
	    software.xstate_size > FP_ROOM - FP_XSTATE_MAGIC2_SIZE)
		return FP_HEADER;
	return software.xstate_size + FP_XSTATE_MAGIC2_SIZE;
}

/* Copies it; what a frame does not have is as it is initially, and in the first 512 bytes there are two parts. */
static bool copy_state(uint8_t *to, const void *from)
{
	const uint64_t first = PART_X87 | PART_SSE;
	memcpy(to, fp_initial, FP_PARTS);
	if (!from)
		return true;
	memcpy(to + FP_HEADER, &first, sizeof first);
	return !user_copy(to, from, FP_HEADER) && !user_copy(to, from, state_size(to));
}

void *frame_return(uint8_t *to, uint64_t sp, uint64_t *mask, struct alt_stack *alt, const struct alt_stack *kernel_alt)
{
	uint8_t *state = (uint8_t *)ALIGN_UP(to, 64);
	struct frame *frame = (void *)(state + FP_ROOM);
	/* the handler's `ret` has taken the first word */
	if (user_copy(frame, (void *)(sp - 8), offsetof(struct frame, info)))
		return 0;
	struct sigcontext *c = &frame->uc.uc_mcontext;
	if (!copy_state(state, c->fpstate))
		return 0;
	c->fpstate = (void *)state;
	memcpy(mask, &frame->uc.uc_sigmask, sizeof *mask);
	memcpy(alt, &frame->uc.uc_stack, sizeof *alt);
	memcpy(&frame->uc.uc_stack, kernel_alt, sizeof *kernel_alt);
	return &frame->uc;
}
_Static_assert(64 + FP_ROOM + sizeof(struct frame) <= FRAME_ROOM, "both copies have room");

/* ---- the cycle counter, and what else differs from machine to machine ------------------------ */

enum counter { NO_COUNTER, RDTSC, RDTSCP };

static enum counter counter_at(uint64_t pc)
{
	uint8_t code[3] = { 0 };
	if (pc >> 47 || user_copy(code, (void *)pc, 2))
		return NO_COUNTER;
	if (code[0] == 0x0f && code[1] == 0x31)
		return RDTSC;
	user_copy(code, (void *)pc, 3);
	return code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9 ? RDTSCP : NO_COUNTER;
}

bool context_is_counter(const void *uc)
{
	return counter_at(context_pc(uc)) != NO_COUNTER;
}

void context_give_counter(void *uc, uint64_t value)
{
	struct sigcontext *c = machine(uc);
	c->rax = value & 0xffffffff;
	c->rdx = value >> 32;
	if (counter_at(c->rip) == RDTSCP) {
		c->rcx = 0; /* always on processor 0 */
		c->rip++;
	}
	c->rip += 2;
}

void counter_prepare(void)
{
}

void cpuid_prepare(void)
{
	let_cpuid(false);
}

/* What is not the same on each core, what has random results, and what would take our gs away. */
static void hide(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
	switch (leaf) {
	case 1:
		r[1] &= ~(uint32_t)CPUID_CORE;
		r[2] &= ~(uint32_t)CPUID_RDRAND;
		break;
	case 7:
		if (!sub)
			r[1] &= ~(uint32_t)(CPUID_RDSEED | CPUID_FSGSBASE);
		break;
	case 0xb:
	case 0x1f: r[3] = 0; break;			/* the core */
	case 0x8000001e: r[0] = r[1] = r[2] = 0; break; /* the same, of AMD */
	}
}

bool context_give_cpuid(void *uc)
{
	struct sigcontext *c = machine(uc);
	uint8_t code[2];
	uint32_t r[4], leaf = (uint32_t)c->rax, sub = (uint32_t)c->rcx;
	if (c->rip >> 47 || user_copy(code, (void *)c->rip, 2) || code[0] != 0x0f || code[1] != 0xa2)
		return false;
	let_cpuid(true);
	cpuid(leaf, sub, r);
	let_cpuid(false);
	hide(leaf, sub, r);
	c->rax = r[0], c->rbx = r[1], c->rcx = r[2], c->rdx = r[3];
	c->rip += 2;
	return true;
}

uint64_t read_counter(const void *uc)
{
	uint32_t low, high;
	(void)uc;
	SYS5(__NR_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	SYS5(__NR_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	return (uint64_t)high << 32 | low;
}

uint64_t hide_random(uint64_t hwcap2)
{
	/* rdrand and rdseed are announced by cpuid alone: hide(). What is hidden here is that programs may set the base
	   of gs, which is ours (HWCAP2_FSGSBASE). */
	return hwcap2 & ~2ull;
}

unsigned signal_return_code(uint8_t *to)
{
	/* mov $15, %rax; syscall */
	static const uint8_t code[9] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	memcpy(to, code, sizeof code);
	return sizeof code;
}
