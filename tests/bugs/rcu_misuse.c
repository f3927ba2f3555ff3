/*
 * RCU without a grace period: readers take the pointer of the newest version and use it without a lock; the writer swaps the pointer and uses the
 * old version again at once. A reader that was slow finds its version changed under its hands. What could go wrong: reads of one version
 * before and after the write that spoils it must stay on their sides.
 */
// run: fails gallery
// explain: @spoil before @second | @first before @publish
#include "bugs.h"

enum { VERSIONS = 2, UPDATES = 400 };
struct version {
	unsigned a, b;
};
static struct version versions[VERSIONS], *newest = versions;
static unsigned long wrong[TEAM_MAX];
static uint64_t seen[TEAM_MAX];

static void update(unsigned n)
{
	struct version *next = &versions[n % VERSIONS];

	next->a = n; // @spoil
	LOOK_AGAIN();
	next->b = n;
	__atomic_store_n(&newest, next, __ATOMIC_RELEASE); // @publish
}

static void read_one(unsigned me, unsigned i)
{
	struct version *mine = __atomic_load_n(&newest, __ATOMIC_ACQUIRE);
	unsigned a = mine->a; // @first

	LOOK_AGAIN();
	breathe(i);
	unsigned b = mine->b; // @second
	wrong[me] += a != b;
	note(&seen[me], a + ((uint64_t)b << 32));
}

static void work(unsigned me)
{
	for (unsigned i = 1; i <= rounds(UPDATES); i++)
		if (me == 0)
			update(i);
		else
			read_one(me, i);
}

int main(int argc, char **argv)
{
	unsigned long sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 1; i < team; i++) {
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
		sum += wrong[i];
	}
	return verdict(sum, "versions that changed while they were read");
}
