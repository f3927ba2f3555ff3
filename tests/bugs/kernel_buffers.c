/*
 * System calls that read and write memory which other threads are using: a pipe is fed from a buffer while others write
 * it, and fills another while others read it. What could go wrong: what the kernel reads and writes are accesses of the
 * calling thread, and in the order of all others.
 */
// run: fails
#include "bugs.h"
#include <sys/uio.h>

enum { ROUNDS = 100, SIZE = 200 };
static uint8_t out[SIZE], in[SIZE];
static uint64_t seen[TEAM_MAX];
static unsigned mixed[TEAM_MAX];
static volatile int over;

static void through_a_pipe(unsigned me)
{
	int ends[2];

	if (pipe(ends))
		abort();
	for (int i = 0; i < ROUNDS; i++) {
		struct iovec parts[2] = { { in + SIZE / 2, SIZE / 2 }, { in, SIZE / 2 } };
		if (write(ends[1], out, SIZE) != SIZE)
			abort();
		if ((i % 2 ? read(ends[0], in, SIZE) : readv(ends[0], parts, 2)) != SIZE)
			abort();
		note(&seen[me], in[i]);
	}
	close(ends[0]);
	close(ends[1]);
	over = 1;
}

static void use(unsigned me)
{
	uint8_t value = (uint8_t)me;
	unsigned turns = 0;

	while (!over) {
		for (unsigned i = 0; i < SIZE; i += 8)
			out[i] = value;
		for (unsigned i = 0; i < SIZE; i += 8) {
			mixed[me] += in[i] != in[0];
			note(&seen[me], in[i]);
			LOOK_AGAIN();
		}
		value = (uint8_t)(value + team);
		spin(&turns);
	}
}

static void work(unsigned me)
{
	me ? use(me) : through_a_pipe(me);
}

int main(int argc, char **argv)
{
	unsigned sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u mixed\n", i, (unsigned long long)seen[i], mixed[i]);
		sum += mixed[i];
	}
	return verdict(sum, "bytes of another message");
}
