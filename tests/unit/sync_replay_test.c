/*
 * All primitives of runtime/sync/ at once, recorded and replayed.
 *
 * What could go wrong: an edge that is missing, so that a thread sees at replay what it did not see at record; an
 * outcome that is decided again; an edge to the future, so that the replay hangs (and says so after 100 s).
 */
// run: our-addresses
#include "tests/unit/sync_alone.h"

/*
 * Threads choose what to do by their own random numbers, which also take up what they see in the data that the objects
 * protect and in the results: at replay each must see the same, and all objects must end with the same bytes.
 */
#define MIX_STEPS   3000
#define MIX_THREADS 6
static struct objects {
	struct mutex mutex, recursive, shared, robust;
	struct rwlock rwlock, shared_rwlock;
	struct semaphore semaphore;
	struct barrier barrier;
	struct cond cond, shared_cond;
	uint32_t spin, once[64];
	uint64_t guard[64];
	volatile uint64_t data[16], tokens, shared_tokens;
} mix, mix_recorded;
static uint64_t seen[THREADS + 1];

static void look(uint64_t *mine, unsigned i, bool write)
{
	uint64_t value = mix.data[i];
	*mine = (*mine ^ value) * 0x9e3779b97f4a7c15ull + 1;
	if (write)
		mix.data[i] = *mine >> 7;
}

static uint64_t own_random(uint64_t *mine)
{
	*mine = *mine * 6364136223846793005ull + 1442695040888963407ull;
	return *mine >> 33;
}

static void use_cond(struct thread *t, struct cond *c, volatile uint64_t *count, unsigned way, uint64_t *mine)
{
	int64_t until[2];
	in(1, CLOCK_MONOTONIC, until);
	LOCK(t, &mix.mutex);
	if (way % 2) {
		++*count;
		sync_cond_wake(t, (uint64_t)c, way % 16 == 1 ? 2 : 1, 0, 0);
	} else {
		long r = 0;
		while (!*count && !r) /* the time is up: whoever would wake us may have ended */
			*mine += (uint64_t)(r = wait_for(t, c, &mix.mutex, CLOCK_MONOTONIC, until));
		if (*count)
			--*count;
	}
	look(mine, 0, true);
	UNLOCK(t, &mix.mutex);
}

static void use_rwlock(struct thread *t, struct rwlock *l, unsigned data, unsigned way, uint64_t *mine)
{
	int64_t until[2];
	bool write = way % 4 == 0;
	in(1, CLOCK_MONOTONIC, until);
	long r = AGAIN(sync_rwlock_lock(t, (uint64_t)l, (write ? RW_WRITE : RW_READ) | (way % 16 > 12 ? RW_TRY : 0),
					CLOCK_MONOTONIC, way % 16 > 8 ? (uint64_t)until : 0));
	*mine += (uint64_t)r;
	if (r)
		return;
	look(mine, data, write);
	if (!write && way % 3 == 0)
		sched_yield();
	sync_rwlock_unlock(t, (uint64_t)l, 0, 0, 0);
}

static void use_mutex(struct thread *t, struct mutex *m, unsigned data, unsigned way, uint64_t *mine)
{
	long r = way % 4 ? LOCK(t, m) : TRY(t, m);
	*mine += (uint64_t)r;
	if (r)
		return;
	if (way % 8 > 5)
		*mine += (uint64_t)TRY(t, m) << 8;
	look(mine, data, true);
	while (m->count > 1)
		UNLOCK(t, m);
	UNLOCK(t, m);
}

static void mixture(struct thread *t)
{
	begin(t);
	seed += (uint64_t)replaying * 12345; /* the bad luck is another */
	uint64_t mine = t->front->slot * 1234567;
	for (int i = 0; i < MIX_STEPS; i++) {
		uint64_t r = own_random(&mine);
		unsigned way = (unsigned)(r >> 8);
		int64_t until[2];
		switch (r % 14) {
		case 0:
		case 1: use_mutex(t, &mix.mutex, 1, way, &mine); break;
		case 2: use_mutex(t, &mix.recursive, 2, way, &mine); break;
		case 3: use_mutex(t, &mix.shared, 3, way, &mine); break;
		case 4: use_mutex(t, &mix.robust, 4, way & ~4u, &mine); break;
		case 5:
		case 6: use_rwlock(t, &mix.rwlock, 5, way, &mine); break;
		case 7: use_rwlock(t, &mix.shared_rwlock, 6, way, &mine); break;
		case 8:
			/* a semaphore of one, as a lock; and its value */
			in(1, CLOCK_MONOTONIC, until);
			mine += (uint64_t)sync_sem_value(t, (uint64_t)&mix.semaphore, 0, 0, 0);
			long e = AGAIN(sync_sem_take(t, (uint64_t)&mix.semaphore, way % 4 == 0, CLOCK_MONOTONIC,
						     way % 4 == 1 ? (uint64_t)until : 0));
			mine += (uint64_t)e;
			if (e)
				break;
			look(&mine, 7, true);
			sync_sem_give(t, (uint64_t)&mix.semaphore, 0, 0, 0);
			break;
		case 9: use_cond(t, &mix.cond, &mix.tokens, way, &mine); break;
		case 10: use_cond(t, &mix.shared_cond, &mix.shared_tokens, way, &mine); break;
		case 11:
			if (AGAIN(sync_spin_lock(t, (uint64_t)&mix.spin, way % 2 ? MUTEX_WAIT : MUTEX_TRY, 0, 0)))
				break;
			look(&mine, 8, true);
			sync_spin_unlock(t, (uint64_t)&mix.spin, 0, 0, 0);
			break;
		case 12:
			while (AGAIN(sync_once_begin(t, (uint64_t)&mix.once[way % 64], 0, 0, 0))) {
				if (way % 64 == 5)
					look(&mine, 9, true);
				sync_once_end(t, (uint64_t)&mix.once[way % 64], own_random(&mine) % 2, 0, 0);
			}
			if (way % 64 == 5)
				look(&mine, 9, false);
			break;
		case 13:
			while (AGAIN(sync_guard_acquire(t, (uint64_t)&mix.guard[way % 64], 0, 0, 0))) {
				if (way % 64 == 6)
					look(&mine, 10, true);
				sync_guard_release(t, (uint64_t)&mix.guard[way % 64], own_random(&mine) % 2, 0, 0);
			}
			if (way % 64 == 6)
				look(&mine, 10, false);
			break;
		}
		if (i % 100 == 0) {
			long place = sync_barrier_arrive(t, (uint64_t)&mix.barrier, 0, 0, 0);
			mine += (uint64_t)place;
			if (place != BARRIER_SERIAL)
				AGAIN(sync_barrier_leave(t, (uint64_t)&mix.barrier, (uint64_t)place, 0, 0));
			for (unsigned k = 1; k < COUNT(mix.data); k++)
				look(&mine, k, false);
			place = sync_barrier_arrive(t, (uint64_t)&mix.barrier, 0, 0, 0);
			if (place != BARRIER_SERIAL)
				AGAIN(sync_barrier_leave(t, (uint64_t)&mix.barrier, (uint64_t)place, 0, 0));
		}
	}
	seen[t->front->slot] = mine;
}

static void mix_run(const char *name)
{
	memset(&mix, 0, sizeof mix);
	memset(first, 0, sizeof first);
	for (unsigned level = 1; level < LEVELS && levels[level]; level++)
		CHECK(!madvise(levels[level], places(level) * sizeof *levels[level], MADV_DONTNEED));
	mix.recursive.kind = MUTEX_RECURSIVE;
	mix.shared.kind = MUTEX_SHARED | MUTEX_ERRORCHECK;
	mix.robust.kind = MUTEX_ROBUST | MUTEX_ERRORCHECK;
	mix.shared_rwlock.shared = 1;
	mix.shared_cond.flags = COND_SHARED;
	mix.semaphore.value = 1;
	mix.barrier.count = MIX_THREADS;
	for (unsigned i = 0; i <= THREADS; i++)
		fronts[i].clock = done[i] = logs[i].next = 0;
	run(name, mixture, MIX_THREADS);
	/* what only says that somebody sleeps, or slept */
	mix.shared_cond.sequence = 0;
}

static void test_replay(void)
{
	for (int round = 0; round < 3; round++) {
		uint64_t recorded[THREADS + 1];
		for (unsigned i = 0; i <= THREADS; i++) {
			logs[i].count = 0;
			memset(logs[i].known, 0, sizeof logs[i].known);
		}
		logging = true;
		mix_run("recorded mixture");
		logging = false;
		memcpy(recorded, seen, sizeof seen);
		mix_recorded = mix;
		for (int times = 0; times < 3; times++) {
			replaying = true;
			mix_run("replayed mixture");
			replaying = false;
			CHECK(!memcmp(recorded, seen, sizeof seen));
			for (size_t i = 0; i < sizeof mix / 4; i++)
				if (((uint32_t *)&mix)[i] != ((uint32_t *)&mix_recorded)[i])
					printf("word %zu differs\n", i);
			CHECK(!memcmp(&mix, &mix_recorded, sizeof mix));
			for (unsigned i = 0; i <= THREADS; i++)
				CHECK(logs[i].next == logs[i].count);
		}
	}
}
int main(void)
{
	sync_alone();
	test_replay();
	printf("sync_replay_test: ok\n");
	return 0;
}
