// Two short strings in one word: a thread reads the first while another writes the second.
// expect: kept a b because a string ends where it ends
#include "golden.h"

static struct {
	char first[3], second[13];
} names = { "ab", "cdefghijkl" };

static void *measure(void *arg)
{
	size_t sum = 0;

	(void)arg;
	for (int i = 0; i < 20; i++) {
		sum += strlen(names.first); // @a
		LOOK_AGAIN();
	}
	return (void *)sum;
}

static void *change(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		names.second[i % 8] = 'x'; // @b
		LOOK_AGAIN();
	}
	return NULL;
}

int main(void)
{
	pair(measure, change);
	return 0;
}
