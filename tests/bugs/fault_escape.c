/*
 * A racing access that faults, and a handler that jumps out of it: the pointer was taken away between the look and the
 * use. What could go wrong: the fault is inside a hook, which must leave nothing locked and count alike; a load, a
 * store, an atomic addition and a memcpy can all be cut off so.
 */
// run: fails
#include "bugs.h"
#include <setjmp.h>
#include <signal.h>

enum { ROUNDS = 400, SLOTS = 4 };
struct cell {
	uint64_t words[12];
};
static struct cell cells[SLOTS];
static struct cell *volatile table[SLOTS];
static __thread sigjmp_buf way_out;
static uint64_t seen[TEAM_MAX];
static unsigned faults[TEAM_MAX];

static void fault(int sig)
{
	(void)sig;
	siglongjmp(way_out, 1);
}

static void use(unsigned me, unsigned i, unsigned kind, struct cell *volatile *slot)
{
	struct cell copy;

	if (!*slot)
		return;
	breathe(i);
	switch (kind) {
	case 0: note(&seen[me], (*slot)->words[0]); break;
	case 1: (*slot)->words[1] = me; break;
	case 2: note(&seen[me], __atomic_fetch_add(&(*slot)->words[0], me + 1, __ATOMIC_RELAXED)); break;
	default:
		memcpy(&copy, *slot, sizeof copy);
		LOOK_AGAIN();
		note(&seen[me], copy.words[1]);
	}
}

static void work(unsigned me)
{
	volatile uint32_t state = me + 1;

	for (volatile unsigned i = 0; i < ROUNDS; i++) {
		uint32_t next = state, pick = draw(&next);
		state = next;
		if (me == 0)
			table[pick % SLOTS] = pick & 64 ? &cells[pick % SLOTS] : NULL;
		else if (sigsetjmp(way_out, 0) == 0)
			use(me, i, pick >> 8 & 3, &table[pick % SLOTS]);
		else
			faults[me]++;
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = fault, .sa_flags = SA_NODEFER };
	unsigned sum = 0;

	team_size(argc, argv);
	sigaction(SIGSEGV, &act, NULL);
	for (unsigned i = 0; i < SLOTS; i++)
		table[i] = &cells[i];
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u faults\n", i, (unsigned long long)seen[i], faults[i]);
		sum += faults[i];
	}
	return verdict(sum, "faults");
}
