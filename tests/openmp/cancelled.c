/* Loops that are cancelled by whoever finds something first. (With a static schedule: LLVM 19's library cannot cancel others.) */
// run: varies
#include "openmp.h"

enum { PIECES = 400, ROUNDS = 10 };
static uint8_t done[PIECES];
static struct arrivals found;

static void search(void)
{
#pragma omp parallel num_threads(TEAM)
	{
#pragma omp for schedule(static, 1)
		for (int i = 0; i < PIECES; i++) {
			stumble();
			done[i] = (uint8_t)(1 + ME_IN_TEAM);
			if (i % 50 == 49) {
#pragma omp critical
				arrive(&found, ME_IN_TEAM);
#pragma omp cancel for
			}
#pragma omp cancellation point for
		}
	}
}

int main(int argc, char **argv)
{
	if (argc == 1) { /* the library reads it when it is loaded */
		setenv("OMP_CANCELLATION", "true", 1);
		execl("/proc/self/exe", argv[0], "again", NULL);
		return 2;
	}
	CHECK(omp_get_cancellation());
	for (int round = 0; round < ROUNDS; round++) {
		memset(done, 0, sizeof done);
		search();
		print_owners("done", done, PIECES);
	}
	print_arrivals("found", &found);
	return 0;
}
