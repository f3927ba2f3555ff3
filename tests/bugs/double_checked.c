/*
 * Double-checked initialisation: the flag is set before the value it stands for, so a thread that sees the flag without
 * taking the lock uses an empty value. What could go wrong: the unlocked read must come between two writes that another
 * thread makes under its lock; the order of locks alone says nothing about it.
 */
// run: fails
#include "bugs.h"

enum { OBJECTS = 600 };
static struct object {
	int ready;
	unsigned value;
} objects[OBJECTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned made[TEAM_MAX], empty[TEAM_MAX];

static unsigned compute(unsigned i)
{
	unsigned v = i + 1;

	for (int n = 0; n < 20; n++)
		v = v * 2654435761u + 12345;
	return v | 1;
}

static unsigned get(unsigned me, unsigned i)
{
	struct object *o = &objects[i];

	if (!o->ready) {
		pthread_mutex_lock(&lock);
		if (!o->ready) {
			o->ready = 1;
			breathe(i);
			o->value = compute(i);
			made[me]++;
		}
		pthread_mutex_unlock(&lock);
	}
	LOOK_AGAIN();
	return o->value;
}

static void work(unsigned me)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		if (get(me, i) == 0)
			empty[me]++;
}

int main(int argc, char **argv)
{
	unsigned wrong = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u made %u, got %u empty\n", i, made[i], empty[i]);
		wrong += empty[i];
	}
	return verdict(wrong, "empty objects used");
}
