// A reference count: who lets go last reads and frees what the others wrote.
// expect: kept w r because the last decrement follows all others
#include "golden.h"
#include <stdatomic.h>

static struct object {
	atomic_int references;
	int parts[4];
} * object;
static int sum;

static void *work(void *arg)
{
	struct object *o = object;

	o->parts[id_of(arg)] = 1; // @w
	if (atomic_fetch_sub_explicit(&o->references, 1, memory_order_acq_rel) == 1) {
		sum = o->parts[0] + o->parts[1] + o->parts[2] + o->parts[3]; // @r
		free(o);
	}
	return NULL;
}

int main(void)
{
	object = calloc(1, sizeof *object);
	object->references = 4;
	team(4, work);
	printf("%d\n", sum);
	return 0;
}
