// Objects of a section are found through its beginning, whatever their linkage.
// expect: race a b
#include "golden.h"

struct row {
	long count;
};
static struct row first __attribute__((used, section("rows"), aligned(8)));
static struct row second __attribute__((used, section("rows"), aligned(8)));
extern struct row __start_rows[], __stop_rows[];

static void *all(void *arg)
{
	for (struct row *r = __start_rows; r < __stop_rows; r++)
		r->count++; // @a
	return arg;
}

static void *mine(void *arg)
{
	first.count += 2; // @b
	second.count = 3;
	return arg;
}

int main(void)
{
	pthread_t one, two;

	pthread_create(&one, NULL, all, NULL);
	pthread_create(&two, NULL, mine, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	printf("%ld %ld\n", first.count, second.count);
	return 0;
}
