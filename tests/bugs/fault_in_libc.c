/*
 * Functions of libc that meet a page which another thread has taken away, and a handler that mends nothing and returns: the function goes
 * on where it stopped, until that thread has brought the page back. Others change what is in the page meanwhile.
 * What could go wrong: the rest of what the function reads and writes must be in an order with the others, too, though the fault has ended
 * what it held; it may fault again in the same call; a string is longer than it could be read when it was looked at; while the
 * handler runs nobody may have to wait for this thread.
 */
// run: fails
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

static void fault(int sig, siginfo_t *info, void *context)
{
	size_t page = ((size_t)info->si_addr - (size_t)pages) / page_size;

	(void)sig, (void)context;
	faults[who]++;
	note(&seen[who], page);
	if (faults[who] % 4 == 0)
		sched_yield();
}

static char *text(unsigned i)
{
	return pages + (i % (PAGES - 1) + 1) * page_size - TEXT / 2;
}

/* Takes pages away; the text stays in them. */
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

static void use(unsigned me, unsigned i)
{
	char copy[2 * TEXT], *at = text(i / 6);

	switch (i % 6) {
	case 0: note(&seen[me], strlen(at)); break;
	case 1: note(&seen[me], (uint64_t)memcmp(at, text(i / 6 + 1), TEXT - 1)); break;
	case 2:
		snprintf(copy, sizeof copy, "%s", at);
		for (unsigned k = 0; copy[k]; k++)
			note(&seen[me], (unsigned char)copy[k]);
		break;
	case 3: note(&seen[me], (uint64_t)strtol(at + TEXT / 2 - 4, NULL, 36)); break;
	case 4: note(&seen[me], (uint64_t)(strchr(at, 'd') - at)); break;
	default:
		strncpy(at, "cbcacbccabacbbacbbacbacbcabbacbbabcbbacabbacbbacabbcabcbabcabbabcbabcbabcabbacbcabbacba",
			TEXT - 9);
	}
}

static void change(unsigned me, unsigned i)
{
	text(i)[i * 7 % (TEXT - 8)] = (char)('a' + (i + me) % 3);
}

static void work(unsigned me)
{
	who = me;
	if (me == 0)
		take_away();
	for (unsigned i = me; !over; i++) {
		me % 2 ? use(me, i) : change(me, i);
		breathe(i);
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
	unsigned sum = 0;

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
