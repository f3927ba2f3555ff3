/*
 * Order violation: a thread uses what its creator writes down only after it has created the thread. Now and then the
 * child is faster. What could go wrong: creation orders what was before it, not what comes after; the child's read and
 * the parent's write race, in hundreds of threads that live only for that.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 24 };
static const char *names[TEAM_MAX];
static char outcome[ROUNDS][TEAM_MAX + 1];
static int round_now;

static void *child(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument;
	const char *name = names[me];

	outcome[round_now][me] = name ? name[0] : '?';
	return NULL;
}

static void start_all(void)
{
	pthread_t threads[TEAM_MAX];

	for (unsigned i = 0; i < team; i++) {
		if (pthread_create(&threads[i], NULL, child, (void *)(uintptr_t)i))
			abort();
		for (int n = 0; n < 40; n++)
			LOOK_AGAIN(); /* something else to do first */
		names[i] = "abcdefghijklmnopqrstuvwxyz" + i % 26;
	}
	for (unsigned i = 0; i < team; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	unsigned wrong = 0;

	team_size(argc, argv);
	for (round_now = 0; round_now < ROUNDS; round_now++) {
		memset(names, 0, sizeof names);
		start_all();
		printf("%s\n", outcome[round_now]);
		for (unsigned i = 0; i < team; i++)
			wrong += outcome[round_now][i] == '?';
	}
	return verdict(wrong, "names used before they were written");
}
