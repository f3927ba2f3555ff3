/*
 * Loads and stores like any other, done by loader/arch/aarch64/plain.c, against the machine that does them itself: same memory,
 * same registers, general and vector, for every form and a few thousand values.
 * What could go wrong: an offset with the wrong scale or sign, an index that is not extended, a base that does not move,
 * a vector register whose upper half is not cleared, a sign that goes too far. And: prefetches, exclusive and atomic
 * instructions, constants beside the code and what saves registers on the stack must not be found.
 * Those of x86-64: access_test.c.
 */
#ifdef __aarch64__
#include "loader/arch/aarch64/plain.c"

#include "tests/unit/instructions.h"

/* ---- what the runtime has from its own assembler -------------------------------------------------------- */

static uint64_t vectors[32][2];

void vector_get(unsigned n, uint64_t to[2])
{
	memcpy(to, vectors[n], 16);
}

void vector_set(unsigned n, const uint64_t from[2])
{
	memcpy(vectors[n], from, 16);
}

/* ---- the instructions, two words each: it, and the way back. x10 has the address, x11 an index, x2 and x3 the rest. */

/* clang-format off */
#define INSTRUCTIONS(X) \
	X("ldr x2, [x10]") X("ldr w2, [x10, #12]") X("ldrb w2, [x10, #3]") X("ldrh w2, [x10, #6]") \
	X("ldrsb x2, [x10, #1]") X("ldrsb w2, [x10, #1]") X("ldrsh x2, [x10, #2]") X("ldrsh w2, [x10, #2]") \
	X("ldrsw x2, [x10, #4]") X("ldr xzr, [x10]") X("str x2, [x10, #8]") X("str w2, [x10, #4]") X("strb w2, [x10, #5]") \
	X("strh w2, [x10, #2]") X("str xzr, [x10, #16]") X("str wzr, [x10]") \
	X("ldur x2, [x10, #-7]") X("stur w2, [x10, #-3]") X("ldursw x2, [x10, #-5]") X("sturb w2, [x10, #-1]") \
	X("ldr x2, [x10], #8") X("ldr x2, [x10, #-8]!") X("str w2, [x10], #-4") X("strh w2, [x10, #2]!") \
	X("ldrsb x2, [x10], #1") X("ldr x2, [x10, x11]") X("ldr w2, [x10, x11, lsl #2]") X("ldr x2, [x10, w11, uxtw]") \
	X("ldr x2, [x10, w11, sxtw #3]") X("str x2, [x10, x11, sxtx #3]") X("strb w2, [x10, w11, sxtw]") \
	X("ldrsh w2, [x10, w11, uxtw #1]") X("ldp x2, x3, [x10, #8]") X("ldp w2, w3, [x10, #-8]") X("ldpsw x2, x3, [x10]") \
	X("stp x2, x3, [x10, #-16]") X("stp w2, wzr, [x10]") X("ldp x2, x3, [x10], #16") X("stp x2, x3, [x10, #-16]!") \
	X("ldnp x2, x3, [x10, #16]") X("ldr q2, [x10, #16]") X("ldr d2, [x10, #8]") X("ldr s2, [x10, #4]") \
	X("ldr h2, [x10, #2]") X("ldr b2, [x10, #1]") X("str q2, [x10]") X("str d2, [x10, #-8]!") X("str s2, [x10], #4") \
	X("stur q2, [x10, #-9]") X("ldr q2, [x10, w11, sxtw #4]") X("ldp q2, q3, [x10, #-16]") X("stp q2, q3, [x10]") \
	X("ldp d2, d3, [x10], #16") X("stp s2, s3, [x10, #4]")
#define OTHERS(X) \
	X("prfm pldl1keep, [x10]") X("prfm pldl1keep, [x10, x11]") X("ldar x2, [x10]") X("ldxr x2, [x10]") \
	X("ldadd x2, x3, [x10]") X("cas x2, x3, [x10]") X("ld1 {v2.16b}, [x10]") X("ldr x2, .") X("stp x29, x30, [sp, #-32]!") \
	X("ldp x29, x30, [sp], #32") X("stp x19, x20, [sp, #16]") X("str x30, [sp, #-16]!") X("ldr x30, [sp], #16") \
	X("add x2, x2, #8") X("b .") X("nop") X("mov x2, x3") X("dmb ish")
/* clang-format on */

#define EACH(text) "\t" text "\n\tret\n"
__asm__(".text\n.balign 4\n.arch armv8.3-a\n.globl codes\ncodes:\n" INSTRUCTIONS(
	EACH) ".globl codes_end\ncodes_end:\n");
__asm__(".globl others\nothers:\n" OTHERS(EACH) ".globl others_end\nothers_end:\n");
extern uint32_t codes[], codes_end[], others[], others_end[];
#define NAME(text) text,
static const char *const names[] = { INSTRUCTIONS(NAME) };

static void by_machine(const uint32_t *code, struct regs *r)
{
	register uint64_t x2 __asm__("x2") = r->x[2], x3 __asm__("x3") = r->x[3], x10 __asm__("x10") = r->x[10];
	register uint64_t x11 __asm__("x11") = r->x[11];
	__asm__ volatile("ldp q2, q3, [%[v]]\n\tblr %[code]\n\tstp q2, q3, [%[v]]"
			 : "+r"(x2), "+r"(x3), "+r"(x10)
			 : "r"(x11), [code] "r"(code), [v] "r"(vectors[2])
			 : "x30", "v2", "v3", "memory");
	r->x[2] = x2, r->x[3] = x3, r->x[10] = x10;
}

static uint64_t seed = 88172645463325252;
static uint64_t value(void)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed;
}

enum { CELLS = 64 };

static void compare(const uint32_t *code, const char *name)
{
	struct regs machine = { 0 }, ours;
	uint64_t cells[2][CELLS], before[CELLS], given[2][2], theirs[2][2];
	for (int i = 0; i < CELLS; i++)
		before[i] = value();
	machine.x[2] = value(), machine.x[3] = value();
	/* dirt above a narrow index; a few elements up or down, but not down where it has no sign */
	machine.x[11] = strstr(name, "sxtw") || strstr(name, "uxtw") ? value() << 32 : 0;
	int64_t index = (int64_t)(value() % 4) - (strstr(name, "sxt") ? 2 : 0);
	machine.x[11] |= machine.x[11] ? (uint32_t)index : (uint64_t)index;
	for (int i = 0; i < 2; i++)
		given[i][0] = value(), given[i][1] = value();
	ours = machine;
	memcpy(cells[0], before, sizeof before);
	memcpy(cells[1], before, sizeof before);
	uint64_t at = CELLS / 2 * 8;
	machine.x[10] = (uint64_t)cells[0] + at;
	ours.x[10] = (uint64_t)cells[1] + at;
	memcpy(vectors[2], given, sizeof given);
	by_machine(code, &machine);
	memcpy(theirs, vectors[2], sizeof theirs);
	memcpy(vectors[2], given, sizeof given);
	struct reach reach;
	plain_reach(*code, &ours, &reach);
	enum atomic_done done = plain_perform(*code, &ours);
	machine.x[10] -= (uint64_t)cells[0];
	ours.x[10] -= (uint64_t)cells[1];
	bool same = !memcmp(cells[0], cells[1], sizeof before) && !memcmp(&machine, &ours, sizeof ours) &&
		    !memcmp(theirs, vectors[2], sizeof theirs);
	if (!same)
		fprintf(stderr, "%s\n", name);
	EXPECT(same);
	EXPECT(done == (name[0] == 'l' ? ATOMIC_READ : ATOMIC_WROTE));
	/* what changed lies within its reach, which tells for stores that the address is right */
	for (uint64_t b = 0; b < sizeof before; b++)
		EXPECT(((uint8_t *)cells[1])[b] == ((uint8_t *)before)[b] ||
		       ((uint64_t)cells[1] + b >= reach.address &&
			(uint64_t)cells[1] + b < reach.address + reach.bytes));
}

int main(void)
{
	unsigned count = sizeof names / sizeof *names;
	EXPECT(codes_end - codes == 2 * (long)count);
	for (unsigned i = 0; i < count; i++) {
		if (!plain_is((const uint8_t *)&codes[2 * i]))
			fprintf(stderr, "%s\n", names[i]);
		EXPECT(plain_is((const uint8_t *)&codes[2 * i]));
		EXPECT(!plain_is((const uint8_t *)&codes[2 * i + 1]));
		for (int n = 0; n < 3000; n++)
			compare(&codes[2 * i], names[i]);
	}
	for (const uint32_t *i = others; i < others_end; i++)
		EXPECT(!plain_is((const uint8_t *)i));
	printf("plain_test: ok\n");
	return 0;
}
#else
int main(void)
{
	return 0; /* access_test.c has those of x86-64 */
}
#endif
