/* aarch64: the stub of a system call site, and the branch that leads there. */
#include "loader/arch/arch.h"
#include "runtime/base/base.h"
#include "runtime/runtime.h"

_Static_assert(offsetof(struct thread, regs) == 0 && offsetof(struct regs, sp) == 248 &&
		       offsetof(struct regs, pc) == 256 && offsetof(struct regs, flags) == 264 &&
		       offsetof(struct thread, stack) == 272 && offsetof(struct thread, resume) == 280 &&
		       offsetof(struct thread, front) == 296,
	       "entry.S knows these");
_Static_assert(MAP_STACKS_BASE == 0x90ul << 32 && MAP_THREAD_STACK_ROOM == 1 << 23 && MAP_SLOTS == 8192 &&
		       MAP_RUNTIME_STACKS + THREAD_STRUCT_AT == 0x6001000c0000 && MAP_RUNTIME_STACK_ROOM == 1 << 20,
	       "entry.S knows these, too");

const uint64_t stub_reach = 120ul << 20; /* a branch reaches 128 MiB */

enum {
	SVC_0 = 0xd4000001,
	BRANCH = 0x14000000, /* | distance / 4 */
};

static uint32_t branch(uint64_t from, uint64_t to)
{
	return BRANCH | ((uint32_t)((int64_t)(to - from) >> 2) & 0x3ffffff);
}

/*
 *  0  stp x29, x30, [sp, #-32]!
 *  4  stp x0, x1, [sp, #16]
 *  8  ldr x30, entry
 * 12  blr x30
 * 16  ldp x29, x30, [sp], #32
 * 20  b site + 4
 * 24  entry: .quad syscall_entry or atomic_entry
 * 32  .quad site               entry.S finds it at x30 + 16
 *     an atomic instruction only:
 * 40  ldp x29, x30, [sp], #32
 * 44  the instruction itself
 * 48  b site + 4
 */
enum { RETURN = 16, ITSELF = 40, INSTRUCTION = 44, POP = 0xa8c27bfd };

static void write_entry(uint8_t *at, uint64_t site, void (*to)(void))
{
	uint32_t *code = (uint32_t *)at;
	code[0] = 0xa9be7bfd;
	code[1] = 0xa90107e0;
	code[2] = 0x5800009e;
	code[3] = 0xd63f03c0;
	code[4] = POP;
	code[5] = branch((uint64_t)at + 20, site + 4);
	uint64_t entry = (uint64_t)to;
	memcpy(at + 24, &entry, 8);
	memcpy(at + 32, &site, 8);
}

void stub_write(uint8_t *at, uint64_t site)
{
	write_entry(at, site, syscall_entry);
	flush_code(at, STUB_SIZE);
}

bool stub_is_site(uint64_t address)
{
	uint32_t there;
	return !user_copy(&there, (void *)address, 4) && there == SVC_0;
}

bool stub_look_begin(uint64_t from, uint64_t to, bool fixed)
{
	(void)from, (void)to, (void)fixed;
	return false; /* a branch takes the place of one instruction: anybody may jump there */
}

void stub_look_at_address(uint64_t address)
{
	(void)address;
}

void stub_look(uint64_t from, uint64_t to)
{
	(void)from, (void)to;
}

void stub_write_atomic(uint8_t *at, uint64_t site)
{
	write_entry(at, site, atomic_entry);
	uint32_t *code = (uint32_t *)(at + ITSELF);
	code[0] = POP;
	code[1] = *(const uint32_t *)site;
	code[2] = branch((uint64_t)at + ITSELF + 8, site + 4);
	flush_code(at, STUB_SIZE);
}

struct lead stub_lead(uint8_t *stub, uint64_t site, uint64_t from, uint64_t to)
{
	(void)from, (void)to;
	struct lead lead = { .from = site, .to = site + 4, .size = 4 };
	uint32_t jump = branch(site, (uint64_t)stub);
	memcpy(lead.bytes, &jump, sizeof jump);
	return lead;
}

const uint8_t *stub_atomic_instruction(uint64_t resume)
{
	return (const uint8_t *)(ALIGN_DOWN(resume, STUB_SIZE) + INSTRUCTION);
}

uint64_t stub_atomic_itself(uint64_t resume)
{
	return resume - RETURN + ITSELF;
}

uint64_t stub_atomic_site(uint64_t pc)
{
	const uint64_t *site = (const uint64_t *)(ALIGN_DOWN(pc, STUB_SIZE) + 32);
	return pc % STUB_SIZE == INSTRUCTION ? *site : pc;
}

uint64_t stub_atomic_behind(uint64_t stub, uint64_t pc)
{
	(void)stub, (void)pc;
	return 0; /* it is where it was */
}

unsigned stub_patch(uint8_t *stub, uint64_t site, uint64_t nr, uint8_t bytes[16], uint64_t *where)
{
	(void)nr;
	uint32_t jump = branch(site, (uint64_t)stub);
	if (!stub_is_site(site))
		return 0;
	memcpy(bytes, &jump, 4);
	*where = site;
	return 4;
}

uint64_t stub_tail(const uint8_t *stub, uint64_t site)
{
	/* the branch takes the place of the call alone */
	(void)stub;
	(void)site;
	return 0;
}

bool stub_is_jump(uint64_t pc)
{
	(void)pc;
	return false;
}

void stub_push_frame(const struct regs *r, uint64_t sp)
{
	const uint64_t frame[4] = { r->x[29], r->x[30], r->x[0], r->x[1] };
	user_copy((void *)(sp - 32), frame, sizeof frame);
}

/* CTR_EL0 says how long cache lines are, and which of the two steps this machine needs at all. */
void flush_code(void *from, size_t n)
{
	uint64_t ctr, end = (uint64_t)from + n;
	__asm__("mrs %0, ctr_el0" : "=r"(ctr));
	uint64_t data_line = 4ul << (ctr >> 16 & 15), code_line = 4ul << (ctr & 15);
	if (!(ctr & 1ul << 28)) /* IDC: no cleaning needed */
		for (uint64_t p = ALIGN_DOWN(from, data_line); p < end; p += data_line)
			__asm__ volatile("dc cvau, %0" ::"r"(p) : "memory");
	__asm__ volatile("dsb ish" ::: "memory");
	if (!(ctr & 1ul << 29)) /* DIC: no invalidation needed */
		for (uint64_t p = ALIGN_DOWN(from, code_line); p < end; p += code_line)
			__asm__ volatile("ic ivau, %0" ::"r"(p) : "memory");
	__asm__ volatile("dsb ish\n\tisb" ::: "memory");
}

void arch_thread_start(struct thread *t)
{
	(void)t; /* entry.S finds it by the thread pointer */
}

uint64_t arch_thread_pointer(void)
{
	return (uint64_t)__builtin_thread_pointer();
}
