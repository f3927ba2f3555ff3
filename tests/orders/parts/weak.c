/*
 * A store buffer and a cache of old values for each thread. See weak.h.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <unistd.h>
#include "host.h"
#include "weak.h"

enum { STORES = 6, VALUES = 64 };

bool weak_memory;

struct word {
	uint64_t addr, value;
};
static __thread struct {
	struct word store[STORES]; /* not yet visible to others; one per address */
	unsigned stores;
	struct word value[VALUES]; /* read or written by this thread since its last acquire */
	uint64_t random;
} own;

static uint64_t dice(void)
{
	if (!own.random)
		own.random = ((uint64_t)&own ^ (uint64_t)getpid() << 40) | 1;
	return (own.random = xorshift(own.random)) >> 24;
}

static void let_out(unsigned i)
{
	__atomic_store_n((uint64_t *)own.store[i].addr, own.store[i].value, __ATOMIC_RELAXED);
	own.store[i] = own.store[--own.stores];
}

void weak_release(void)
{
	while (own.stores)
		let_out((unsigned)(dice() % own.stores));
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void weak_acquire(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memset(own.value, 0, sizeof own.value);
}

void weak_pause(void)
{
	if (dice() % 16 == 0)
		sched_yield();
	if (dice() % 128 == 0)
		usleep(30);
}

static struct word *remembered(uint64_t addr)
{
	return &own.value[addr / GRANULE % VALUES];
}

static void weak_load(struct access *a)
{
	struct word *seen = remembered(a->addr);

	for (unsigned i = 0; i < own.stores; i++)
		if (own.store[i].addr == a->addr) {
			a->old[0] = own.store[i].value;
			return;
		}
	if (seen->addr != a->addr || dice() % 4 == 0)
		*seen = (struct word){ a->addr, __atomic_load_n((uint64_t *)a->addr, __ATOMIC_RELAXED) };
	a->old[0] = seen->value;
}

static void weak_store(const struct access *a)
{
	struct word word = { a->addr, a->value[0] };
	unsigned i = 0;

	*remembered(a->addr) = word;
	while (i < own.stores && own.store[i].addr != a->addr)
		i++;
	if (i == STORES) {
		weak_release();
		i = 0;
	}
	own.store[i] = word;
	own.stores += i == own.stores;
	if (dice() % 4 == 0)
		let_out((unsigned)(dice() % own.stores));
}

void weak_early(const struct access *a)
{
	struct word *seen = remembered(a->addr);

	if (a->size == 8 && a->addr % 8 == 0 && a->op == HOST_LOAD && seen->addr != a->addr && dice() % 2)
		*seen = (struct word){ a->addr, __atomic_load_n((uint64_t *)a->addr, __ATOMIC_RELAXED) };
}

bool weak_perform(struct access *a)
{
	if (a->size != 8 || a->addr % 8 || a->op > HOST_STORE) {
		weak_release();
		weak_acquire();
		return false;
	}
	if (a->op == HOST_LOAD)
		weak_load(a);
	else
		weak_store(a);
	return true;
}
