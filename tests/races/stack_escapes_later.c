// The address of a local variable is stored in a global, where another thread finds it.
// expect: race a b
#include "golden.h"
#include <stdatomic.h>

static _Atomic(volatile int *) place;

static void *owner(void *arg)
{
	volatile int local = 0;
	unsigned turns = 0;

	(void)arg;
	atomic_store(&place, &local);
	for (int i = 0; i < 20; i++)
		local += 1; // @a
	while (atomic_load(&place))
		patience(&turns);
	return NULL;
}

static void *guest(void *arg)
{
	volatile int *p;
	unsigned turns = 0;

	(void)arg;
	while (!(p = atomic_load(&place)))
		patience(&turns);
	*p = 100; // @b
	atomic_store(&place, NULL);
	return NULL;
}

int main(void)
{
	pair(owner, guest);
	return 0;
}
