/*
 * Commands that do not look at all arguments of their call: libc passes on what lies in the registers, and what lies
 * there is perhaps left by a hook, which came another way at replay.
 */
// run: fails
#include "bugs.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

enum { ROUNDS = 300 };
static int descriptor = 1, word;
static unsigned sum;
static uint64_t seen[TEAM_MAX];

static void work(unsigned me)
{
	struct timespec moment = { 0, 1000 };

	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		sum += i;
		note(&seen[me], (unsigned)fcntl(descriptor, F_GETFD) + sum);
		sum += 1;
		note(&seen[me], (unsigned)ioctl(descriptor, FIONCLEX) + sum);
		sum += 1;
		note(&seen[me], (unsigned)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, sum & 0, &moment) + sum);
		sum += 1;
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
	}
}

int main(int argc, char **argv)
{
	unsigned n = rounds(ROUNDS);

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return verdict(sum != team * (n * (n - 1) / 2 + 3 * n), "sums");
}
