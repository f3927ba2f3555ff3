/* Critical sections, with and without a name, in several parallel regions: in which order the threads come in is printed. */
// run: varies check
#include "openmp.h"

enum { ROUNDS = 100 };
static struct arrivals plain, named, other;

int main(void)
{
	for (int region = 0; region < 3; region++) {
#pragma omp parallel num_threads(TEAM)
		for (int i = 0; i < ROUNDS; i++) {
			stumble();
#pragma omp critical
			arrive(&plain, ME_IN_TEAM);
#pragma omp critical(one)
			{
				stumble();
				arrive(&named, ME_IN_TEAM);
			}
#pragma omp critical(two)
			arrive(&other, ME_IN_TEAM);
		}
	}
	print_arrivals("critical", &plain);
	print_arrivals("one", &named);
	print_arrivals("two", &other);
	CHECK(plain.count == 3 * TEAM * ROUNDS && named.count == plain.count && other.count == plain.count);
	return 0;
}
