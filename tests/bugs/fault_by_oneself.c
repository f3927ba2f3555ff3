/*
 * A thread takes memory away and accesses it next: it faults, and its handler brings the memory back. Counters in it are everybody's, and so counts
 * get lost.
 * What could go wrong: who takes memory away has it for itself at that moment, and its access asks nobody. It is made again behind the handler, where
 * the memory may be another's: that try must be in an order with all others, too. Values of 1 to 64 bytes, and an atomic one.
 */
// run: fails
#include "bugs.h"
#include <signal.h>
#include <sys/mman.h>

/* Large: a thread takes that many claims away at once. Few rounds: other orders need long for each; argv[2] may say more. */
enum { SIZE = 65536, ROUNDS = 24, COUNTERS = 4, LINE = 8 };
struct counters {
	uint64_t eight;
	uint32_t four;
	uint16_t two;
	uint8_t one;
	uint64_t line[LINE];
};
static struct counters *counters;
static uint64_t seen[TEAM_MAX];
static unsigned many = ROUNDS, counted, faults[TEAM_MAX];
static __thread unsigned who;

static void fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	faults[who]++;
	if (mprotect(counters, SIZE, PROT_READ | PROT_WRITE))
		abort();
	for (unsigned n = faults[who] % 4; n; n--)
		sched_yield(); /* here others come before the access is made again */
}

static void take_away(uint32_t random)
{
	if (mprotect(counters, SIZE, random % 2 ? PROT_NONE : PROT_READ))
		abort();
}

static void count(struct counters *c, uint32_t random)
{
	uint64_t none = ~0ull;

	switch (random % 5) {
	case 0: c->eight++; break;
	case 1: c->four++; break;
	case 2: c->two++; break;
	case 3:
		__atomic_compare_exchange_n(&c->eight, &none, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		__atomic_add_fetch(&c->eight, 1, __ATOMIC_RELAXED);
		break;
	default: c->one++;
	}
}

static void use(struct counters *c, unsigned me, uint32_t *random)
{
	uint64_t line[LINE];

	take_away(draw(random));
	count(c, draw(random));
	LOOK_AGAIN();
	note(&seen[me], c->eight + c->four);
	take_away(draw(random));
	memcpy(line, c->line, sizeof line);
	LOOK_AGAIN();
	line[me % LINE] += line[(me + 1) % LINE] + 1;
	take_away(draw(random));
	memcpy(c->line, line, sizeof line);
	LOOK_AGAIN();
	note(&seen[me], line[0]);
}

static void work(unsigned me)
{
	uint32_t random = me + 1;

	who = me;
	for (unsigned i = 0; i < rounds(many); i++) {
		use(&counters[i % COUNTERS], me, &random);
		breathe(i);
	}
	__atomic_add_fetch(&counted, rounds(many), __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
	unsigned long lost;

	team_size(argc, argv);
	if (argc > 2 && atoi(argv[2]))
		many = (unsigned)atoi(argv[2]);
	counters = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (counters == MAP_FAILED || sigaction(SIGSEGV, &act, NULL))
		abort();
	team_run(work);
	lost = counted;
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx, %u faults\n", i, (unsigned long long)seen[i], faults[i]);
	for (const struct counters *c = counters; c < counters + COUNTERS; c++) {
		note(&seen[0], c->eight + c->line[1]);
		lost -= c->eight + c->four + c->two + c->one;
	}
	printf("at the end %016llx\n", (unsigned long long)seen[0]);
	return verdict(lost, "counts");
}
