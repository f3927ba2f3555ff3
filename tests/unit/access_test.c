/*
 * Which instructions of x86-64 loader/arch/x86_64/plain.c finds, what it says of their reach, and whether they write: against the
 * machine, which makes each of them a few hundred times.
 * What could go wrong: a size or an address that is too small, a read that writes, an operand byte or an index taken
 * apart wrongly. What an instruction changes must lie within its reach, and what lies outside must not matter to it.
 * And: what does not access memory, or is left out on purpose, must not be found.
 * Those of aarch64: plain_test.c, atomic_test.c.
 */
#ifdef __x86_64__
#include "loader/arch/x86_64/atomic.c"
#include "loader/arch/x86_64/decode.c"
#include "loader/arch/x86_64/plain.c"

#include "tests/unit/instructions.h"

/* ---- the instructions, each with a way back. rdi has the address, rsi an index; the others may be changed. -------- */

/* clang-format off */
#define READS(X) \
	X("mov (%rdi), %rax") X("mov 8(%rdi), %eax") X("mov -3(%rdi), %ax") X("mov 300(%rdi), %al") X("mov (%rdi,%rsi,8), %rdx") \
	X("mov 4(%rdi,%rsi), %r9d") X("movzbl (%rdi), %eax") X("movzwl 2(%rdi), %edx") X("movsbq 1(%rdi), %rax") X("movswl (%rdi), %eax") \
	X("movslq 4(%rdi), %rax") X("cmpl $5, (%rdi)") X("cmpb $5, 3(%rdi)") X("cmp %rdx, (%rdi)") X("cmp (%rdi), %dx") X("testb $4, (%rdi)") \
	X("testl $0x12345, (%rdi)") X("test %eax, (%rdi)") X("add (%rdi), %rax") X("sbb (%rdi), %eax") X("xor 16(%rdi), %r8") \
	X("imul (%rdi), %rax") X("imul $7, (%rdi), %edx") X("imul $70000, (%rdi), %rdx") X("cmove (%rdi), %rax") X("cmovne (%rdi), %eax") \
	X("btl $3, (%rdi)") X("bt %rsi, (%rdi)") X("mulq (%rdi)") X("bsf (%rdi), %rax") X("movups (%rdi), %xmm0") X("movdqu 16(%rdi), %xmm0") \
	X("movq (%rdi), %xmm0") X("movd (%rdi), %xmm0") X("movss (%rdi), %xmm0") X("movsd (%rdi), %xmm0") X("addsd (%rdi), %xmm0") \
	X("cvtsi2sdq (%rdi), %xmm0") X("movhps (%rdi), %xmm0") X("pshufd $1, (%rdi), %xmm0") X("pshufb (%rdi), %xmm0") \
	X("movbe (%rdi), %rax") X("palignr $3, (%rdi), %xmm0")
#define WRITES(X) \
	X("mov %rax, (%rdi)") X("mov %eax, 8(%rdi)") X("mov %ax, -2(%rdi)") X("mov %al, 5(%rdi)") X("movb $3, (%rdi)") X("movw $300, (%rdi)") \
	X("movl $70000, (%rdi)") X("movq $-1, 64(%rdi)") X("mov %rdx, (%rdi,%rsi,8)") X("mov %r9d, -4(%rdi,%rsi,4)") X("add %rax, (%rdi)") \
	X("addl $3, (%rdi)") X("subq $70000, (%rdi)") X("orb $1, (%rdi)") X("andw $15, (%rdi)") X("incl (%rdi)") X("decq (%rdi)") X("incb (%rdi)") \
	X("notl (%rdi)") X("negq (%rdi)") X("shll $2, (%rdi)") X("shrq (%rdi)") X("sarb %cl, (%rdi)") X("sete (%rdi)") X("xchg %eax, (%rdi)") \
	X("xchg %rax, (%rdi)") X("xchg %al, (%rdi)") X("lock add %eax, (%rdi)") X("lock incq (%rdi)") X("lock xadd %rax, (%rdi)") \
	X("lock xadd %al, (%rdi)") X("lock cmpxchg %edx, (%rdi)") X("lock cmpxchg %dl, (%rdi)") X("lock cmpxchg16b (%rdi)") \
	X("lock btsl $3, (%rdi)") X("lock orl $0, (%rdi)") X("movups %xmm0, (%rdi)") X("movdqu %xmm0, 16(%rdi)") X("movq %xmm0, (%rdi)") \
	X("movd %xmm0, (%rdi)") X("movss %xmm0, (%rdi)") X("movhps %xmm0, (%rdi)") X("movnti %rax, (%rdi)") X("shld $3, %rax, (%rdi)") \
	X("pextrb $3, %xmm0, (%rdi)") X("movbe %eax, (%rdi)")
#define OTHERS(X) \
	X("lea 8(%rdi), %rax") X("nopw 8(%rax,%rax)") X("prefetcht0 (%rdi)") X("prefetchw (%rdi)") X("push (%rdi)") X("pop (%rdi)") \
	X("call *(%rdi)") X("jmp *8(%rdi)") X("mov %rax, %rdx") X("lock; nop") X("push %rax") X("mov %fs:40, %rax") X("mov %fs:0, %rax") \
	X("mov %gs:8, %rax") X("rep stosq") X("ldmxcsr (%rdi)") X("vmovdqu64 (%rdi), %zmm0") X("vpgatherdd %ymm1, (%rdi,%ymm2,4), %ymm0") X("mov (%edi), %eax") X("xchg %rax, %rdx") \
	X("ret") X("cpuid") X("rdtsc") X("syscall") X("lfence")
/* clang-format on */

#define EACH(text) "\t" text "\n\tret\n"
__asm__(".text\nreads:\n" READS(EACH) "reads_end:\nwrites:\n" WRITES(EACH) "writes_end:\nothers:\n" OTHERS(
	EACH) "others_end:\n");
extern const uint8_t reads[], reads_end[], writes[], writes_end[], others[], others_end[];
#define NAME(text) text,
static const char *const read_names[] = { READS(NAME) }, *const write_names[] = { WRITES(NAME) },
			 *const other_names[] = { OTHERS(NAME) };

/* ---- the machine ------------------------------------------------------------------------------------------------------ */

static uint64_t vector[2];

long instruction_run(const uint8_t *code, struct regs *r)
{
	register uint64_t r8 __asm__("r8") = r->r8, r9 __asm__("r9") = r->r9, flags __asm__("r11") = r->flags;
	register uint64_t rbx __asm__("r12") = r->rbx;
	register const uint8_t *at __asm__("r10") = code;
	register uint64_t *v __asm__("r13") = vector;
	__asm__ volatile("sub $128, %%rsp\n\txchg %%rbx, %%r12\n\tmovups (%%r13), %%xmm0\n\tpush "
			 "%%r11\n\tpopfq\n\tcall *%%r10\n\tpushfq\n\tpop %%r11\n\t"
			 "movups %%xmm0, (%%r13)\n\txchg %%rbx, %%r12\n\tadd $128, %%rsp"
			 : "+a"(r->rax), "+c"(r->rcx), "+d"(r->rdx), "+r"(r8), "+r"(r9), "+r"(rbx), "+r"(flags)
			 : "D"(r->rdi), "S"(r->rsi), "r"(at), "r"(v)
			 : "xmm0", "memory", "cc");
	r->flags = flags;
	r->r8 = r8, r->r9 = r9, r->rbx = rbx;
	return 0;
}

static uint64_t seed = 88172645463325252;
static uint64_t value(void)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed;
}

enum { CELLS = 128, FLAGS_OF_RESULTS = 0x8c5 /* auxiliary carry is left undefined by some */ };
static uint64_t cells[CELLS] __attribute__((aligned(16))), before[CELLS], again[CELLS];

static struct regs random_registers(void)
{
	struct regs r = { .rax = value(),
			  .rbx = value(),
			  .rcx = value(),
			  .rdx = value(),
			  .r8 = value(),
			  .r9 = value(),
			  .flags = 0x202 | (value() & 0x41) };
	r.rsi = value() % 4;
	r.rdi = (uint64_t)(cells + CELLS / 2);
	if (value() % 2) /* that comparisons find it equal, too */
		memcpy(&r.rax, cells + CELLS / 2, 8), memcpy(&r.rdx, cells + CELLS / 2 + 1, 8);
	return r;
}

static bool in_reach(const struct reach *a, uint64_t byte)
{
	uint64_t at = (uint64_t)cells + byte;
	return at >= a->address && at < a->address + a->bytes;
}

static void same_outside(const struct reach *reach, const uint64_t *a, const uint64_t *b, bool inside_too,
			 const char *name)
{
	for (uint64_t n = 0; n < sizeof cells; n++)
		if (((const uint8_t *)a)[n] != ((const uint8_t *)b)[n] && (inside_too || !in_reach(reach, n))) {
			fprintf(stderr, "%s: byte %ld\n", name, (long)n - (long)sizeof cells / 2);
			EXPECT(false);
		}
}

static void compare(const uint8_t *code, const char *name, bool writes)
{
	for (unsigned n = 0; n < CELLS; n++)
		cells[n] = value();
	vector[0] = value(), vector[1] = value();
	uint64_t given[2] = { vector[0], vector[1] }, got[2];
	struct regs r = random_registers(), first = r, second = r;
	const struct reach access = reach_at(code, &r), *reach = &access;
	memcpy(before, cells, sizeof cells);
	enum atomic_done done = reach_perform(&access, &first, 0);
	memcpy(got, vector, sizeof got);
	memcpy(again, cells, sizeof cells);
	same_outside(reach, before, cells, done == ATOMIC_READ, name);
	EXPECT(done == ATOMIC_WROTE || (done == ATOMIC_READ && (!writes || strstr(name, "cmpxchg"))));
	/* once more with other bytes around: the same result */
	for (uint64_t byte = 0; byte < sizeof cells; byte++)
		((uint8_t *)cells)[byte] = in_reach(reach, byte) ? ((uint8_t *)before)[byte] : (uint8_t)value();
	memcpy(vector, given, sizeof given);
	reach_perform(&access, &second, 0);
	first.flags &= FLAGS_OF_RESULTS, second.flags &= FLAGS_OF_RESULTS;
	if (memcmp(&first, &second, sizeof first) || memcmp(got, vector, sizeof got))
		fprintf(stderr, "%s: reads beyond its reach\n", name);
	EXPECT(!memcmp(&first, &second, sizeof first) && !memcmp(got, vector, sizeof got));
	for (uint64_t byte = 0; byte < sizeof cells; byte++)
		EXPECT(!in_reach(reach, byte) || ((uint8_t *)cells)[byte] == ((uint8_t *)again)[byte]);
}

static void all(const uint8_t *code, const uint8_t *end, const char *const *names, bool writes)
{
	for (; code < end; code += instruction_length(code, 15) + 1, names++) {
		if (!plain_is(code))
			fprintf(stderr, "%s: not found\n", *names);
		EXPECT(plain_is(code));
		EXPECT(atomic_is(code) == (!strncmp(*names, "lock", 4) || !strncmp(*names, "xchg", 4)));
		EXPECT(code[instruction_length(code, 15)] == 0xc3);
		for (int n = 0; n < 300; n++)
			compare(code, *names, writes);
	}
	EXPECT(code == end);
}

/* ---- addresses ---------------------------------------------------------------------------------------------------------- */

/* From where the instruction lies, if `here`. */
static void address(const char *bytes, unsigned n, uint64_t expected, bool here)
{
	static uint8_t code[INSTRUCTION_LOOK];
	struct regs r = { .rax = 0x100, .rbp = 0x200, .sp = 0x300, .r12 = 0x400, .r13 = 0x500, .rsi = 3, .r14 = 5 };
	memcpy(code, bytes, n);
	EXPECT(instruction_length(code, n) == n && instruction_length(code, n - 1) == 0);
	EXPECT(reach_at(code, &r).address - (here ? (uint64_t)code : 0) == expected);
}
#define ADDRESS(bytes, expected, here) address(bytes, sizeof bytes - 1, expected, here)

static void addresses(void)
{
	ADDRESS("\x48\x8b\x00", 0x100, false);				    /* mov (%rax), %rax */
	ADDRESS("\x48\x8b\x45\x00", 0x200, false);			    /* mov 0(%rbp), %rax */
	ADDRESS("\x48\x8b\x44\x24\x08", 0x308, false);			    /* mov 8(%rsp), %rax */
	ADDRESS("\x48\x8b\x04\x24", 0x300, false);			    /* mov (%rsp), %rax */
	ADDRESS("\x49\x8b\x04\x24", 0x400, false);			    /* mov (%r12), %rax */
	ADDRESS("\x49\x8b\x45\xf8", 0x4f8, false);			    /* mov -8(%r13), %rax */
	ADDRESS("\x4a\x8b\x04\xf5\x10\x00\x00\x00", 0x38, false);	    /* mov 16(,%r14,8), %rax */
	ADDRESS("\x49\x8b\x44\x75\x01", 0x507, false);			    /* mov 1(%r13,%rsi,2), %rax */
	ADDRESS("\x48\x8b\x84\xb4\x00\x10\x00\x00", 0x130c, false);	    /* mov 0x1000(%rsp,%rsi,4), %rax */
	ADDRESS("\x48\x8b\x04\x25\x00\x20\x00\x00", 0x2000, false);	    /* mov 0x2000, %rax */
	ADDRESS("\xc5\xfa\x6f\x00", 0x100, false);			    /* vmovdqu (%rax), %xmm0 */
	ADDRESS("\xc4\x81\x7a\x6f\x44\x75\x01", 0x50b, false);		    /* vmovdqu 1(%r13,%r14,2), %xmm0 */
	ADDRESS("\x48\x8b\x05\x10\x00\x00\x00", 7 + 16, true);		    /* mov 16(%rip), %rax */
	ADDRESS("\xc7\x05\x10\x00\x00\x00\x01\x02\x03\x04", 10 + 16, true); /* movl $, 16(%rip) */
}

int main(void)
{
	all(reads, reads_end, read_names, false);
	all(writes, writes_end, write_names, true);
	const char *const *name = other_names;
	for (const uint8_t *code = others; code < others_end; name++) {
		if (plain_is(code) || atomic_is(code))
			fprintf(stderr, "%s: found\n", *name);
		EXPECT(!plain_is(code) && !atomic_is(code));
		EXPECT(instruction_length(code, 15));
		code += instruction_length(code, 15) + 1;
	}
	addresses();
	printf("access_test: ok\n");
	return 0;
}
#else
int main(void)
{
	return 0;
}
#endif
