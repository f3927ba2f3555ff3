/*
 * aget: all parts of a download count their bytes in one variable without a lock, and what is saved for the day of a resumption is taken from it.
 * Counts get lost, and the download would resume at the wrong place. What could go wrong: one word that all threads read and
 * write, with system calls between.
 */
// run: fails gallery
// explain: @read before @write
#include "bugs.h"

enum { CHUNKS = 200 };
static unsigned long counted, truly[TEAM_MAX];
static unsigned lines;

static void work(unsigned me)
{
	uint32_t random = me + 7;

	for (unsigned i = 0; i < rounds(CHUNKS); i++) {
		unsigned long n = 1 + draw(&random) % 1000;
		unsigned long before = counted; // @read
		breathe(i + 40 * me);
		counted = before + n; // @write
		LOOK_AGAIN();
		truly[me] += n;
		if (me == 0 && i % 50 == 49) {
			printf("%lu bytes so far\n", counted);
			lines++;
		}
	}
}

int main(int argc, char **argv)
{
	unsigned long sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		sum += truly[i];
	printf("counted %lu of %lu\n", counted, sum);
	return verdict(sum - counted, "bytes not counted");
}
