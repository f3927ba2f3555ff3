/*
 * The atomic instructions that unmodified programs are found to have, done by loader/arch/aarch64/atomic.c, against the
 * machine that does them itself: same memory, same registers, for every instruction, size and a few thousand values.
 * What could go wrong: a field taken from the wrong bits, a narrow value with dirt in its upper half, signed and unsigned
 * mixed up, a register that must stay as it was. And: instructions that look alike must not be found.
 * Those of x86-64: access_test.c.
 */
#ifdef __aarch64__
#include "loader/arch/aarch64/atomic.c"

#include "tests/unit/instructions.h"

#define CODE(word) ((const uint8_t *)&(const uint32_t){ word })

static enum atomic_done by_us(uint32_t word, struct regs *r, struct exclusive *e)
{
	struct reach a = reach_at(CODE(word), r);
	EXPECT(!a.plain && a.length == 4);
	return reach_perform(&a, r, e);
}

/* ---- plain.c has its own test ----------------------------------------------------------------------------- */

void plain_reach(uint32_t instruction, const struct regs *r, struct reach *a)
{
	(void)instruction, (void)r, (void)a;
}

enum atomic_done plain_perform(uint32_t instruction, struct regs *r)
{
	(void)instruction, (void)r;
	return ATOMIC_FAULT;
}

/* What the runtime has from its own assembler. */
long user_cas(void *p, uint64_t size, uint64_t *expected, uint64_t desired)
{
	uint64_t there = 0;
	memcpy(&there, p, size);
	bool same = !memcmp(&there, expected, size);
	if (same)
		memcpy(p, &desired, size);
	else
		*expected = there;
	return same;
}

long user_cas16(void *p, uint64_t expected[2], const uint64_t desired[2])
{
	bool same = !memcmp(p, expected, 16);
	memcpy(same ? p : expected, same ? (const void *)desired : p, 16);
	return same;
}

/* Each is two instructions: it, and the way back. x10 has the address, x2 to x5 the rest. */
/* clang-format off */
#define INSTRUCTIONS(X) \
	X("ldarb w2, [x10]") X("ldarh w2, [x10]") X("ldar w2, [x10]") X("ldar x2, [x10]") \
	X("stlrb w2, [x10]") X("stlrh w2, [x10]") X("stlr w2, [x10]") X("stlr x2, [x10]") \
	X("stlr xzr, [x10]") X("ldapr x4, [x10]") X("ldaddb w2, w3, [x10]") X("ldaddalh w2, w3, [x10]") \
	X("ldadda w2, w3, [x10]") X("ldaddl x2, x3, [x10]") X("stadd x2, [x10]") X("ldclr x2, x3, [x10]") \
	X("ldclralb w2, w3, [x10]") X("ldeoral x2, x3, [x10]") X("ldeorh w2, w2, [x10]") \
	X("ldsetal w2, w3, [x10]") X("ldsmaxb w2, w3, [x10]") X("ldsmax x2, x3, [x10]") \
	X("ldsminalh w2, w3, [x10]") X("ldsmin w2, w3, [x10]") X("ldumaxb w2, w3, [x10]") \
	X("ldumaxal x2, x3, [x10]") X("ldumin w2, w3, [x10]") X("lduminalh w2, w3, [x10]") \
	X("swpb w2, w3, [x10]") X("swpal w2, w3, [x10]") X("swp x2, x2, [x10]") X("casb w2, w3, [x10]") \
	X("casalh w2, w3, [x10]") X("casal w2, w3, [x10]") X("casl x2, x3, [x10]") \
	X("casp w2, w3, w4, w5, [x10]") X("caspal x2, x3, x4, x5, [x10]")
/* clang-format on */

__asm__(".text\n.balign 4\n.arch armv8.3-a\n.globl codes\ncodes:\n");
#define EACH(text) "\t" text "\n\tret\n"
__asm__(INSTRUCTIONS(EACH) ".globl codes_end\ncodes_end:\n");
extern uint32_t codes[], codes_end[];
#define NAME(text) text,
static const char *const names[] = { INSTRUCTIONS(NAME) };

static void by_machine(const uint32_t *code, struct regs *r)
{
	register uint64_t x2 __asm__("x2") = r->x[2], x3 __asm__("x3") = r->x[3], x4 __asm__("x4") = r->x[4];
	register uint64_t x5 __asm__("x5") = r->x[5], x10 __asm__("x10") = r->x[10];
	__asm__ volatile("blr %[code]"
			 : "+r"(x2), "+r"(x3), "+r"(x4), "+r"(x5), "+r"(x10)
			 : [code] "r"(code)
			 : "x30", "memory");
	r->x[2] = x2, r->x[3] = x3, r->x[4] = x4, r->x[5] = x5, r->x[10] = x10;
}

static uint64_t seed = 88172645463325252;
static uint64_t value(void)
{
	static const uint64_t special[] = { 0,	    1,		0x7f,	    0x80,	0xff,	   0x7fff,
					    0x8000, 0x7fffffff, 0x80000000, UINT64_MAX, 1ull << 63 };
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed % 3 ? seed : special[seed / 3 % (sizeof special / sizeof *special)];
}

static void compare(const uint32_t *code, const char *name)
{
	struct regs machine = { 0 }, ours;
	uint64_t cells[2][4] __attribute__((aligned(16))), before[4];
	struct exclusive e = { 0 };
	for (int i = 0; i < 4; i++)
		before[i] = value();
	for (int i = 2; i < 6; i++)
		machine.x[i] = value() % 2 ? before[(i + 1) % 2 + 1] : value(); /* often what a comparison wants */
	machine.x[2] = value() % 2 ? before[1] : machine.x[2];
	ours = machine;
	memcpy(cells[0], before, sizeof before);
	memcpy(cells[1], before, sizeof before);
	machine.x[10] = (uint64_t)&cells[0][strstr(name, "casp") ? 2 : 1];
	ours.x[10] = (uint64_t)&cells[1][strstr(name, "casp") ? 2 : 1];
	by_machine(code, &machine);
	EXPECT(reach_at((const uint8_t *)code, &ours).address == ours.x[10]);
	enum atomic_done done = by_us(*code, &ours, &e);
	bool wrote = memcmp(cells[1], before, sizeof before);
	EXPECT(done == ATOMIC_READ || done == ATOMIC_WROTE);
	EXPECT(!wrote || done == ATOMIC_WROTE);
	machine.x[10] = ours.x[10] = 0;
	if (memcmp(cells[0], cells[1], sizeof before) || memcmp(&machine, &ours, sizeof ours))
		fprintf(stderr, "%s\n", name);
	EXPECT(!memcmp(cells[0], cells[1], sizeof before) && !memcmp(&machine, &ours, sizeof ours));
}

/* ldaxr w2, [x10]; stlxr w3, w4, [x10]; ldaxp x2, x5, [x10]; stlxp w3, x4, x4, [x10] */
static void exclusives(void)
{
	uint64_t cell[2] __attribute__((aligned(16))) = { 7, 8 };
	struct exclusive e = { 0 };
	struct regs r = { .x = { [4] = 9, [10] = (uint64_t)cell } };
	EXPECT(by_us(0x885ffd42, &r, &e) == ATOMIC_READ && r.x[2] == 7);
	EXPECT(by_us(0x8803fd44, &r, &e) == ATOMIC_WROTE && r.x[3] == 0 && cell[0] == 9);
	EXPECT(by_us(0x8803fd44, &r, &e) == ATOMIC_READ && r.x[3] == 1); /* no load before */
	EXPECT(by_us(0x885ffd42, &r, &e) == ATOMIC_READ);
	cell[0] = 10; /* another thread */
	EXPECT(by_us(0x8803fd44, &r, &e) == ATOMIC_READ && r.x[3] == 1 && cell[0] == 10);
	EXPECT(by_us(0xc87f9542, &r, &e) == ATOMIC_READ && r.x[2] == 10 && r.x[5] == 8);
	EXPECT(by_us(0xc8239144, &r, &e) == ATOMIC_WROTE && r.x[3] == 0 && cell[0] == 9 && cell[1] == 9);
}

int main(void)
{
	size_t count = sizeof names / sizeof *names;
	EXPECT(codes_end - codes == (long)(2 * count));
	for (size_t i = 0; i < count; i++) {
		EXPECT(atomic_is(CODE(codes[2 * i])) && !atomic_is(CODE(codes[2 * i + 1])));
		for (int round = 0; round < 3000; round++)
			compare(&codes[2 * i], names[i]);
	}
	exclusives();
	/* ldr, str, ldp, ldr by register, prfm, clrex, svc: plain */
	static const uint32_t plain[] = { 0xb9400041, 0xf9000041, 0xa9400841, 0xf8636841,
					  0xf9800040, 0xd5033f5f, 0xd4000001 };
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		EXPECT(!atomic_is(CODE(plain[i])));
	return 0;
}
#else
int main(void)
{
	return 0; /* access_test.c has those of x86-64 */
}
#endif
