// A table in a section of its own: one walks through it by its ends, and another has the row's name.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
struct row {
	volatile long count;
};
static struct row first __attribute__((used, section("rows"), aligned(8)));
extern struct row __start_rows[], __stop_rows[];
static void *all(void *arg)
{
	for (int i = 0; i < 100000; i++)
		for (struct row *r = __start_rows; r < __stop_rows; r++)
			r->count++; // @a
	return arg;
}
int main(void)
{
	pthread_t t;
	long s = 0;
	pthread_create(&t, NULL, all, NULL);
	for (int i = 0; i < 100000; i++)
		s += first.count; // @b
	pthread_join(t, NULL);
	printf("%ld\n", s);
	return 0;
}
