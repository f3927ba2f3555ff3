/*
 * How a thread makes others see that it has taken claims away, and sees what they did with them. See region.c,
 * invariant 1; model: tests/models/claims.pml.
 *
 * A membarrier does that for all threads at once, but it interrupts their cores, and on a virtual machine an interrupt
 * costs each side some ten microseconds: as much as a thousand accesses. So threads that are few are asked first. Who
 * is asked is sent to the runtime with its next access (`until`), mostly within a fraction of a microsecond, and
 * answers:
 *
 *	asks     clears the claim; asked + 1 (release); looks at `answered` (acquire), then at the other's count
 *	answers  looks at `asked` (acquire); answered = asked (release); accesses
 *
 * Whatever the thread does after its answer follows its look at `asked`, and so the clearing; whatever it did before,
 * its count included, is seen by who has found the answer. That is what a barrier on its core at the moment of the
 * answer would give. It may answer anywhere, also in its bracket: for the end of that the one who asks waits as
 * before.
 *
 * Nobody needs to answer. Who does not soon is perhaps asleep, waits, or computes without accesses: then there is a
 * membarrier after all, which costs less where a thread does not run. Who waits for something of region's answers
 * meanwhile, so two that ask each other do.
 */
#include "region.h"

/* Looks: some microseconds. As long as a membarrier takes, since the other may just be in one of its own. */
#ifndef PATIENCE
#define PATIENCE 200
#endif
/*
 * An answer saves more than twice what a wait in vain costs. So a thread goes on to ask while one of three answers;
 * where that is not so, because there are more threads than processors, it tries one time of ASK_ANYWAY.
 */
#define HOPE_MOST  8
#define ASK_ANYWAY 16

void audience_add(struct audience *a, uint32_t slot)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->slot[i] == slot)
			return;
	if (a->n == AUDIENCE)
		a->many = true;
	else
		a->slot[a->n++] = slot;
}

/* `until` is the other's own, and it may overwrite what is stored here: then it comes by later, or not in time. */
static uint32_t ask(uint32_t slot, struct region_thread *other)
{
	struct hook_self *self = order_self(slot);
	uint32_t number = __atomic_add_fetch(&other->asked, 1, __ATOMIC_RELEASE);

	__atomic_store_n(&self->group_until, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&self->until, 0, __ATOMIC_RELEASE); /* last, since that makes it set both anew */
	return number;
}

static bool has_answered(const struct region_thread *other, uint32_t number)
{
	return (int32_t)(__atomic_load_n(&other->answered, __ATOMIC_ACQUIRE) - number) >= 0;
}

static bool await_answer(struct region_thread *own, const struct region_thread *other, uint32_t number)
{
	for (unsigned looks = 0; looks < PATIENCE; looks++) {
		if (has_answered(other, number))
			return true;
		region_answer(own);
		order_relax(&(unsigned){ 0 }); /* without yielding: it comes soon or not at all */
	}
	return false;
}

static bool all_answer(struct order_thread *t, const struct audience *a)
{
	struct region_thread *other[AUDIENCE];
	uint32_t number[AUDIENCE];

	for (unsigned i = 0; i < a->n; i++) {
		other[i] = __atomic_load_n(&region_threads[a->slot[i]], __ATOMIC_ACQUIRE);
		if (!other[i])
			return false;
		number[i] = ask(a->slot[i], other[i]);
	}
	order_chaos(t);
	for (unsigned i = 0; i < a->n; i++)
		if (!await_answer(region_of(t), other[i], number[i]))
			return false;
	return true;
}

static bool is_worth_asking(struct region_thread *own, const struct audience *a)
{
	return !a->many && (own->hope || ++own->unasked % ASK_ANYWAY == 0);
}

bool region_show(struct order_thread *t, const struct audience *a)
{
	struct region_thread *own = region_of(t);
	bool asks = is_worth_asking(own, a), answered = asks && all_answer(t, a);

	if (answered)
		own->hope = own->hope < HOPE_MOST ? own->hope + 2 : HOPE_MOST;
	else if (own->hope && asks)
		own->hope--;
	if (!answered)
		order_membarrier();
	return answered;
}
