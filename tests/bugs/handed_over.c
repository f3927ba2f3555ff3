/*
 * Pages that go with locks, mostly: some accesses are made without. What could go wrong: a thread lets go of a page where
 * it gives the lock back, and says that it did so in another region than that in which it used the page last; who comes
 * without the lock follows too little.
 */
// run: fails
#include "bugs.h"
#include <stdbool.h>

enum { LOCKS = 4, PAGES = 8, ROUNDS = 4000, WORDS = 64 };
static pthread_mutex_t locks[LOCKS];
static uint64_t blocks[LOCKS][PAGES][WORDS] __attribute__((aligned(4096)));
static uint64_t seen[TEAM_MAX], torn[TEAM_MAX];

/* The first two words of a page are written together, with the same value. */
static void use(unsigned me, uint64_t *page, unsigned i)
{
	uint64_t was = page[0];

	LOOK_AGAIN();
	torn[me] += was != page[1];
	seen[me] = seen[me] * 31 + was;
	if (i % 2) {
		page[0] = was + me + i;
		LOOK_AGAIN();
		page[1] = was + me + i;
	}
}

static void work(unsigned me)
{
	uint32_t state = me + 1;

	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		unsigned lock = draw(&state) % LOCKS, pages = 1 + draw(&state) % 4;
		bool locked = draw(&state) % 16;
		if (locked)
			pthread_mutex_lock(&locks[lock]);
		for (unsigned k = 0; k < pages; k++)
			use(me, blocks[lock][draw(&state) % PAGES], i);
		breathe(i);
		if (locked)
			pthread_mutex_unlock(&locks[lock]);
	}
}

int main(int argc, char **argv)
{
	uint64_t all = 0, wrong = 0;

	team_size(argc, argv);
	for (unsigned i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		all = all * 33 + seen[i], wrong += torn[i];
	printf("seen %016lx\n", (unsigned long)all);
	return verdict(wrong, "pairs torn");
}
