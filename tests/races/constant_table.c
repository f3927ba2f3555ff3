// Texts that are found through a table of pointers, and given to libc: nobody can write either.
// expect: none a b because a constant
#include "golden.h"

static const char *const names[] = { "warp", "weft", "heddle", "shuttle" };

static NOINLINE size_t length_of(long n)
{
	const char *name = names[n % 4]; // @a
	size_t length = 0;

	while (name[length]) // @b
		length++;
	return length;
}

static void *work(void *arg)
{
	return (void *)(length_of(id_of(arg)) + strlen(names[id_of(arg) % 3]));
}

int main(int argc, char **argv)
{
	team(4, work);
	printf("%s %s\n", names[argc % 4], argv[0]);
	return 0;
}
