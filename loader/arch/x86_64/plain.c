/*
 * x86-64: the loads and stores of a library all of whose accesses are ops, atomic or not.
 *
 * Each is made by the instruction itself: a copy of it stands in its stub, and instruction_run() goes there with the
 * program's registers and comes back with them. So only what it accesses must be known here, and whether it writes.
 *
 * Found are instructions with an operand in memory. Left out are those that do not access it (lea, nop, prefetches),
 * that go there (call, jmp) or belong to the stack (push, pop), strings, the thread's own control block (%fs: and a
 * positive distance), gathered and scattered vectors, and those of AVX-512.
 *
 * No fence: the op's lock before it and that of the next op are locked instructions, which wait for all stores before;
 * and stores come in their order. Only those that go around the cache do not (WRITES_LATER): they get a fence.
 */
#include "loader/arch/arch.h"
#include "loader/arch/x86_64/decode.h"
#include "runtime/atomics/atomics.h"
#include "runtime/runtime.h"

enum { FS = 0x64, GS = 0x65, OTHER_LOADS = 0xf3 };

unsigned instruction_length(const uint8_t *code, uint64_t room)
{
	struct instruction i;
	return decode(code, room, &i) ? i.length : 0;
}

/* ---- what it does to its operand in memory ----------------------------------------------------- */

enum effect {
	NO_ACCESS,
	READS,
	WRITES,
	WRITES_LATER, /* than stores behind it */
	COMPARES      /* and writes if that is equal */
};

static enum effect effect_of_one(uint8_t opcode, unsigned operation)
{
	switch (opcode) {
	case 0x00 ... 0x37: return opcode & 2 ? READS : WRITES; /* arithmetic */
	case 0x38 ... 0x3b:					/* cmp */
	case 0x63:						/* movslq */
	case 0x69:
	case 0x6b: /* imul */
	case 0x84:
	case 0x85: /* test */
	case 0x8a:
	case 0x8b: return READS; /* mov */
	case 0x80:
	case 0x81:
	case 0x83: return operation == 7 ? READS : WRITES; /* arithmetic with a constant: 7 is cmp */
	case 0x86 ... 0x89:				   /* xchg, mov */
	case 0xc0:
	case 0xc1: /* shifts */
	case 0xc6:
	case 0xc7:			   /* mov of a constant */
	case 0xd0 ... 0xd3:		   /* shifts */
	case 0xd8 ... 0xdf: return WRITES; /* of the old floating-point unit, or reads */
	case 0xf6:
	case 0xf7: return operation == 2 || operation == 3 ? WRITES : READS; /* not, neg; test, mul, div */
	case 0xfe:
	case 0xff: return operation < 2 ? WRITES : NO_ACCESS; /* inc, dec; call, jmp, push */
	}
	return NO_ACCESS;
}

static enum effect effect_of_0f(uint8_t opcode, unsigned operation, uint8_t repeat)
{
	switch (opcode) {
	case 0x7e: return repeat == OTHER_LOADS ? READS : WRITES;
	case 0x11:
	case 0x13:
	case 0x17:
	case 0x29:
	case 0x7f:
	case 0xd6:	    /* vectors to memory */
	case 0x90 ... 0x9f: /* set */
	case 0xa4:
	case 0xa5:
	case 0xac:
	case 0xad: /* double shifts */
	case 0xab:
	case 0xb3:
	case 0xbb: /* bits */
	case 0xc0:
	case 0xc1: return WRITES; /* xadd */
	case 0x2b:
	case 0xc3:
	case 0xe7: return WRITES_LATER; /* movnt */
	case 0xb0:
	case 0xb1:
	case 0xc7: return COMPARES; /* cmpxchg, cmpxchg16b */
	case 0xba: return operation == 4 ? READS : WRITES;
	case 0x10:
	case 0x12:
	case 0x14 ... 0x16:
	case 0x28:
	case 0x2a:
	case 0x2c ... 0x2f:
	case 0x40 ... 0x7d: /* cmov, vectors */
	case 0xa3:
	case 0xaf:
	case 0xb6 ... 0xb8:
	case 0xbc ... 0xbf: /* movzx, movsx, counts of bits */
	case 0xc2:
	case 0xc4:
	case 0xc6:
	case 0xd0 ... 0xd5:
	case 0xd7 ... 0xe6:
	case 0xe8 ... 0xfe: return READS; /* vectors */
	}
	return NO_ACCESS;
}

static enum effect effect_of_0f38(uint8_t opcode, bool vex)
{
	switch (opcode) {
	case 0x90 ... 0x93: return vex ? NO_ACCESS : READS; /* gathers */
	case 0x2e:
	case 0x2f:
	case 0x8e:			/* by a mask */
	case 0xf1:			/* movbe, or a checksum, which reads */
	case 0xe0 ... 0xef:		/* compares and adds */
	case 0xfc: return WRITES;	/* adds, and the like */
	case 0xf9: return WRITES_LATER; /* movdiri */
	}
	return READS;
}

static enum effect effect_of_0f3a(uint8_t opcode)
{
	switch (opcode) {
	case 0x14 ... 0x17:
	case 0x19:
	case 0x1d:
	case 0x39: return WRITES; /* parts of vectors to memory */
	}
	return READS;
}

static enum effect effect_of(const uint8_t *code, const struct instruction *i)
{
	if (i->evex || i->address32 || i->segment == GS || !has_memory(code, i))
		return NO_ACCESS;
	unsigned operation = OPERAND_REGISTER(code[i->operand_at]);
	switch (i->map) {
	case MAP_ONE: return effect_of_one(i->opcode, operation);
	case MAP_0F:
		return i->opcode == 0xc7 && operation != 1 ? NO_ACCESS : effect_of_0f(i->opcode, operation, i->repeat);
	case MAP_0F38: return effect_of_0f38(i->opcode, i->vex);
	case MAP_0F3A: return effect_of_0f3a(i->opcode);
	}
	return NO_ACCESS;
}

/* ---- where it is ----------------------------------------------------------------------------- */

static int64_t displacement(const uint8_t *code, const struct instruction *i)
{
	int32_t four = 0;
	if (i->displacement_size == 1)
		return (int8_t)code[i->displacement_at];
	memcpy(&four, code + i->displacement_at, i->displacement_size);
	return four;
}

/* An address without registers, which is always the same distance from where the segment begins. */
static bool is_absolute(const uint8_t *code, const struct instruction *i)
{
	const uint8_t *p = code + i->operand_at;
	return OPERAND_MODE(p[0]) == 0 && OPERAND_BASE(p[0]) == BASE_INDEXED && OPERAND_BASE(p[1]) == BASE_NONE &&
	       !is_indexed(code, i);
}

/* Also of those that atomic_is() tells, which asks first. */
bool plain_is(const uint8_t *code)
{
	struct instruction i;
	if (!decode(code, INSTRUCTION_MOST, &i) || effect_of(code, &i) == NO_ACCESS)
		return false;
	return !(i.segment == FS && is_absolute(code, &i) && displacement(code, &i) >= 0);
}

/* By the hardware's number. */
static uint64_t get(const struct regs *r, unsigned n)
{
	return n == 4 ? r->sp : (&r->rax)[n];
}

static uint64_t segment_base(const struct instruction *i)
{
	uint64_t base = 0;
	if (i->segment == FS)
		__asm__("mov %%fs:0, %0" : "=r"(base)); /* where every thread's block has its own address */
	return base;
}

static unsigned operand_size(const struct instruction *i)
{
	return i->rex & 8 ? 8 : i->short16 ? 2 : 4;
}

/* bt and its like, with the number of the bit in a register: how far from its address the bit is. */
static uint64_t bit_string(const uint8_t *code, const struct instruction *i, const struct regs *r)
{
	if (i->map != MAP_0F || i->vex || (i->opcode & 0xe7) != 0xa3)
		return 0;
	unsigned bytes = operand_size(i), rest = 64 - 8 * bytes;
	uint64_t bit = get(r, OPERAND_REGISTER(code[i->operand_at]) | (i->rex & 4) << 1);
	return (uint64_t)((int64_t)(bit << rest) >> rest >> 3) & -(uint64_t)bytes;
}

static uint64_t address_of(const uint8_t *code, const struct instruction *i, const struct regs *r)
{
	const uint8_t *p = code + i->operand_at;
	uint64_t at = segment_base(i) + (uint64_t)displacement(code, i) + bit_string(code, i, r);
	unsigned base = OPERAND_BASE(p[0]);
	if (is_pc_relative(code, i))
		return at + (uint64_t)code + i->length;
	if (base == BASE_INDEXED) {
		unsigned index = OPERAND_REGISTER(p[1]) | (i->rex & 2) << 2;
		if (index != 4)
			at += get(r, index) << (p[1] >> 6);
		base = OPERAND_BASE(p[1]);
		if (base == BASE_NONE && OPERAND_MODE(p[0]) == 0)
			return at;
	}
	return at + get(r, base | (i->rex & 1) << 3);
}

/* At least as many bytes as it accesses. */
static unsigned bytes_of(const struct instruction *i)
{
	uint8_t o = i->opcode;
	if (i->vex || i->map == MAP_0F38 || i->map == MAP_0F3A)
		return i->vex ? 32 : 16;
	if (i->map == MAP_ONE)
		return o == 0x63 ? 4 : o >= 0xd8 && o <= 0xdf ? 16 : o & 1 ? operand_size(i) : 1;
	if (o >= 0x90 && o <= 0x9f)
		return 1;
	if ((o >= 0x40 && o <= 0x4f) || (o >= 0xa3 && o <= 0xc3 && o != 0xc2))
		return o == 0xb0 || o == 0xb6 || o == 0xbe || o == 0xc0 ? 1 : operand_size(i);
	return 16;
}

struct reach reach_at(const uint8_t *code, const struct regs *r)
{
	struct instruction i;
	decode(code, INSTRUCTION_LOOK, &i); /* in a stub there is room */
	return (struct reach){ .code = code,
			       .length = i.length,
			       .plain = !is_told(&i),
			       .address = address_of(code, &i, r),
			       .bytes = bytes_of(&i),
			       .how = effect_of(code, &i) };
}

enum atomic_done reach_perform(const struct reach *a, struct regs *r, struct exclusive *e)
{
	enum { EQUAL = 0x40 };
	(void)e;
	if (instruction_run(a->code, r))
		return ATOMIC_FAULT;
	if (a->how == WRITES_LATER)
		__asm__ volatile("sfence" ::: "memory");
	if (a->how == COMPARES)
		return r->flags & EQUAL ? ATOMIC_WROTE : ATOMIC_READ;
	return a->how == READS ? ATOMIC_READ : ATOMIC_WROTE;
}
