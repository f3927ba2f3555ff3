/*
 * aarch64: signal contexts and frames.
 *
 * The frame of an asynchronous signal holds the general and the FP/SIMD
 * registers. Signals begin at system calls, where the wider SVE state is
 * discarded by the kernel's own rule, so nothing is lost. A fault can come
 * anywhere: its frame keeps every record that the kernel wrote.
 */
#include "loader/arch/arch.h"
#include "runtime/runtime.h"
#include <asm/sigcontext.h>
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <asm/ucontext.h>

struct frame {
	uint8_t info[128];
	struct ucontext uc;
	struct {
		uint64_t fp, lr;
	} link; /* what unwinders follow */
};

void save_fp(void *fpsr);

static const struct ucontext *context(const void *uc)
{
	return uc;
}

uint64_t context_pc(const void *uc)
{
	return context(uc)->uc_mcontext.pc;
}

void context_set_pc(void *uc, uint64_t pc)
{
	((struct ucontext *)uc)->uc_mcontext.pc = pc;
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
	const struct sigcontext *c = &context(uc)->uc_mcontext;
	for (int i = 0; i < 31; i++)
		r->x[i] = c->regs[i];
	r->sp = c->sp;
	r->pc = c->pc;
	r->flags = c->pstate;
}

/* The records of the kernel's frame up to its end mark; 0 if they went to an extra area. */
static size_t records_size(const struct sigcontext *c)
{
	size_t at = 0;
	while (at + sizeof(struct _aarch64_ctx) <= sizeof c->__reserved) {
		const struct _aarch64_ctx *head = (const void *)(c->__reserved + at);
		if (!head->magic)
			return at;
		if (head->magic == EXTRA_MAGIC || head->size < sizeof *head)
			return 0;
		at += head->size;
	}
	return 0;
}

static void fill_vectors(struct sigcontext *to, const struct sigcontext *from)
{
	size_t n = from ? records_size(from) : 0;
	if (n) {
		memcpy(to->__reserved, from->__reserved, n);
		return;
	}
	struct fpsimd_context *fp = (void *)to->__reserved;
	fp->head.magic = FPSIMD_MAGIC;
	fp->head.size = sizeof *fp;
	if (from)
		memcpy(fp, from->__reserved, sizeof *fp); /* the first record, always FP/SIMD */
	else
		save_fp(&fp->fpsr);
}

bool frame_build(struct handler_frame *f, uint64_t sp, const struct regs *r, const void *siginfo, uint64_t mask,
		 const struct alt_stack *alt, const void *uc, uint64_t restorer)
{
	struct frame frame;
	memset(&frame, 0, sizeof frame);
	memcpy(frame.info, siginfo, sizeof frame.info);
	memcpy(&frame.uc.uc_stack, alt, sizeof frame.uc.uc_stack);
	memcpy(&frame.uc.uc_sigmask, &mask, sizeof mask);
	struct sigcontext *c = &frame.uc.uc_mcontext;
	c->fault_address = uc ? context(uc)->uc_mcontext.fault_address : 0;
	for (int i = 0; i < 31; i++)
		c->regs[i] = r->x[i];
	c->sp = r->sp;
	c->pc = r->pc;
	c->pstate = r->flags;
	fill_vectors(c, uc ? &context(uc)->uc_mcontext : 0);
	frame.link.fp = r->x[29];
	frame.link.lr = r->x[30];
	f->sp = ALIGN_DOWN(sp - sizeof frame, 16);
	f->info = f->sp;
	f->context = f->sp + offsetof(struct frame, uc);
	f->fp = f->sp + offsetof(struct frame, link);
	f->lr = restorer;
	return user_copy((void *)f->sp, &frame, sizeof frame) == 0;
}

void context_enter_handler(void *uc, const struct handler_frame *f, int sig, uint64_t pc)
{
	struct sigcontext *c = &((struct ucontext *)uc)->uc_mcontext;
	c->regs[0] = (uint64_t)sig;
	c->regs[1] = f->info;
	c->regs[2] = f->context;
	c->regs[29] = f->fp;
	c->regs[30] = f->lr;
	c->sp = f->sp;
	c->pc = pc;
}

void *frame_return(uint8_t *to, uint64_t sp, uint64_t *mask, struct alt_stack *alt, const struct alt_stack *kernel_alt)
{
	struct frame *frame = (void *)ALIGN_UP(to, 16);
	if (user_copy(frame, (void *)sp, offsetof(struct frame, link)))
		return 0;
	memcpy(mask, &frame->uc.uc_sigmask, sizeof *mask);
	memcpy(alt, &frame->uc.uc_stack, sizeof *alt);
	memcpy(&frame->uc.uc_stack, kernel_alt, sizeof *kernel_alt);
	return &frame->uc;
}

/* mrs Xt, cntvct_el0 / cntpct_el0 / cntvctss_el0 / cntpctss_el0; the frequency traps with them */
#define READ_FREQUENCY 0xd53be000
static bool reads_counter(uint32_t insn)
{
	switch (insn & 0xffffffe0) {
	case 0xd53be040:
	case 0xd53be020:
	case 0xd53be0c0:
	case 0xd53be0a0:
	case READ_FREQUENCY: return true;
	}
	return false;
}

bool context_is_counter(const void *uc)
{
	uint32_t insn;
	return !user_copy(&insn, (void *)context_pc(uc), 4) && reads_counter(insn);
}

void context_give_counter(void *uc, uint64_t value)
{
	struct sigcontext *c = &((struct ucontext *)uc)->uc_mcontext;
	uint32_t target = *(uint32_t *)c->pc & 31;
	if (target != 31)
		c->regs[target] = value;
	c->pc += 4;
}

static uint64_t frequency;

void counter_prepare(void)
{
	__asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
}

void cpuid_prepare(void)
{
}

bool context_give_cpuid(void *uc)
{
	(void)uc; /* programs cannot ask; the kernel tells, see hide_random() */
	return false;
}

uint64_t read_counter(const void *uc)
{
	/* The counter traps here as well; the clock it drives does for a value. */
	struct {
		uint64_t sec, nsec;
	} now = { 0, 0 };
	if ((*(uint32_t *)context_pc(uc) & 0xffffffe0) == READ_FREQUENCY)
		return frequency;
	SYS2(__NR_clock_gettime, 4 /* CLOCK_MONOTONIC_RAW */, &now);
	return now.sec * frequency + now.nsec * frequency / 1000000000ul;
}

uint64_t hide_random(uint64_t hwcap2)
{
	return hwcap2 & ~(1ull << 16); /* HWCAP2_RNG */
}

unsigned signal_return_code(uint8_t *to)
{
	static const uint32_t code[2] = { 0xd2801168, 0xd4000001 }; /* mov x8, #139; svc #0 */
	memcpy(to, code, sizeof code);
	flush_code(to, sizeof code);
	return sizeof code;
}
