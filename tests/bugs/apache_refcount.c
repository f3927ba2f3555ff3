/*
 * Reference count, as in Apache's cache of files: the count is lowered, and looked at again to see whether it was the last. Two threads that
 * leave at once both see 0, and the object is cleaned up twice. What could go wrong: lowering is atomic, only the look is not; the
 * order of one plain read against an atomic write decides.
 */
// run: fails gallery
// explain: @lower before @look
#include "bugs.h"

static int references;
static unsigned cleaned[TEAM_MAX], doubles, never;
static uint64_t who;

static void prepare(void)
{
	references = (int)team;
	memset(cleaned, 0, sizeof cleaned);
}

static void act(unsigned me)
{
	__atomic_sub_fetch(&references, 1, __ATOMIC_ACQ_REL); // @lower
	LOOK_AGAIN();
	if (references == 0) // @look
		cleaned[me] = 1;
}

static void judge(void)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < team; i++) {
		sum += cleaned[i];
		note(&who, cleaned[i]);
	}
	doubles += sum > 1;
	never += sum == 0;
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 120);
	team_repeat(prepare, act, judge);
	printf("who %016llx, never cleaned %u\n", (unsigned long long)who, never);
	return verdict(doubles, "objects cleaned up twice");
}
