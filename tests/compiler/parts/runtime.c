/*
 * A runtime for tests, preloaded: it performs every hooked access itself, one at a time, so that the slow side of each
 * diamond is run, and checks what hooks.h promises about brackets. Without HEDDLE_TEST it does nothing.
 *
 *   HEDDLE_TEST=perform   every access goes through here and is performed here
 *   HEDDLE_TEST=decline   every access comes here, and is left to the program
 *   HEDDLE_TEST=mixed     every third access comes here, and loops that can run without hooks do, nests now and then
 *
 * At exit a line on stderr: operations, events, polls.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "compiler/hooks.h"

static enum { OFF, PERFORM, DECLINE, MIXED } mode;
static const uint8_t none[1], both[1] = { 3 };
static uint64_t operations;
static volatile char lock;

struct mine {
	struct hook_self self;
	uint64_t entered;
	bool holding;
};
static __thread struct mine mine;

static void fail(const char *what)
{
	dprintf(2, "hooks: %s\n", what);
	abort();
}

/* One access at a time. */
static void begin(struct hook_self *self)
{
	if (!(self->events & 1))
		fail("an operation outside a bracket");
	if (self != &mine.self)
		fail("an operation with another thread's self");
	__atomic_fetch_add(&operations, 1, __ATOMIC_RELAXED);
	while (!mine.holding && __atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		;
	mine.holding = true; /* also after a fault has ended an operation before its end */
}

static void release(void)
{
	mine.holding = false;
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

static struct hook_result end(uint64_t value)
{
	if (mode == MIXED) { /* the next two go by, and every other time polls do */
		mine.self.until = mine.self.events + 5;
		mine.self.poll_until = operations % 2 ? UINT64_MAX : 0;
	}
	if (!mine.entered && mine.holding)
		release();
	return (struct hook_result){ value, mode != DECLINE };
}

#define OPERATION(name)                                                                                     \
	static HOOK_CALL struct hook_result do_##name(struct hook_self *self, const struct hook_site *site, \
						      void *addr, uint64_t a, uint64_t b, uint64_t c)
#define BEGIN                                              \
	(void)site, (void)addr, (void)a, (void)b, (void)c; \
	begin(self);                                       \
	if (mode == DECLINE)                               \
	return end(0)

/* The program's own accesses may be atomic at the same time. */
static uint64_t get(const void *addr, uint64_t size)
{
	switch (size) {
	case 1: return __atomic_load_n((const uint8_t *)addr, __ATOMIC_SEQ_CST);
	case 2: return __atomic_load_n((const uint16_t *)addr, __ATOMIC_SEQ_CST);
	case 4: return __atomic_load_n((const uint32_t *)addr, __ATOMIC_SEQ_CST);
	case 8: return __atomic_load_n((const uint64_t *)addr, __ATOMIC_SEQ_CST);
	default: fail("a size that is none");
	}
	return 0;
}

static bool swap(void *addr, uint64_t size, uint64_t old, uint64_t value)
{
	switch (size) {
	case 1: return __sync_bool_compare_and_swap((uint8_t *)addr, (uint8_t)old, (uint8_t)value);
	case 2: return __sync_bool_compare_and_swap((uint16_t *)addr, (uint16_t)old, (uint16_t)value);
	case 4: return __sync_bool_compare_and_swap((uint32_t *)addr, (uint32_t)old, (uint32_t)value);
	default: return __sync_bool_compare_and_swap((uint64_t *)addr, old, value);
	}
}

/* Unaligned ones never are. */
static bool aligned(const void *addr, uint64_t size)
{
	return !((uintptr_t)addr & (size - 1));
}

OPERATION(load)
{
	BEGIN;
	uint64_t value = 0;
	if (aligned(addr, a))
		return end(get(addr, a));
	memcpy(&value, addr, a);
	return end(value);
}

OPERATION(store)
{
	BEGIN;
	if (aligned(addr, a))
		while (!swap(addr, a, get(addr, a), b))
			;
	else
		memcpy(addr, &b, a);
	return end(0);
}

OPERATION(load_wide)
{
	BEGIN;
	memmove((void *)b, addr, a);
	return end(0);
}

OPERATION(store_wide)
{
	BEGIN;
	memmove(addr, (void *)b, a);
	return end(0);
}

typedef unsigned __int128 wide;

/* A number of `bits` bits with its sign. */
static __int128 with_sign(wide value, unsigned bits)
{
	return (__int128)(value << (128 - bits)) >> (128 - bits);
}

static wide apply(unsigned how, wide old, wide operand, unsigned bits)
{
	__int128 x = with_sign(old, bits), y = with_sign(operand, bits);

	switch (how) {
	case HOOK_XCHG: return operand;
	case HOOK_ADD: return old + operand;
	case HOOK_SUB: return old - operand;
	case HOOK_AND: return old & operand;
	case HOOK_NAND: return ~(old & operand);
	case HOOK_OR: return old | operand;
	case HOOK_XOR: return old ^ operand;
	case HOOK_MAX: return x > y ? old : operand;
	case HOOK_MIN: return x < y ? old : operand;
	case HOOK_UMAX: return old > operand ? old : operand;
	case HOOK_UMIN: return old < operand ? old : operand;
	default: fail("an operation that is none");
	}
	return 0;
}

OPERATION(rmw)
{
	BEGIN;
	uint64_t old, size = a & 255;
	do
		old = get(addr, size);
	while (!swap(addr, size, old, (uint64_t)apply((unsigned)(a >> 8), old, b, (unsigned)size * 8)));
	return end(old);
}

OPERATION(rmw_wide)
{
	BEGIN;
	wide old, operand;
	memcpy(&operand, (void *)b, 16);
	do
		old = __sync_val_compare_and_swap((wide *)addr, 0, 0);
	while (!__sync_bool_compare_and_swap((wide *)addr, old, apply((unsigned)(a >> 8), old, operand, 128)));
	memcpy((void *)c, &old, 16);
	return end(0);
}

OPERATION(cas)
{
	BEGIN;
	uint64_t old;
	do
		old = get(addr, a);
	while (old == b && !swap(addr, a, old, c));
	return end(old);
}

OPERATION(cas_wide)
{
	BEGIN;
	wide old = __sync_val_compare_and_swap((wide *)addr, *(wide *)b, *(wide *)c);
	memcpy((void *)a, &old, 16);
	return end(0);
}

OPERATION(set)
{
	BEGIN;
	memset(addr, (int)a, b);
	return end(0);
}

OPERATION(copy)
{
	BEGIN;
	memmove(addr, (void *)a, b);
	return end(0);
}

OPERATION(enter)
{
	uint64_t ends = 0, unit = HOOK_UNIT(c);

	(void)site;
	if (a >> 47 || (!b && !c) || b > 3)
		fail("a range that is none");
	for (uint64_t i = 0; unit && i < a && !ends; i += unit) {
		uint32_t character = unit == 1 ? ((uint8_t *)addr)[i] : *(uint32_t *)((char *)addr + i);
		if (character == HOOK_END(c) || (!character && c & HOOK_OR_ZERO))
			ends = i + unit;
	}
	begin(self);
	mine.entered += b != 0;
	return (struct hook_result){ ends, 0 };
}

OPERATION(leave)
{
	(void)self, (void)site, (void)addr, (void)a, (void)b, (void)c;
	mine.entered = 0;
	return end(0);
}

OPERATION(poll)
{
	(void)site, (void)addr, (void)a, (void)b, (void)c;
	self->until = mode == MIXED ? self->events + 4 : 0;
	return (struct hook_result){ 0, 0 };
}

/* There is no mask here, so nobody may ask. */
OPERATION(ahead)
{
	(void)self, (void)site, (void)addr, (void)a, (void)b, (void)c;
	fail("claims are asked for that have no mask");
	return end(0);
}

static const struct hook_ops ops = {
#define MEMBER(name) do_##name,
	HOOK_OPS(MEMBER)
#undef MEMBER
		.ahead = do_ahead,
};

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("HEDDLE_TEST");

	mode = !text ? OFF : !strcmp(text, "perform") ? PERFORM : !strcmp(text, "decline") ? DECLINE : MIXED;
}

__attribute__((destructor)) static void finish(void)
{
	if (mode != OFF)
		dprintf(2, "hooks: %llu operations; of this thread %llu events, %llu polls\n",
			(unsigned long long)operations, (unsigned long long)mine.self.events / 2,
			(unsigned long long)mine.self.polls);
}

__attribute__((visibility("default"))) struct hook_self *__heddle_attach_as(uint64_t version)
{
	(void)version;
	if (mode == OFF)
		return NULL;
	mine.self.claims = mode == MIXED ? both : none;
	mine.self.mask = 0;
	mine.self.until = mode == MIXED ? 0 : UINT64_MAX;
	mine.self.group_until = UINT64_MAX;
	mine.self.ops = &ops;
	return &mine.self;
}
