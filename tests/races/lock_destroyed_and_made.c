// A table is made anew, with its lock, while others use it.
// expect: rare a a because the lock must be made anew in the middle of it
#include "golden.h"

struct table {
	pthread_spinlock_t lock;
	int size, *rows;
};
static struct table table;
static int total;

static void make(struct table *t, int size)
{
	pthread_spin_init(&t->lock, 0);
	t->size = size;
	t->rows = calloc((size_t)size, sizeof *t->rows);
}

static NOINLINE void reset(struct table *t)
{
	pthread_spin_destroy(&t->lock);
	make(t, t->size * 2);
}

static void *work(void *arg)
{
	for (int i = 0; i < 50; i++) {
		pthread_spin_lock(&table.lock); /* who sleeps there when it is made anew may sleep for ever */
		total++;			// @a
		pthread_spin_unlock(&table.lock);
	}
	if (id_of(arg) == 0)
		reset(&table);
	return say_done(0);
}

int main(void)
{
	make(&table, 4);
	team_for_a_while(3, work);
	return 0;
}
