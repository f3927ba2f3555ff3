/*
 * qsort on an array that others sort, too, and change: in the end there are numbers that nobody put in, or one is there
 * twice. What could go wrong: libc moves the elements, and between its moves calls the program's own function, whose
 * reads race with the moves of another thread.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 40, NUMBERS = 24 };
static int numbers[NUMBERS];
static uint64_t seen[TEAM_MAX];

static int by_value(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void work(unsigned me)
{
	uint32_t state = me + 31;

	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned a = draw(&state) % NUMBERS, b = draw(&state) % NUMBERS;
		int other = numbers[a];
		numbers[a] = numbers[b];
		breathe(i + 90);
		numbers[b] = other;
		if (i % 4 == 0)
			qsort(numbers, NUMBERS, sizeof *numbers, by_value);
		note(&seen[me], (uint64_t)numbers[draw(&state) % NUMBERS]);
		LOOK_AGAIN();
	}
}

int main(int argc, char **argv)
{
	unsigned wrong = 0;

	team_size(argc, argv);
	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = i * i;
	team_run(work);
	qsort(numbers, NUMBERS, sizeof *numbers, by_value);
	for (int i = 0; i < NUMBERS; i++)
		wrong += numbers[i] != i * i;
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return verdict(wrong, "numbers that are not as they were");
}
