/*
 * Signals that come while a function of libc writes a text of so many digits that it allocates memory for them, with a
 * word in it that a handler and another thread change. What could go wrong: the handler begins where the memory is
 * given back, between what the function reads and writes, and ends with its own accesses what keeps others out.
 */
// run: fails
#include "bugs.h"
#include <signal.h>

enum { SIGNALS = 24, DIGITS = 100000 };
static char word[16] = "abcdefgh";
static pthread_t members[TEAM_MAX];
static uint64_t seen[TEAM_MAX], handled[TEAM_MAX];
static unsigned changed[TEAM_MAX];
static volatile int over;
static __thread unsigned self;

static void handle(int sig)
{
	(void)sig;
	note(&handled[self], (uint64_t)word[0]);
	word[1] = (char)('a' + (word[1] + 1) % 26);
}

static void send(void)
{
	for (unsigned i = 0; i < rounds(SIGNALS); i++) {
		usleep(300);
		word[0] = (char)('a' + i % 26);
		pthread_kill(members[1 + i % (team - 1)], SIGUSR1);
	}
	over = 1;
}

static void print(unsigned me)
{
	char text[32] = "", before[32] = "";

	while (!over) {
		snprintf(text, sizeof text, "%s %s %.*f", word, word, DIGITS, 1.5);
		note(&seen[me],
		     (uint64_t)text[0] << 24 | (uint64_t)text[1] << 16 | (uint64_t)text[9] << 8 | (uint64_t)text[10]);
		changed[me] += *before && strcmp(text, before) != 0;
		memcpy(before, text, sizeof text);
	}
}

static void work(unsigned me)
{
	self = me;
	members[me] = pthread_self();
	pthread_barrier_wait(&team_gate);
	if (me)
		print(me);
	else
		send();
	pthread_barrier_wait(&team_gate); /* nobody is sent a signal who has ended */
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = handle, .sa_flags = SA_RESTART };
	unsigned all = 0;

	team_size(argc, argv);
	sigaction(SIGUSR1, &act, NULL);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, and %016llx in its handler\n", i, (unsigned long long)seen[i],
		       (unsigned long long)handled[i]);
		all += changed[i];
	}
	return verdict(all, "times that the word was another one than before");
}
