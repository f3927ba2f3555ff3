/*
 * Blocks that travel between threads, are freed by others than who made them, and used again in another size, while a
 * third still reads. What could go wrong: memory has an order from its former life; what a new block holds before it is
 * written was left by somebody; and what the allocator itself writes into a free block is seen by the late reader.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 250, SLOTS = 6 };
struct block {
	uint32_t size, owner;
	uint64_t words[];
};
static struct block *table[SLOTS];
static uint64_t seen[TEAM_MAX];
static unsigned strange[TEAM_MAX];

static void work(unsigned me)
{
	uint32_t state = me + 11;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t pick = draw(&state), words = 1 + pick / 8 % 24;
		struct block *b = malloc(sizeof *b + words * 8);
		note(&seen[me], b->words[words - 1]); /* whatever was there */
		b->size = words;
		b->owner = me;
		for (uint32_t n = 0; n < words / 2 + 1; n++)
			b->words[n] = i;
		b = __atomic_exchange_n(&table[pick % SLOTS], b, __ATOMIC_ACQ_REL);
		if (b) {
			strange[me] += b->size > 24;
			note(&seen[me], b->words[0]);
			b->size = 0;
			LOOK_AGAIN();
			free(b);
		}
		/* A look at a block that its owner may free at any moment. */
		if ((b = table[draw(&state) % SLOTS])) {
			uint32_t size = b->size;
			LOOK_AGAIN();
			strange[me] += size != b->size;
			note(&seen[me], b->words[0]);
		}
		LOOK_AGAIN();
	}
}

int main(int argc, char **argv)
{
	unsigned sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u strange\n", i, (unsigned long long)seen[i], strange[i]);
		sum += strange[i];
	}
	return verdict(sum, "blocks that changed under a reader");
}
