/*
 * aarch64: loads and stores like any other, and what they do.
 *
 * The forms that compilers use for variables: one register or two, general or vector, with an offset, a register or a
 * base that moves. Left out are loads beside the code, which are constants, exclusive and atomic ones (atomic.c), and
 * structures of vectors. Also left out is what saves registers on the stack, and takes them back: pairs by sp, and an
 * sp that moves.
 *
 * A full barrier stands behind each, as behind those in atomic.c (reach_perform()), so that what a thread does with one
 * word and then with another comes in that order for all.
 */
#include "loader/arch/arch.h"
#include "loader/arch/aarch64/plain.h"
#include "runtime/runtime.h"

enum where { OFFSET, MOVED_BEFORE, MOVED_AFTER, BY_REGISTER };

struct shape {
	bool loads, vector;
	bool extends, narrow;  /* with the sign: to 64 bits, or to 32 */
	unsigned bytes, count; /* of a register; how many registers */
	enum where where;
	int64_t offset;
};

#define RT(i)  ((i)&31)
#define RN(i)  ((i) >> 5 & 31)
#define RT2(i) ((i) >> 10 & 31)
#define RM(i)  ((i) >> 16 & 31)
enum { SP = 31 };

static int64_t signed_field(uint32_t i, unsigned low, unsigned bits)
{
	return (int64_t)((uint64_t)i << (64 - low - bits)) >> (64 - bits);
}

static bool one_register(uint32_t i, struct shape *s)
{
	unsigned size = i >> 30, what = i >> 22 & 3;
	s->count = 1;
	s->vector = i >> 26 & 1;
	s->bytes = s->vector && what & 2 ? 16 : 1u << size;
	s->loads = s->vector ? what & 1 : what;
	s->extends = !s->vector && what & 2;
	s->narrow = s->extends && what & 1;
	/* else it has no such register, or is a prefetch */
	return s->vector ? !(what & 2 && size) : what < 2 || size + what < 5;
}

static bool two_registers(uint32_t i, struct shape *s)
{
	static const enum where wheres[] = { OFFSET, MOVED_AFTER, OFFSET, MOVED_BEFORE };
	unsigned size = i >> 30;
	s->count = 2;
	s->vector = i >> 26 & 1;
	s->loads = i >> 22 & 1;
	s->bytes = s->vector ? 4u << size : size == 2 ? 8 : 4;
	s->extends = !s->vector && size == 1;
	s->where = wheres[i >> 23 & 3];
	s->offset = signed_field(i, 15, 7) * s->bytes;
	return size != 3 && !(s->extends && !s->loads);
}

/* The manual's "loads and stores" tables; false: it is none of these. */
static bool decode(uint32_t i, struct shape *s)
{
	static const enum where wheres[] = { OFFSET, MOVED_AFTER, OFFSET /* another instruction */, MOVED_BEFORE };
	*s = (struct shape){ .where = OFFSET };
	if ((i & 0x3a000000) == 0x28000000)
		return two_registers(i, s);
	if ((i & 0x3b000000) == 0x39000000 && one_register(i, s)) {
		s->offset = (int64_t)((i >> 10 & 0xfff) * s->bytes);
		return true;
	}
	if ((i & 0x3b200000) == 0x38000000 && (i >> 10 & 3) != 2 && one_register(i, s)) {
		s->where = wheres[i >> 10 & 3];
		s->offset = signed_field(i, 12, 9);
		return true;
	}
	s->where = BY_REGISTER;
	return (i & 0x3b204c00) == 0x38204800 && one_register(i, s);
}

unsigned instruction_length(const uint8_t *code, uint64_t room)
{
	(void)code;
	return room >= INSTRUCTION_LEAST ? INSTRUCTION_LEAST : 0;
}

bool plain_is(const uint8_t *code)
{
	struct shape s;
	uint32_t instruction = *(const uint32_t *)code;
	return decode(instruction, &s) && !(RN(instruction) == SP && (s.count == 2 || s.where != OFFSET));
}

static uint64_t base_of(uint32_t i, const struct regs *r)
{
	return RN(i) == SP ? r->sp : r->x[RN(i)];
}

static uint64_t get(const struct regs *r, unsigned n)
{
	return n == 31 ? 0 : r->x[n];
}

static uint64_t index_of(uint32_t i, const struct shape *s, const struct regs *r)
{
	uint64_t index = get(r, RM(i));
	unsigned option = i >> 13 & 7;
	if (option == 2)
		index = (uint32_t)index;
	else if (option == 6)
		index = (uint64_t)(int64_t)(int32_t)index;
	return i & 1u << 12 ? index * s->bytes : index;
}

static uint64_t address_of(uint32_t i, const struct shape *s, const struct regs *r)
{
	if (s->where == BY_REGISTER)
		return base_of(i, r) + index_of(i, s, r);
	return s->where == MOVED_AFTER ? base_of(i, r) : base_of(i, r) + (uint64_t)s->offset;
}

void plain_reach(uint32_t instruction, const struct regs *r, struct reach *a)
{
	struct shape s;
	decode(instruction, &s);
	a->address = address_of(instruction, &s, r);
	a->bytes = s.bytes * s.count;
}

/* ---- a register and its bytes in memory ------------------------------------------------------------------------ */

static uint64_t extended(const struct shape *s, uint64_t value)
{
	unsigned rest = 64 - s->bytes * 8;
	value = (uint64_t)((int64_t)(value << rest) >> rest);
	return s->narrow ? (uint32_t)value : value;
}

static bool load(const struct shape *s, uint64_t from, uint64_t value[2])
{
	value[0] = value[1] = 0;
	if (s->bytes == 16 && user_load((void *)(from + 8), 8, &value[1]))
		return false;
	if (user_load((void *)from, MIN(s->bytes, 8), &value[0]))
		return false;
	if (s->extends)
		value[0] = extended(s, value[0]);
	return true;
}

static bool store(const struct shape *s, uint64_t to, unsigned n, const struct regs *r)
{
	uint64_t value[2] = { 0, 0 };
	if (s->vector)
		vector_get(n, value);
	else
		value[0] = get(r, n);
	if (s->bytes == 16 && user_store((void *)(to + 8), 8, value[1]))
		return false;
	return !user_store((void *)to, MIN(s->bytes, 8), value[0]);
}

static void put(const struct shape *s, unsigned n, const uint64_t value[2], struct regs *r)
{
	if (s->vector)
		vector_set(n, value);
	else if (n != 31)
		r->x[n] = value[0];
}

static bool perform(uint32_t i, const struct shape *s, uint64_t at, struct regs *r)
{
	uint64_t values[2][2];
	const unsigned names[2] = { RT(i), RT2(i) };
	for (unsigned n = 0; n < s->count; n++, at += s->bytes)
		if (!(s->loads ? load(s, at, values[n]) : store(s, at, names[n], r)))
			return false;
	for (unsigned n = 0; s->loads && n < s->count; n++)
		put(s, names[n], values[n], r);
	return true;
}

enum atomic_done plain_perform(uint32_t instruction, struct regs *r)
{
	struct shape s;
	decode(instruction, &s);
	uint64_t base = base_of(instruction, r) + (uint64_t)s.offset;
	if (!perform(instruction, &s, address_of(instruction, &s, r), r))
		return ATOMIC_FAULT;
	if (s.where == MOVED_BEFORE || s.where == MOVED_AFTER)
		*(RN(instruction) == SP ? &r->sp : &r->x[RN(instruction)]) = base;
	return s.loads ? ATOMIC_READ : ATOMIC_WROTE;
}
