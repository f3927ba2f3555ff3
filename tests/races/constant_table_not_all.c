// The same, but one of the texts is a variable, and a thread writes it.
// expect: race a b
#include "golden.h"

static char mine[8] = "mine";
static const char *const names[] = { "warp", "weft", mine, "shuttle" };

static NOINLINE size_t length_of(long n)
{
	const char *name = names[n % 4];
	size_t length = 0;

	while (name[length]) // @a
		length++;
	return length;
}

static void *work(void *arg)
{
	if (id_of(arg) == 3)
		mine[2] = 0; // @b
	return (void *)length_of(id_of(arg));
}

int main(int argc, char **argv)
{
	team(4, work);
	printf("%s %s\n", names[argc % 4], argv[0]);
	return 0;
}
