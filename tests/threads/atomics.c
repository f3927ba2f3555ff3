/*
 * Locks and counters made of atomic instructions alone, in a binary that heddle-cc has not seen: a test-and-set lock, a ticket
 * lock, a stack by compare-and-swap, counters of 1 to 16 bytes, a flag that hands over plain data, and all kinds of
 * read-modify-write on one word. Who came when is printed: an instruction that was not found, or whose order was lost, prints
 * something else at replay. atomics_exclusive.c and atomics_inline.c are the same with other instructions.
 */
// run: varies options-x86_64=--every-access timeout=30 flags="-latomic"
#include "threads.h"
#include <stdbool.h>

enum { THREADS = 4, ROUNDS = 60, NODES = THREADS * ROUNDS };

static uint32_t all_there, lock, next_ticket, now_serving;
static struct arrivals locked, served, handed;
static uint8_t bytes;
static uint16_t halves;
static uint64_t words, mixed;
static __int128 wide;

static void by_test_and_set(unsigned me)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	arrive(&locked, me);
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void by_ticket(unsigned me)
{
	uint32_t mine = __atomic_fetch_add(&next_ticket, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&now_serving, __ATOMIC_ACQUIRE) != mine)
		sched_yield();
	arrive(&served, me);
	__atomic_store_n(&now_serving, mine + 1, __ATOMIC_RELEASE);
}

/* A stack of numbers: the head is a tag and a node, so that no node comes back unnoticed. */
static uint32_t below[NODES + 1];
static uint64_t head;

static void push(uint32_t node)
{
	uint64_t old = __atomic_load_n(&head, __ATOMIC_ACQUIRE);
	do
		__atomic_store_n(&below[node], (uint32_t)old, __ATOMIC_RELEASE);
	while (!__atomic_compare_exchange_n(&head, &old, ((old >> 32) + 1) << 32 | node, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE));
}

static uint32_t pop(void)
{
	uint64_t old = __atomic_load_n(&head, __ATOMIC_ACQUIRE);
	while ((uint32_t)old &&
	       !__atomic_compare_exchange_n(
		       &head, &old, ((old >> 32) + 1) << 32 | __atomic_load_n(&below[(uint32_t)old], __ATOMIC_ACQUIRE),
		       false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	return (uint32_t)old;
}

static void count(unsigned me)
{
	__atomic_fetch_add(&bytes, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&halves, 3, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&words, 5, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&wide, ((__int128)1 << 64) + 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&mixed, 1ull << me, __ATOMIC_SEQ_CST);
	__atomic_fetch_xor(&mixed, 0x1000ull << me, __ATOMIC_SEQ_CST);
	__atomic_fetch_and(&mixed, ~(1ull << (me + 1)), __ATOMIC_SEQ_CST);
}

/* One word is full or empty; behind it is plain data. */
static uint32_t full;
static struct {
	unsigned from, number;
} letter;

static void hand_over(unsigned me, unsigned number)
{
	uint32_t empty = 0;
	while (!__atomic_compare_exchange_n(&full, &empty, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		empty = 0;
		sched_yield();
	}
	letter.from = me;
	letter.number = number;
	__atomic_store_n(&full, 2, __ATOMIC_RELEASE);
}

static void *take_letters(void *none)
{
	for (unsigned i = 0; i < NODES; i++) {
		while (__atomic_load_n(&full, __ATOMIC_ACQUIRE) != 2)
			sched_yield();
		arrive(&handed, letter.from);
		CHECK(letter.number < ROUNDS);
		__atomic_store_n(&full, 0, __ATOMIC_RELEASE);
	}
	return none;
}

static void *work(void *number)
{
	unsigned me = (unsigned)(uintptr_t)number;

	while (!__atomic_load_n(&all_there, __ATOMIC_ACQUIRE))
		sched_yield();
	for (unsigned i = 0; i < ROUNDS; i++) {
		dawdle(5000);
		by_test_and_set(me);
		by_ticket(me);
		count(me);
		push(1 + me * ROUNDS + i);
		dawdle(500);
		uint32_t node = pop();
		CHECK(node);
		by_test_and_set((node - 1) / ROUNDS);
		hand_over(me, i);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS], taker;

	CHECK(!pthread_create(&taker, NULL, take_letters, NULL));
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
	__atomic_store_n(&all_there, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(!pthread_join(taker, NULL));
	CHECK(bytes == (uint8_t)NODES && halves == 3 * NODES && words == -5ull * NODES && !pop());
	CHECK((uint64_t)wide == NODES && (uint64_t)(wide >> 64) == NODES);
	print_arrivals("locked", &locked);
	print_arrivals("served", &served);
	print_arrivals("handed", &handed);
	printf("mixed %llx\n", (unsigned long long)mixed);
	return 0;
}
