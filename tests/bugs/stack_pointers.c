/*
 * Variables on a thread's stack, and thread-local ones, to which other threads have pointers; then new threads whose
 * stacks lie where the old ones were. What could go wrong: what is on a stack is not private; a location that was
 * another thread's variable a moment ago has an order from then.
 */
#include "bugs.h"

enum { ROUNDS = 300, BOXES = 3, LIVES = 3 };
static volatile uint64_t *boxes[TEAM_MAX], *local[TEAM_MAX];
static __thread volatile uint64_t own;
static uint64_t seen[TEAM_MAX];
static pthread_barrier_t everybody;

static void work(unsigned me)
{
	volatile uint64_t box[BOXES] = { me, me, me };
	uint32_t state = me + 3;

	boxes[me] = box;
	local[me] = &own;
	pthread_barrier_wait(&everybody);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t pick = draw(&state);
		volatile uint64_t *at = pick & 1 ? local[pick / 2 % team] : &boxes[pick / 2 % team][pick / 512 % BOXES];
		note(&seen[me], *at);
		*at += pick;
	}
	pthread_barrier_wait(&everybody); /* or the stack would go away under the others */
	note(&seen[me], box[0] + box[1] + box[2] + own);
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	pthread_barrier_init(&everybody, NULL, team);
	for (int life = 0; life < LIVES; life++)
		team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return 0;
}
