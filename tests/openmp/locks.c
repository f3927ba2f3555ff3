/* omp_lock_t and omp_nest_lock_t: who came when, and whether omp_test_lock got it, which is a matter of chance. */
// run: varies
#include "openmp.h"

enum { ROUNDS = 150 };
static omp_lock_t lock, other;
static omp_nest_lock_t nested;
static struct arrivals came, tried, nest;
static unsigned in_vain[TEAM];

static void enter_nested(int depth)
{
	omp_set_nest_lock(&nested);
	arrive(&nest, ME_IN_TEAM);
	if (depth)
		enter_nested(depth - 1);
	omp_unset_nest_lock(&nested);
}

int main(void)
{
	omp_init_lock(&lock);
	omp_init_lock(&other);
	omp_init_nest_lock(&nested);
#pragma omp parallel num_threads(TEAM)
	for (int i = 0; i < ROUNDS; i++) {
		stumble();
		omp_set_lock(&lock);
		stumble();
		arrive(&came, ME_IN_TEAM);
		omp_unset_lock(&lock);
		if (omp_test_lock(&other)) {
			stumble();
			arrive(&tried, ME_IN_TEAM);
			omp_unset_lock(&other);
		} else {
			in_vain[ME_IN_TEAM]++;
		}
		enter_nested(i % 3);
	}
	print_arrivals("lock", &came);
	print_arrivals("tried", &tried);
	print_arrivals("nested", &nest);
	printf("in vain: %u %u %u %u\n", in_vain[0], in_vain[1], in_vain[2], in_vain[3]);
	omp_destroy_nest_lock(&nested);
	omp_destroy_lock(&other);
	omp_destroy_lock(&lock);
	return 0;
}
