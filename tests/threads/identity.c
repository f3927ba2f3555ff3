/*
 * Parents race to create children: which child is the third of the process depends on the run, but (parent, n-th child)
 * does not. Ids, pthread_self, stacks and thread-local storage of all 40 threads are printed and must come back.
 */
// run: varies check
#include "threads.h"
#include <sys/syscall.h>

enum { PARENTS = 4, CHILDREN = 5, GRANDCHILDREN = 1 };
struct person {
	unsigned id;
	unsigned long self, stack, tls;
	pthread_t thread;
	struct person *children;
	unsigned wanted;
};
static __thread int local;

static void *live(void *argument)
{
	struct person *me = argument;
	int on_stack;

	me->id = (unsigned)syscall(SYS_gettid);
	CHECK((pid_t)me->id == gettid());
	me->self = (unsigned long)pthread_self();
	me->stack = (unsigned long)&on_stack;
	me->tls = (unsigned long)&local;
	me->children = calloc(CHILDREN, sizeof *me->children);
	for (unsigned i = 0; i < me->wanted; i++) {
		dawdle(5000);
		me->children[i].wanted = me->wanted == CHILDREN ? GRANDCHILDREN : 0;
		CHECK(pthread_create(&me->children[i].thread, NULL, live, &me->children[i]) == 0);
		if (chance(2))
			sched_yield();
	}
	for (unsigned i = 0; i < me->wanted; i++)
		CHECK(pthread_join(me->children[i].thread, NULL) == 0);
	return me;
}

static void print(const struct person *p, int depth)
{
	printf("%*s%u self %#lx stack %#lx tls %#lx\n", depth * 2, "", p->id, p->self, p->stack, p->tls);
	for (unsigned i = 0; i < p->wanted; i++)
		print(&p->children[i], depth + 1);
}

int main(void)
{
	struct person parents[PARENTS] = { 0 };

	for (unsigned i = 0; i < PARENTS; i++) {
		parents[i].wanted = CHILDREN;
		CHECK(pthread_create(&parents[i].thread, NULL, live, &parents[i]) == 0);
	}
	for (unsigned i = 0; i < PARENTS; i++)
		CHECK(pthread_join(parents[i].thread, NULL) == 0);
	for (unsigned i = 0; i < PARENTS; i++)
		print(&parents[i], 0);
	return 0;
}
