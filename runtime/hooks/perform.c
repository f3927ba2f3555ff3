/*
 * One access of the program's, made on its behalf. Nothing here orders it with other accesses: that is the scheme's
 * affair, which holds a lock or validates. A fault comes back as false, with nothing changed.
 */
#include "runtime/runtime.h"

static uint64_t mask_of(uint32_t size)
{
	return size >= 8 ? ~0ull : (1ull << size * 8) - 1;
}

static int64_t signed_of(uint64_t value, uint32_t size)
{
	unsigned shift = 64 - size * 8;
	return (int64_t)(value << shift) >> shift;
}

static uint64_t computed(enum hook_rmw op, uint64_t old, uint64_t operand, uint32_t size)
{
	bool less = signed_of(old, size) < signed_of(operand, size);
	switch (op) {
	case HOOK_XCHG: return operand;
	case HOOK_ADD: return old + operand;
	case HOOK_SUB: return old - operand;
	case HOOK_AND: return old & operand;
	case HOOK_NAND: return ~(old & operand);
	case HOOK_OR: return old | operand;
	case HOOK_XOR: return old ^ operand;
	case HOOK_MAX: return less ? operand : old;
	case HOOK_MIN: return less ? old : operand;
	case HOOK_UMAX: return old < operand ? operand : old;
	case HOOK_UMIN: return old < operand ? old : operand;
	case HOOK_UINC_WRAP: return old >= operand ? 0 : old + 1;
	case HOOK_UDEC_WRAP: return !old || old > operand ? operand : old - 1;
	}
	BUG("unknown read-modify-write");
}

/* The part of an access that is cut may have any size: byte by byte then. It need not be atomic. Others are made by
   access_perform(). */
static bool load(struct access *a)
{
	a->old[0] = 0;
	return !user_copy(&a->old[0], (void *)a->addr, a->size);
}

static bool store(struct access *a)
{
	return !user_copy((void *)a->addr, &a->value[0], a->size);
}

static bool modify(struct access *a, enum hook_rmw op)
{
	uint64_t operand = a->value[0] & mask_of(a->size);
	long r = user_load((void *)a->addr, a->size, &a->old[0]);
	while (!r)
		r = user_cas((void *)a->addr, a->size, &a->old[0],
			     computed(op, a->old[0], operand, a->size) & mask_of(a->size));
	return r > 0;
}

/* 16 bytes: what is bitwise goes by halves; sums carry, and what is greater says the upper half first. */
static void computed_wide(enum hook_rmw op, const uint64_t old[2], const uint64_t operand[2], uint64_t new[2])
{
	unsigned __int128 a = (unsigned __int128)old[1] << 64 | old[0],
			  b = (unsigned __int128)operand[1] << 64 | operand[0], r;
	bool below = (__int128)a < (__int128)b;
	switch (op) {
	case HOOK_ADD: r = a + b; break;
	case HOOK_SUB: r = a - b; break;
	case HOOK_MAX: r = below ? b : a; break;
	case HOOK_MIN: r = below ? a : b; break;
	case HOOK_UMAX: r = a < b ? b : a; break;
	case HOOK_UMIN: r = a < b ? a : b; break;
	default:
		for (int i = 0; i < 2; i++)
			new[i] = computed(op, old[i], operand[i], 8);
		return;
	}
	new[0] = (uint64_t)r;
	new[1] = (uint64_t)(r >> 64);
}

static bool modify_wide(struct access *a, enum hook_rmw op)
{
	uint64_t new[2];
	long r = 0;
	a->old[0] = a->old[1] = 0;
	while (!r) {
		computed_wide(op, a->old, a->value, new);
		r = user_cas16((void *)a->addr, a->old, new);
	}
	return r > 0;
}

static bool perform_wide(struct access *a)
{
	switch (a->op) {
	case OP_LOAD: /* one value: exchanged with itself */
		a->old[0] = a->old[1] = 0;
		return user_cas16((void *)a->addr, a->old, a->old) >= 0;
	case OP_STORE: return modify_wide(a, HOOK_XCHG);
	case OP_CAS: return user_cas16((void *)a->addr, a->old, a->value) >= 0;
	default: return modify_wide(a, (enum hook_rmw)(a->op - OP_RMW));
	}
}

bool access_perform_other(struct access *a)
{
	if (a->op == OP_NONE)
		return true;
	if (a->size == 16)
		return perform_wide(a);
	switch (a->op) {
	case OP_LOAD: return load(a);
	case OP_STORE: return store(a);
	case OP_CAS:
		a->old[0] &= mask_of(a->size);
		return user_cas((void *)a->addr, a->size, &a->old[0], a->value[0]) >= 0;
	default: return modify(a, (enum hook_rmw)(a->op - OP_RMW));
	}
}
