/*
 * Use after free: the last session is freed while others still look at it; its memory is used again at once, and they
 * follow a pointer that is not theirs. What could go wrong: reads of memory that now belongs to another block, a fault
 * that comes at another access, a block at another address. The handler tells where, then the program dies by SIGSEGV.
 */
// run: fails
#include "bugs.h"
#include <signal.h>

enum { ROUNDS = 500 };
struct session {
	const char *name;
	unsigned number;
};
static struct session *current;
static volatile int over;
static unsigned long letters[TEAM_MAX];
static __thread unsigned looks, who;

static void crashed(int sig)
{
	char text[80];
	int n = snprintf(text, sizeof text, "thread %u crashed at look %u\n", who, looks);

	signal(sig, SIG_DFL);
	if (write(1, text, (size_t)n) != n)
		_exit(3);
}

static struct session *open_session(unsigned n)
{
	struct session *s = malloc(sizeof *s);

	s->name = n % 2 ? "odd" : "even";
	s->number = n;
	return s;
}

/* The memory of a session is cleared and given back, and an allocation of this size may get it. */
static void close_session(struct session *s)
{
	s->name = NULL;
	LOOK_AGAIN();
	free(s);
	uintptr_t *other = calloc(1, sizeof *s);
	LOOK_AGAIN();
	other[0] = other[1] = 0;
	LOOK_AGAIN();
	free(other);
}

static void serve(void)
{
	for (unsigned i = 1; i < ROUNDS; i++) {
		struct session *last = current;
		current = open_session(i);
		LOOK_AGAIN();
		close_session(last);
	}
	over = 1;
}

static void look(unsigned me)
{
	for (looks = 0; !over; looks++) {
		struct session *s = current;
		breathe(looks);
		const char *name = s->name;
		while (*name++)
			letters[me]++;
		LOOK_AGAIN();
	}
}

static void work(unsigned me)
{
	who = me;
	me ? look(me) : serve();
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	signal(SIGSEGV, crashed);
	current = open_session(0);
	team_run(work);
	for (unsigned i = 1; i < team; i++)
		printf("thread %u read %lu letters\n", i, letters[i]);
	return 0;
}
