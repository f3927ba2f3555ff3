/*
 * Parents that race to create children: who is created when differs from run to run, who is whose child does not. Each
 * thread prints its path (the how-manieth child of whom), the order in which it came, and ids that the system gave it.
 * Arguments: parents, children of each.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct person {
	const struct person *parent;
	unsigned number; /* among its parent's children, from 1 */
	unsigned place;	 /* among all, as they came */
	pid_t id;
	pthread_t thread, seen;
};

static unsigned parents, children;
static _Atomic unsigned born;
static pthread_barrier_t all_born;

static void come(struct person *p)
{
	p->place = atomic_fetch_add(&born, 1);
	p->id = gettid();
	p->seen = pthread_self();
}

static void *child(void *arg)
{
	come(arg);
	pthread_barrier_wait(&all_born);
	return NULL;
}

static void create(struct person *p, unsigned n, const struct person *parent, void *(*life)(void *))
{
	for (unsigned i = 0; i < n; i++) {
		p[i] = (struct person){ .parent = parent, .number = i + 1 };
		if (pthread_create(&p[i].thread, NULL, life, &p[i]))
			exit(2);
	}
}

static void tell(const struct person *p)
{
	if (p->parent)
		tell(p->parent);
	printf(".%u", p->number);
}

static void bury(struct person *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pthread_join(p[i].thread, NULL);
}

static struct person grandchildren[16][16];

static void *parent(void *arg)
{
	struct person *me = arg;

	come(me);
	create(grandchildren[me->number - 1], children, me, child);
	pthread_barrier_wait(&all_born);
	bury(grandchildren[me->number - 1], children);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct person family[16];

	parents = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
	children = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	pthread_barrier_init(&all_born, NULL, parents + parents * children);
	create(family, parents, NULL, parent);
	bury(family, parents);
	for (unsigned i = 0; i < parents; i++)
		for (unsigned k = 0; k <= children; k++) {
			const struct person *p = k ? &grandchildren[i][k - 1] : &family[i];
			tell(p);
			printf(": came %u, id %d, self %lx\n", p->place, p->id, (unsigned long)p->seen);
		}
	return 0;
}
