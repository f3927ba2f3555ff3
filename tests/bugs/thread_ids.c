/*
 * Threads that look up one another's ids, which pthread_create has perhaps not written yet, and what joining and asking
 * a semaphore have answered so far. What could go wrong: libc writes all of these, and who reads them is in no order with
 * it; a thread finds its own id where its creator wanted it, as always.
 */
// run: fails
#include "bugs.h"
#include <semaphore.h>

enum { LOOKS = 400 };
static pthread_t ids[TEAM_MAX];
static void *results[TEAM_MAX];
static int value;
static sem_t tokens;
static uint64_t seen[TEAM_MAX];
static unsigned missing[TEAM_MAX], own[TEAM_MAX];

static void *look(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg, turns = 0;

	own[me] = !pthread_equal(ids[me], pthread_self());
	for (unsigned i = 0; i < LOOKS; i++) {
		unsigned other = (me + i) % team;
		missing[me] += !ids[other];
		note(&seen[me], (ids[other] != 0) + 2 * (uint64_t)(results[other] != NULL) + 4 * (uint64_t)value);
		sem_post(&tokens);
		spin(&turns);
	}
	return &ids[me];
}

int main(int argc, char **argv)
{
	unsigned all = 0, strange = 0;

	team_size(argc, argv);
	sem_init(&tokens, 0, 0);
	for (unsigned i = 0; i < team; i++) {
		pthread_create(&ids[i], NULL, look, (void *)(uintptr_t)i);
		sem_getvalue(&tokens, &value);
	}
	for (unsigned i = 0; i < team; i++) {
		pthread_join(ids[i], &results[i]);
		sem_getvalue(&tokens, &value);
	}
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
		all += missing[i];
		strange += own[i] || results[i] != &ids[i];
	}
	if (strange)
		printf("%u strange ids or results\n", strange);
	return strange ? 2 : verdict(all, "ids that were not there yet");
}
