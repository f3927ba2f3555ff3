// A thread-local variable, used through a pointer by functions of the same thread.
// expect: none a because each thread has its own
#include "golden.h"

static __thread long count;

static NOINLINE void add(long *to)
{
	*to += 1; // @a
}

static void *work(void *arg)
{
	for (long i = 0; i < 5 + id_of(arg); i++)
		add(&count);
	return (void *)count;
}

int main(void)
{
	team(4, work);
	return 0;
}
