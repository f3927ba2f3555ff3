/*
 * Pages that one thread takes away and gives back while others use what is in them, and their handler returns: what fault_in_libc.c and
 * protections.c share. Each has its own handler and its own use.
 */
#include "bugs.h"
#include <signal.h>
#include <sys/mman.h>

enum { ROUNDS = 60, PAGES = 3, TEXT = 96 };
static size_t page_size;
static char *pages; /* a text lies over the end of each page but the last */
static volatile int over;
static uint64_t seen[TEAM_MAX];
static unsigned faults[TEAM_MAX];
static __thread unsigned who;

static char *text(unsigned i)
{
	return pages + (i % (PAGES - 1) + 1) * page_size - TEXT / 2;
}

/* Which page a fault was in: counted, and noted. */
static char *page_of(const siginfo_t *info)
{
	size_t page = ((size_t)info->si_addr - (size_t)pages) / page_size;

	faults[who]++;
	note(&seen[who], page);
	return pages + page * page_size;
}

/* The text stays in them. */
static void take_away(void)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		char *p = pages + i % PAGES * page_size;
		if (mprotect(p, page_size, i % 3 ? PROT_NONE : PROT_READ))
			abort();
		for (unsigned n = 0; n < i % 5; n++)
			sched_yield();
		if (mprotect(p, page_size, PROT_READ | PROT_WRITE))
			abort();
		sched_yield();
	}
	over = 1;
}

static void change(unsigned me, unsigned i)
{
	text(i)[i * 7 % (TEXT - 8)] = (char)('a' + (i + me) % 3);
}

static void (*use_text)(unsigned me, unsigned i);

static void work(unsigned me)
{
	who = me;
	if (me == 0)
		take_away();
	for (unsigned i = me; !over; i++) {
		me % 2 ? use_text(me, i) : change(me, i);
		breathe(i);
	}
}

/* All of it: the status of the program. */
static int pages_run(int argc, char **argv, void (*handler)(int, siginfo_t *, void *),
		     void (*use)(unsigned me, unsigned i))
{
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	unsigned sum = 0;

	use_text = use;
	team_size(argc, argv);
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGSEGV, &act, NULL);
	pages = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < PAGES - 1; i++) {
		memset(text(i), 'a', TEXT - 2);
		text(i)[TEXT - 2] = 'd';
	}
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u faults\n", i, (unsigned long long)seen[i], faults[i]);
		sum += faults[i];
	}
	return verdict(sum, "faults");
}
