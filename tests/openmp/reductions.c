/*
 * Reductions of floating-point numbers: the order in which the threads' parts are added decides about the last bits, which are
 * printed. By a loop, by tasks, over an array, and by a reduction that the program declares.
 */
// run: varies
#include "openmp.h"

enum { NUMBERS = 2000, BINS = 8 };

struct chain {
	uint64_t hash;
};

static void join_chains(struct chain *out, const struct chain *in)
{
	out->hash = (out->hash ^ in->hash) * 0x9e3779b97f4a7c15ull;
}

#pragma omp declare reduction(chained        \
			      : struct chain \
			      : join_chains(&omp_out, &omp_in)) initializer(omp_priv = (struct chain){ 1 })

int main(void)
{
	double sum = 0, product = 1, bins[BINS] = { 0 };
	struct chain all = { 1 };
	int tasks = 0;

	for (int round = 0; round < 5; round++) {
#pragma omp parallel num_threads(TEAM)
		{
#pragma omp for schedule(dynamic, 5) reduction(+ : sum) reduction(* : product)
			for (int i = 0; i < NUMBERS; i++) {
				sum += 1.0 / (3 * i + 1);
				product *= 1 + 1.0 / (i + 100);
				if (i % 16 == 0)
					stumble();
			}
#pragma omp for schedule(guided) reduction(+ : bins[:BINS]) reduction(chained : all)
			for (int i = 0; i < NUMBERS; i++) {
				bins[i % BINS] += 1.0 / (7 * i + 1);
				all.hash = (all.hash ^ (uint64_t)i) * 0x100000001b3ull;
				if (i % 16 == 0)
					stumble();
			}
#pragma omp single
#pragma omp taskgroup task_reduction(+ : tasks)
			for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : tasks)
				tasks += i;
			}
		}
		printf("%a %a %016llx %d\n", sum, product, (unsigned long long)all.hash, tasks);
		for (int i = 0; i < BINS; i++)
			printf("%a\n", bins[i]);
	}
	return 0;
}
