/*
 * Tasks: a tree of them with taskwait, a group, tasks that depend on others, a loop of tasks, one that the creator must do
 * itself (if(0)) and yields. Which thread did which task is printed, and in which order those of the tree were done.
 */
// run: varies
#include "openmp.h"

enum { DEPTH = 6, NODES = 1 << DEPTH, LOOP = 100, CHAIN = 40 };
static uint8_t tree[NODES], loop[LOOP], chain[CHAIN], grouped[CHAIN];
static struct arrivals order;

static unsigned visit(unsigned node)
{
	unsigned below[2] = { 0, 0 };

	if (node >= NODES)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
#pragma omp task shared(below) if (node % 5)
		below[i] = visit(2 * node + i);
	}
	stumble();
	tree[node] = (uint8_t)ME_IN_TEAM;
#pragma omp critical
	arrive(&order, node);
#pragma omp taskwait
	return below[0] + below[1] + 1;
}

/* Each task of the chain needs the one before. */
static void depend(void)
{
	int token = 0;

	for (int i = 0; i < CHAIN; i++) {
#pragma omp task depend(inout : token) shared(token) firstprivate(i)
		{
			stumble();
			CHECK(token == i);
			token = i + 1;
			chain[i] = (uint8_t)ME_IN_TEAM;
		}
#pragma omp task firstprivate(i)
		{
			grouped[i] = (uint8_t)ME_IN_TEAM;
#pragma omp taskyield
		}
	}
#pragma omp taskwait
	CHECK(token == CHAIN);
}

int main(void)
{
	unsigned count = 0;

	for (int region = 0; region < 3; region++) {
#pragma omp parallel num_threads(TEAM)
#pragma omp single
		{
			count = visit(1);
#pragma omp taskgroup
			depend();
#pragma omp taskloop grainsize(3)
			for (int i = 0; i < LOOP; i++) {
				stumble();
				loop[i] = (uint8_t)ME_IN_TEAM;
			}
		}
		CHECK(count == NODES - 1);
		print_owners("tree", tree, NODES);
		print_owners("chain", chain, CHAIN);
		print_owners("grouped", grouped, CHAIN);
		print_owners("loop", loop, LOOP);
	}
	print_arrivals("order", &order);
	return 0;
}
