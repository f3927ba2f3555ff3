/*
 * ABA in a lock-free stack: pop compares the head, but not whether it left and came back in between; then a node is in
 * two hands. What could go wrong: compare-and-swap must succeed and fail as it did, though the values agree either way,
 * and the plain read of `next` before it must see the same node.
 */
// run: fails
#include "bugs.h"

enum { NODES = 4, ROUNDS = 800, NONE = 0 };
static struct node {
	unsigned next;
	int holders;
} nodes[NODES + 1];
static unsigned head;
static unsigned twice[TEAM_MAX], got_none[TEAM_MAX], retries[TEAM_MAX];

static unsigned pop(unsigned me, unsigned i)
{
	unsigned h = __atomic_load_n(&head, __ATOMIC_ACQUIRE);

	while (h != NONE) {
		unsigned next = nodes[h].next;
		breathe(i);
		if (__atomic_compare_exchange_n(&head, &h, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			break;
		retries[me]++;
	}
	if (h == NONE)
		got_none[me]++;
	else if (__atomic_add_fetch(&nodes[h].holders, 1, __ATOMIC_RELAXED) != 1)
		twice[me]++;
	return h;
}

static void push(unsigned n)
{
	unsigned h;

	if (n == NONE)
		return;
	__atomic_sub_fetch(&nodes[n].holders, 1, __ATOMIC_RELAXED);
	h = __atomic_load_n(&head, __ATOMIC_ACQUIRE);
	do
		nodes[n].next = h;
	while (!__atomic_compare_exchange_n(&head, &h, n, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

static void work(unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned a = pop(me, i), b = pop(me, i + 50);
		push(a);
		push(b);
	}
}

int main(int argc, char **argv)
{
	unsigned sum = 0;

	team_size(argc, argv);
	for (unsigned n = 1; n <= NODES; n++)
		push(n);
	memset(nodes, 0, sizeof nodes[0]);
	for (unsigned n = 1; n <= NODES; n++)
		nodes[n].holders = 0;
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u: none %u, again %u, twice %u\n", i, got_none[i], retries[i], twice[i]);
		sum += twice[i];
	}
	return verdict(sum, "nodes in two hands");
}
