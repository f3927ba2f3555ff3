/*
 * Every system call site gets a stub of its own, in reach of a branch. The first
 * call traps (seccomp raises SIGSYS), writes the stub, and replaces the system
 * call instruction by a branch to it; from then on the site costs a branch. A
 * site that cannot be patched keeps trapping and continues in its stub each time.
 * Sites that earlier runs have met are patched ahead (known_sites.c).
 *
 * Atomic instructions of unmodified programs are led through stubs, too, when the process gets a second thread: see
 * runtime/atomics/.
 *
 * Pools of stubs lie at places that mmap_place() leaves free, so that no mapping of the program's is in their way, or
 * at replay over them.
 */
#include "loader/patch.h"
#include "loader/arch/arch.h"
#include "runtime/runtime.h"
#include <linux/fcntl.h>
#include <linux/membarrier.h>
#include <linux/mman.h>

#define POOLS	     4096
#define SITES_LEAST  256 /* powers of two: a table of n places lies at sites + n */
#define SITES_MOST   16384
#define PATCH_REACH  32 /* no patch begins or ends farther from its site */
#define LONGEST_SITE 16 /* bytes of an instruction, at most */

struct pool {
	uint64_t base;
	uint32_t used;
	bool atomic; /* of stubs that are asked for in the same order at record and replay */
};
struct site {
	uint64_t address, stub;
};

static struct pool pools[POOLS];
static unsigned pool_count;
static struct site sites[2 * SITES_MOST];
static unsigned site_count, site_room = SITES_LEAST;

static bool in_reach(uint64_t pool, uint64_t site)
{
	uint64_t distance = pool > site ? pool - site : site - pool;
	return !stub_reach || distance < stub_reach;
}

static bool add_pool(uint64_t base)
{
	if (pool_count == POOLS || !base || base >= MAP_OURS_BASE)
		return false;
	long r = SYS6(__NR_mmap, base, MAP_POOL_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (r != (long)base)
		return false;
	pools[pool_count++] = (struct pool){ .base = base };
	return true;
}

/* Where nothing but pools is. */
static bool add_pool_in_room(uint64_t site)
{
	static struct {
		uint64_t top, used;
	} rooms[] = { { MAP_LOW_BASE, 0 }, { MAP_PIE_BASE, 0 }, { MAP_MMAP_BASE, 0 } };
	for (unsigned i = 0; i < COUNT(rooms); i++)
		while (rooms[i].used < MAP_POOL_ROOM) {
			uint64_t at = rooms[i].top - rooms[i].used - MAP_POOL_SIZE;
			if (!in_reach(at, site))
				break;
			rooms[i].used += MAP_POOL_SIZE;
			if (add_pool(at))
				return true;
		}
	return false;
}

/* The kept-free place in the site's own 64 MiB block, else in a neighbour's. */
static bool add_pool_near(uint64_t site)
{
	uint64_t own = ALIGN_DOWN(site, MAP_POOL_EVERY) + MAP_POOL_EVERY - MAP_POOL_SIZE;
	for (int step = 0; step <= 2; step++) {
		if (in_reach(own + step * MAP_POOL_EVERY, site) && add_pool(own + step * MAP_POOL_EVERY))
			return true;
		if (step && own > step * MAP_POOL_EVERY && in_reach(own - step * MAP_POOL_EVERY, site) &&
		    add_pool(own - step * MAP_POOL_EVERY))
			return true;
	}
	if (add_pool_in_room(site))
		return true;
	/* code far from there: anywhere in reach */
	for (uint64_t d = MAP_POOL_SIZE; d < stub_reach; d += 16 * MAP_POOL_SIZE)
		if (add_pool(ALIGN_DOWN(site, MAP_POOL_SIZE) + d) ||
		    (site > d && add_pool(ALIGN_DOWN(site - d, MAP_POOL_SIZE))))
			return true;
	return false;
}

static uint64_t new_stub(uint64_t site, bool atomic)
{
	static unsigned last; /* pool that had room */
	for (int again = 0; again < 2; again++) {
		for (unsigned i = 0; i < pool_count; i++) {
			struct pool *p = &pools[(last + i) % pool_count];
			if (p->atomic == atomic && in_reach(p->base, site) && p->used + STUB_SIZE <= MAP_POOL_SIZE) {
				last = (unsigned)(p - pools);
				p->used += STUB_SIZE;
				return p->base + p->used - STUB_SIZE;
			}
		}
		if (!(atomic && add_pool_in_room(site)) && !add_pool_near(site))
			break;
		pools[pool_count - 1].atomic = atomic;
	}
	cannot("no room for a stub near the instruction at %x", site);
}

/* Where it is, or would be put. */
static struct site *place_in(unsigned room, uint64_t address)
{
	uint64_t h = address >> 1;
	h = (h ^ h >> 8 ^ h >> 16) & (room - 1);
	while (sites[room + h].address && sites[room + h].address != address)
		h = (h + 1) & (room - 1);
	return &sites[room + h];
}

static struct site *find_site(uint64_t address)
{
	return place_in(__atomic_load_n(&site_room, __ATOMIC_ACQUIRE), address);
}

/* The table is small at first: a large one would cost every short process a page for each site. Under the lock; who
   looks without it finds the old table, which stays as it is. */
static void grow_sites(void)
{
	unsigned room = site_room;
	if (room == SITES_MOST)
		cannot("the program has more than %d system call sites", (long)(SITES_MOST / 2));
	for (unsigned i = 0; i < room; i++)
		if (sites[room + i].address)
			*place_in(2 * room, sites[room + i].address) = sites[room + i];
	/* release: the new table is whole before it counts */
	__atomic_store_n(&site_room, 2 * room, __ATOMIC_RELEASE);
}

/* Under the lock: the site with its stub, new or not. */
static struct site *add_site(uint64_t address)
{
	struct site *s = find_site(address);
	if (s->address)
		return s;
	if (site_count >= site_room / 2) {
		grow_sites();
		s = find_site(address);
	}
	site_count++;
	s->stub = new_stub(address, false);
	stub_write((uint8_t *)s->stub, address);
	/* release: patch_continue() looks without the lock */
	__atomic_store_n(&s->address, address, __ATOMIC_RELEASE);
	return s;
}

/* Through /proc/thread-self/mem, which writes to code without making it writable for the program. Open while the lock
   is held. (/proc/self has none when the first thread has ended.) */
static long memory_file = -1;

static bool write_code(uint64_t where, const uint8_t *bytes, unsigned n)
{
	if (memory_file < 0)
		memory_file = file_open("/proc/thread-self/mem", O_RDWR, 0);
	if (memory_file < 0 || SYS4(__NR_pwrite64, memory_file, bytes, n, where) != (long)n)
		return false; /* it keeps trapping */
	flush_code((void *)where, n);
	return true;
}

void patch_copied(void)
{
	if (memory_file < 0)
		return;
	long fd = file_open("/proc/thread-self/mem", O_RDWR, 0);
	if (fd < 0)
		cannot("a copy of the process needs /proc, which is not mounted here");
	SYS3(__NR_dup3, fd, memory_file, O_CLOEXEC);
	file_close(fd);
}

/* Each core forgets what it has read ahead of its code. */
static bool sync_cores(void)
{
	if (!SYS3(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		return true;
	return !SYS3(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) &&
	       !SYS3(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

static bool can_patch_among_others(void)
{
	static bool can;
	return can || (can = sync_cores());
}

/*
 * While others may run there. A byte is written at once, and so is a word of aarch64, where one branch may give way to
 * another instruction at any time. A longer patch of x86-64 is not: whoever began to run it would run a part of it. So
 * first a byte that is no instruction is put where one may begin, who comes there runs it again until the rest is in
 * its place (patch_is_under_way()), and all cores take notice before that is written, and again before the first byte
 * is.
 */
static uint64_t under_way;

static bool write_among_others(uint64_t where, const uint8_t *bytes, unsigned n, bool over_two)
{
	const uint8_t nothing = STUB_NOTHING;
	if (one_thread || !STUB_IN_STEPS)
		return write_code(where, bytes, n);
	/* release: set before a byte is seen, and still set while one is */
	__atomic_store_n(&under_way, where, __ATOMIC_RELEASE);
	bool done = write_code(where, &nothing, 1);
	if (done) {
		if (over_two) /* which is none, either, in the patch itself: stub_tail() */
			write_code(where + SYSCALL_SIZE, bytes + SYSCALL_SIZE, 1);
		sync_cores();
		write_code(where + 1, bytes + 1, n - 1);
		sync_cores();
		write_code(where, bytes, 1);
	}
	__atomic_store_n(&under_way, 0, __ATOMIC_RELEASE);
	return done;
}

bool patch_is_under_way(uint64_t pc)
{
	uint64_t where = __atomic_load_n(&under_way, __ATOMIC_ACQUIRE); /* first: else it may end in between */
	return (where && (pc == where || pc == where + SYSCALL_SIZE)) || stub_is_jump(pc);
}

/* Handlers run with all signals blocked, so nobody meets this lock on its own stack. */
static uint32_t lock;

void patch_lock(void)
{
	brief_lock(&lock);
}

void patch_unlock(void)
{
	if (memory_file >= 0)
		file_close(memory_file);
	memory_file = -1;
	brief_unlock(&lock);
}

void patch_site(void *uc)
{
	uint64_t address = context_pc(uc) - SYSCALL_SIZE;
	patch_lock();
	struct site *s = add_site(address);
	bool possible = control->patch && (one_thread || !STUB_IN_STEPS || can_patch_among_others());
	if (possible && ALIGN_DOWN(address, MAP_POOL_SIZE) != MAP_SIGNAL_RETURN) {
		uint8_t bytes[16];
		uint64_t where;
		struct regs r;
		context_regs(uc, &r);
		unsigned n = stub_patch((uint8_t *)s->stub, address, REGS_NR(&r), bytes, &where);
		if (n && write_among_others(where, bytes, n, where == address))
			known_sites_learn(address, (uint32_t)REGS_NR(&r));
	}
	context_set_pc(uc, s->stub);
	patch_unlock();
}

void patch_ahead(uint64_t address, uint32_t nr)
{
	uint8_t bytes[16];
	uint64_t where;
	if (!stub_is_site(address))
		return;
	struct site *s = add_site(address);
	unsigned n = stub_patch((uint8_t *)s->stub, address, nr, bytes, &where);
	memcpy((void *)where, bytes, n);
	flush_code((void *)where, n);
}

/* Stubs of atomic instructions side by side, in the order of their sites. */
static struct run {
	uint64_t from, to;
	uint64_t first, last; /* their sites */
} runs[2 * POOLS];
static unsigned run_count;

static uint64_t site_of(uint64_t stub)
{
	return stub_atomic_site((uint64_t)stub_atomic_instruction(stub));
}

static void add_to_runs(uint64_t stub, uint64_t site)
{
	struct run *last = run_count ? &runs[run_count - 1] : 0;
	bool fresh = !last || last->to != stub || last->last > site;
	if (fresh && run_count == COUNT(runs))
		cannot("no room for one more list of atomic instructions, at %x", site);
	if (fresh) {
		last = &runs[run_count];
		*last = (struct run){ .from = stub, .first = site };
	}
	last->to = stub + STUB_SIZE;
	last->last = site;
	/* release: patch_trapped() looks without the lock. It is not asked for a site of this run before that is led to
	   its stub, and a longer run is still in order. */
	__atomic_store_n(&run_count, (unsigned)(last - runs) + 1, __ATOMIC_RELEASE);
}

/* The stub of the last site at or before pc, in the newest run that may have it: another object may have been there
   before. */
static uint64_t stub_before(uint64_t pc)
{
	unsigned count = __atomic_load_n(&run_count, __ATOMIC_ACQUIRE);
	for (unsigned i = count; i-- > 0;) {
		uint64_t from = runs[i].from, to = runs[i].to;
		if (pc < runs[i].first || pc > runs[i].last + LONGEST_SITE)
			continue;
		while (to > from + STUB_SIZE) {
			uint64_t middle = from + ALIGN_DOWN((to - from) / 2, STUB_SIZE);
			*(site_of(middle) <= pc ? &from : &to) = middle;
		}
		return from;
	}
	return 0;
}

uint64_t patch_trapped(uint64_t pc)
{
	uint64_t stub = stub_before(pc);
	return stub && site_of(stub) == pc ? stub : 0;
}

void patch_atomic(uint64_t address)
{
	uint64_t stub = new_stub(address, true);
	stub_write_atomic((uint8_t *)stub, address);
	add_to_runs(stub, address);
}

uint64_t patch_lead(uint64_t address, uint64_t from, uint64_t to)
{
	struct lead lead = stub_lead((uint8_t *)patch_trapped(address), address, from, to);
	write_code(lead.from, lead.bytes, lead.size);
	return lead.to;
}

uint64_t patch_program_pc(uint64_t pc)
{
	return patch_is_stub(pc) ? stub_atomic_site(pc) : pc;
}

uint64_t patch_continue(uint64_t pc)
{
	uint64_t stub = stub_before(pc);
	if (stub && site_of(stub) == pc)
		return stub;
	if (stub && stub_atomic_behind(stub, pc))
		return stub_atomic_behind(stub, pc);
	const struct site *s = find_site(pc - SYSCALL_SIZE);
	uint64_t tail = s->address ? stub_tail((const uint8_t *)s->stub, s->address) : 0;
	return tail ? tail : pc;
}

bool patch_is_near(uint64_t from, uint64_t to)
{
	unsigned room = __atomic_load_n(&site_room, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; i < room; i++) {
		uint64_t site = __atomic_load_n(&sites[room + i].address, __ATOMIC_ACQUIRE);
		if (site && site + PATCH_REACH > from && site < to + PATCH_REACH)
			return true;
	}
	return false;
}

bool patch_is_stub(uint64_t pc)
{
	for (unsigned i = 0; i < pool_count; i++)
		if (pc >= pools[i].base && pc < pools[i].base + MAP_POOL_SIZE)
			return true;
	return false;
}
