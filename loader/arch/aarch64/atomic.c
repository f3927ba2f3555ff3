/*
 * aarch64: atomic instructions, and what they do.
 *
 * Done here by compare-and-swap (or a load, or a store that follows everything before it), with a full barrier after
 * it. That is at least as strong as each of them: what came before is before the swap, which is a release; a load comes
 * after any of these that the thread made before, by the barrier behind that one. A barrier before it as well cost 6 of
 * 67 ns. A load-exclusive keeps what it saw, and the store-exclusive compares: it takes place also if the value went
 * and came back meanwhile, which no program can rely on not to happen, since its value would tell it nothing else.
 */
#include "loader/arch/aarch64/plain.h"
#include "runtime/atomics/atomics.h"
#include "runtime/runtime.h"

const bool atomics_told = true;

enum kind { NONE, LOAD, STORE, CHANGE, SWAP, CAS, CAS_PAIR, LOAD_EXCLUSIVE, STORE_EXCLUSIVE, LOAD_PAIR, STORE_PAIR };

/* The manual's "loads and stores" tables: fixed bits, by which an instruction is known. Bits 31:30 are the size. */
static const struct {
	uint32_t mask, value;
	enum kind kind;
} instructions[] = {
	{ 0x3ffffc00, 0x08dffc00, LOAD },	    /* ldar */
	{ 0x3ffffc00, 0x38bfc000, LOAD },	    /* ldapr */
	{ 0x3ffffc00, 0x089ffc00, STORE },	    /* stlr */
	{ 0x3f208c00, 0x38200000, CHANGE },	    /* ldadd, ldclr, ldeor, ldset, ldsmax, ...: which one is in 14:12 */
	{ 0x3f20fc00, 0x38208000, SWAP },	    /* swp */
	{ 0x3fa07c00, 0x08a07c00, CAS },	    /* cas */
	{ 0xbfa07c00, 0x08207c00, CAS_PAIR },	    /* casp */
	{ 0x3fff7c00, 0x085f7c00, LOAD_EXCLUSIVE }, /* ldxr, ldaxr */
	{ 0x3fe07c00, 0x08007c00, STORE_EXCLUSIVE }, /* stxr, stlxr */
	{ 0xbfff0000, 0x887f0000, LOAD_PAIR },	     /* ldxp, ldaxp */
	{ 0xbfe00000, 0x88200000, STORE_PAIR },	     /* stxp, stlxp */
};

static enum kind kind_of(uint32_t i)
{
	/* one look for nearly all instructions */
	if ((i & 0x3f000000) != 0x08000000 && (i & 0x3f200c00) != 0x38200000)
		return NONE;
	for (unsigned n = 0; n < COUNT(instructions); n++)
		if ((i & instructions[n].mask) == instructions[n].value)
			return instructions[n].kind;
	return NONE;
}

static uint32_t word(const uint8_t *code)
{
	return *(const uint32_t *)code;
}

bool atomic_is(const uint8_t *code)
{
	return kind_of(word(code)) != NONE;
}

static unsigned field(uint32_t instruction, unsigned bit)
{
	return instruction >> bit & 31;
}
#define RT(i)  field(i, 0)
#define RN(i)  field(i, 5)
#define RT2(i) field(i, 10)
#define RS(i)  field(i, 16)

static uint64_t get(const struct regs *r, unsigned n)
{
	return n == 31 ? 0 : r->x[n];
}

/* Registers hold `size` bytes, the rest of them becomes 0. */
static uint64_t cut(uint64_t value, unsigned size)
{
	return size == 8 ? value : value & ((1ull << size * 8) - 1);
}

static void set(struct regs *r, unsigned n, uint64_t value)
{
	if (n != 31)
		r->x[n] = value;
}

static uint64_t address_of(uint32_t i, const struct regs *r)
{
	return RN(i) == 31 ? r->sp : r->x[RN(i)];
}

static int64_t as_signed(uint64_t v, unsigned size)
{
	return (int64_t)(v << (64 - size * 8)) >> (64 - size * 8);
}

static uint64_t changed(uint32_t i, uint64_t old, uint64_t by, unsigned size)
{
	bool less = as_signed(old, size) < as_signed(by, size);
	switch (i >> 12 & 7) {
	case 0: return old + by;
	case 1: return old & ~by;
	case 2: return old ^ by;
	case 3: return old | by;
	case 4: return less ? by : old; /* smax */
	case 5: return less ? old : by;
	case 6: return old < by ? by : old; /* umax */
	default: return old < by ? old : by;
	}
}

static enum atomic_done change(uint32_t i, struct regs *r, bool swap)
{
	unsigned size = 1u << (i >> 30);
	void *p = (void *)address_of(i, r);
	uint64_t old, by = cut(get(r, RS(i)), size);
	long took;
	if (user_load(p, size, &old))
		return ATOMIC_FAULT;
	do {
		old = cut(old, size);
		took = user_cas(p, size, &old, swap ? by : cut(changed(i, old, by, size), size));
	} while (!took);
	if (took < 0)
		return ATOMIC_FAULT;
	set(r, RT(i), cut(old, size));
	return ATOMIC_WROTE;
}

static enum atomic_done load(uint32_t i, struct regs *r, struct exclusive *e)
{
	unsigned size = 1u << (i >> 30);
	uint64_t address = address_of(i, r), value;
	if (user_load((void *)address, size, &value))
		return ATOMIC_FAULT;
	value = cut(value, size);
	if (e)
		*e = (struct exclusive){ address, { value, 0 } };
	set(r, RT(i), value);
	return ATOMIC_READ;
}

static enum atomic_done store(uint32_t i, struct regs *r)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* user_store() is a plain one */
	if (user_store((void *)address_of(i, r), 1u << (i >> 30), get(r, RT(i))))
		return ATOMIC_FAULT;
	return ATOMIC_WROTE;
}

static enum atomic_done compare_and_swap(uint32_t i, struct regs *r)
{
	unsigned size = 1u << (i >> 30);
	uint64_t expected = cut(get(r, RS(i)), size);
	long took = user_cas((void *)address_of(i, r), size, &expected, cut(get(r, RT(i)), size));
	if (took < 0)
		return ATOMIC_FAULT;
	set(r, RS(i), cut(expected, size));
	return took ? ATOMIC_WROTE : ATOMIC_READ;
}

/* Two registers of 4 or of 8 bytes, as they lie in memory. */
static long cas_pair(uint64_t address, bool wide, uint64_t expected[2], const uint64_t desired[2])
{
	if (wide)
		return user_cas16((void *)address, expected, desired);
	uint64_t old = cut(expected[0], 4) | expected[1] << 32;
	long took = user_cas((void *)address, 8, &old, cut(desired[0], 4) | desired[1] << 32);
	expected[0] = cut(old, 4);
	expected[1] = old >> 32;
	return took;
}

static enum atomic_done swap_pair(uint32_t i, struct regs *r)
{
	unsigned s = RS(i), t = RT(i);
	uint64_t expected[2] = { get(r, s), get(r, s + 1) }, desired[2] = { get(r, t), get(r, t + 1) };
	long took = cas_pair(address_of(i, r), i & 1u << 30, expected, desired);
	if (took < 0)
		return ATOMIC_FAULT;
	set(r, s, expected[0]);
	set(r, s + 1, expected[1]);
	return took ? ATOMIC_WROTE : ATOMIC_READ;
}

static enum atomic_done load_pair(uint32_t i, struct regs *r, struct exclusive *e)
{
	uint64_t there[2] = { 0, 0 }, address = address_of(i, r);
	const uint64_t zero[2] = { 0, 0 };
	/* one value of two words: read by a comparison that changes nothing */
	if (cas_pair(address, i & 1u << 30, there, zero) < 0)
		return ATOMIC_FAULT;
	*e = (struct exclusive){ address, { there[0], there[1] } };
	set(r, RT(i), there[0]);
	set(r, RT2(i), there[1]);
	return ATOMIC_READ;
}

static enum atomic_done store_exclusive(uint32_t i, struct regs *r, struct exclusive *e, bool pair)
{
	unsigned size = 1u << (i >> 30);
	uint64_t address = address_of(i, r), desired[2] = { get(r, RT(i)), get(r, RT2(i)) };
	long took = 0;
	if (e->address == address)
		took = pair ? cas_pair(address, i & 1u << 30, e->value, desired) :
			      user_cas((void *)address, size, e->value, cut(desired[0], size));
	if (took < 0)
		return ATOMIC_FAULT;
	e->address = 0;
	set(r, RS(i), took ? 0 : 1);
	return took ? ATOMIC_WROTE : ATOMIC_READ;
}

static enum atomic_done perform(uint32_t i, struct regs *r, struct exclusive *e)
{
	switch (kind_of(i)) {
	case LOAD: return load(i, r, 0);
	case STORE: return store(i, r);
	case CHANGE: return change(i, r, false);
	case SWAP: return change(i, r, true);
	case CAS: return compare_and_swap(i, r);
	case CAS_PAIR: return swap_pair(i, r);
	case LOAD_EXCLUSIVE: return load(i, r, e);
	case STORE_EXCLUSIVE: return store_exclusive(i, r, e, false);
	case LOAD_PAIR: return load_pair(i, r, e);
	case STORE_PAIR: return store_exclusive(i, r, e, true);
	case NONE: break;
	}
	return ATOMIC_FAULT;
}

struct reach reach_at(const uint8_t *code, const struct regs *r)
{
	struct reach a = { .code = code, .length = 4, .plain = !atomic_is(code), .bytes = 1 };
	if (a.plain)
		plain_reach(word(code), r, &a);
	else
		a.address = address_of(word(code), r); /* whose piece holds all of it */
	return a;
}

enum atomic_done reach_perform(const struct reach *a, struct regs *r, struct exclusive *e)
{
	uint32_t i = word(a->code);
	enum atomic_done done = a->plain ? plain_perform(i, r) : perform(i, r, e);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return done;
}
