/*
 * ConTest "LinkedList": not atomic. A node is put after the last one without a lock: two threads find the same last node, and one
 * of the new ones is lost. What could go wrong: the read of a pointer, and the write of the same pointer by another thread, with
 * a walk over everything that was linked before in between.
 */
// run: fails gallery
// explain: @look before @link
#include "bugs.h"

enum { EACH = 12 };
struct node {
	struct node *next;
	unsigned value;
};
static struct node head, nodes[TEAM_MAX][EACH];
static unsigned wrong;
static uint64_t order;

static void prepare(void)
{
	head.next = NULL;
	memset(nodes, 0, sizeof nodes);
}

static void append(struct node *node)
{
	struct node *last = &head;

	while (last->next) { // @look
		last = last->next;
		LOOK_AGAIN();
	}
	last->next = node; // @link
}

static void act(unsigned me)
{
	for (unsigned i = 0; i < EACH; i++) {
		nodes[me][i].value = me * EACH + i;
		append(&nodes[me][i]);
	}
}

static void judge(void)
{
	unsigned count = 0;

	for (struct node *n = head.next; n && count <= team * EACH; n = n->next, count++)
		note(&order, n->value);
	wrong += team * EACH - count;
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 20);
	team_repeat(prepare, act, judge);
	printf("order %016llx\n", (unsigned long long)order);
	return verdict(wrong, "nodes lost");
}
