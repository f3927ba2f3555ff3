/*
 * The program's limits on itself (setrlimit, ulimit) and what the runtime does in the same process.
 *
 * The kernel does not tell them apart. A limit that stands in the way is lifted as far as its hard limit for the one
 * call that needs it, and put back; another thread of the program may get through meanwhile, which is recorded as it
 * happened. A program that also lowered its hard limit, and is not root, leaves no way: then the caller gets the
 * kernel's error.
 */
#include "runtime/runtime.h"

static const int kernels[LIMITS] = {
	[LIMIT_FILE] = 1, [LIMIT_DATA] = 2, [LIMIT_SPACE] = 9
}; /* RLIMIT_FSIZE, _DATA, _AS */
static struct limits {
	uint64_t soft, hard;
} before[LIMITS];
static uint32_t lifted[LIMITS]; /* how many threads need it so */
static uint32_t lock;

static void set(enum limit which, struct limits to, struct limits *was)
{
	SYS4(__NR_prlimit64, 0, kernels[which], &to, was);
}

void limit_lift(enum limit which)
{
	struct limits *now = &before[which];

	brief_lock(&lock);
	if (!lifted[which]++) {
		*now = (struct limits){ ~0ull, ~0ull };
		SYS4(__NR_prlimit64, 0, kernels[which], 0, now);
		if (now->soft != now->hard)
			set(which, (struct limits){ now->hard, now->hard }, 0);
	}
	brief_unlock(&lock);
}

/* If the program has set another meanwhile, that one stays. */
static void put_back(enum limit which)
{
	struct limits mine = before[which], was;

	if (mine.soft == mine.hard)
		return;
	set(which, mine, &was);
	if (was.soft != mine.hard || was.hard != mine.hard)
		set(which, was, 0);
}

void limit_restore(enum limit which)
{
	brief_lock(&lock);
	if (!--lifted[which])
		put_back(which);
	brief_unlock(&lock);
}

void limits_forked(void)
{
	lock = 0;
	for (enum limit which = 0; which < LIMITS; which++)
		if (lifted[which]) {
			put_back(which);
			lifted[which] = 0;
		}
}

static long past_limits(long nr, uint64_t at, uint64_t n, uint64_t protection, uint64_t flags, long fd, uint64_t offset)
{
	long r = SYS6(nr, at, n, protection, flags, fd, offset);

	if (r != -ENOMEM)
		return r;
	limit_lift(LIMIT_SPACE);
	limit_lift(LIMIT_DATA);
	r = SYS6(nr, at, n, protection, flags, fd, offset);
	limit_restore(LIMIT_DATA);
	limit_restore(LIMIT_SPACE);
	return r;
}

long own_map(uint64_t at, uint64_t n, uint64_t protection, uint64_t flags, long fd, uint64_t offset)
{
	return past_limits(__NR_mmap, at, n, protection, flags, fd, offset);
}

long own_protect(uint64_t at, uint64_t n, uint64_t protection)
{
	return past_limits(__NR_mprotect, at, n, protection, 0, 0, 0);
}
