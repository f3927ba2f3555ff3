/*
 * localtime, gmtime, ctime and asctime give one place to everybody; others read it while it changes. The same for what
 * localtime_r, posix_memalign, mkstemp, realpath, sigwait and select answer in memory that threads share.
 * What could go wrong: libc writes all of it, beside a lock or a system call of its own, and who reads it is in no order
 * with that.
 */
// run: fails
#include "bugs.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/select.h>
#include <time.h>

enum { ROUNDS = 150 };
static struct tm shared_tm, *given;
static char *given_text, name[] = "/tmp/heddle-XXXXXX", path[PATH_MAX];
static void *volatile block;
static int caught;
static struct timeval left;
static uint64_t seen[TEAM_MAX];
static unsigned torn[TEAM_MAX];
static volatile int over;

static void ask_files(void)
{
	memcpy(name + sizeof name - 7, "XXXXXX", 6);
	int fd = mkstemp(name);

	if (fd < 0)
		abort();
	close(fd);
	if (!realpath(name, path))
		abort();
	unlink(name);
}

static void ask_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_kill(pthread_self(), SIGUSR1);
	caught = 0;
	if (sigwait(&set, &caught))
		abort();
}

static void change(unsigned me)
{
	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		time_t t = i % 2 ? 0 : 200 * 86400;
		void *p;
		given = i % 3 ? gmtime(&t) : localtime(&t);
		localtime_r(&t, &shared_tm);
		given_text = i % 3 ? asctime(given) : ctime(&t);
		breathe(i);
		block = NULL;
		if (posix_memalign((void **)&block, 64, 100 + me))
			abort();
		p = block;
		free(p);
		left = (struct timeval){ 0, 50 };
		select(0, NULL, NULL, NULL, &left);
		if (i % 16 == 0)
			ask_files();
		ask_signals();
	}
	over = 1;
}

static void look(unsigned me)
{
	unsigned turns = 0;

	while (!over) {
		if (given)
			note(&seen[me], (uint64_t)given->tm_yday * 64 + (uint64_t)given->tm_mon);
		if (given_text)
			note(&seen[me], (unsigned char)given_text[4] + 256u * (unsigned char)given_text[8]);
		torn[me] += shared_tm.tm_yday == 200 && shared_tm.tm_mon == 0;
		note(&seen[me], (uint64_t)shared_tm.tm_yday + 1000 * (uint64_t)(block != NULL));
		note(&seen[me], (uint64_t)caught + 100 * (uint64_t)left.tv_usec);
		note(&seen[me], (unsigned char)name[sizeof name - 3] + 256u * (unsigned char)path[sizeof name - 3]);
		spin(&turns);
	}
}

static void work(unsigned me)
{
	me ? look(me) : change(me);
}

int main(int argc, char **argv)
{
	unsigned all = 0;

	setenv("TZ", "UTC", 1);
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
		all += torn[i] + (i && seen[i] != 0);
	}
	return verdict(all, "times of which a part was old, or threads that saw them change");
}
