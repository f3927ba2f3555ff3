/*
 * Functions of libc that meet a page which another thread has taken away, and a handler that mends nothing and returns: the function goes
 * on where it stopped, until that thread has brought the page back. Others change what is in the page meanwhile.
 * What could go wrong: the rest of what the function reads and writes must be in an order with the others, too, though the fault has ended
 * what it held; it may fault again in the same call; a string is longer than it could be read when it was looked at; while the
 * handler runs nobody may have to wait for this thread.
 */
// run: fails
#include "pages.h"

static void fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	page_of(info);
	if (faults[who] % 4 == 0)
		sched_yield();
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

int main(int argc, char **argv)
{
	return pages_run(argc, argv, fault, use);
}
