/*
 * Locks and tokens that the program makes itself, of atomics and raw futexes; one in eight additions forgets the lock.
 * What could go wrong: who sleeps in a futex is waited for by the one who would wake it; a wake that comes before the
 * sleep, when the word has gone and come back; what a wait answered (woken, too late, interrupted, timed out), which is
 * noted here. A signal comes while a thread waits. One thread still sleeps when the program ends, and has written what
 * main writes after it.
 */
// run: fails
#include "bugs.h"
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

enum { ROUNDS = 150 };
static int lock, tokens, never; /* lock: 0 free, 1 taken, 2 perhaps waited for */
static volatile int asleep;
static unsigned long sum;
static uint64_t seen[TEAM_MAX];
static unsigned signals[TEAM_MAX];
static __thread unsigned who;
static pthread_t members[TEAM_MAX];

static int futex(int *word, int what, int value, const struct timespec *limit)
{
	return syscall(SYS_futex, word, what | FUTEX_PRIVATE_FLAG, value, limit, NULL, 0) < 0 ? errno : 0;
}

static void take(void)
{
	int was = 0;

	if (__atomic_compare_exchange_n(&lock, &was, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE) != 0)
		note(&seen[who], (uint64_t)futex(&lock, FUTEX_WAIT, 2, NULL));
}

static void give(void)
{
	if (__atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE) == 2)
		futex(&lock, FUTEX_WAKE, 1, NULL);
}

/* A token, or none in the time. */
static void take_token(void)
{
	const struct timespec limit = { 0, 300000 };

	for (;;) {
		int is = __atomic_load_n(&tokens, __ATOMIC_ACQUIRE);
		if (is > 0 && __atomic_compare_exchange_n(&tokens, &is, is - 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		int answer = is > 0 ? 0 : futex(&tokens, FUTEX_WAIT, 0, &limit);
		note(&seen[who], (uint64_t)answer);
		if (answer == ETIMEDOUT)
			return;
	}
}

static void give_token(void)
{
	__atomic_add_fetch(&tokens, 1, __ATOMIC_RELEASE);
	futex(&tokens, FUTEX_WAKE, 1, NULL);
}

static void ticked(int sig)
{
	(void)sig;
	note(&seen[who], ++signals[who]);
}

static void add(unsigned i)
{
	unsigned long was = sum;

	if (i % 16 == 7)
		sched_yield();
	sum = was + 1;
}

static void work(unsigned me)
{
	who = me;
	__atomic_store_n(&members[me], pthread_self(), __ATOMIC_RELEASE);
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i % 8 == 7) {
			add(i);
			continue;
		}
		take();
		add(i);
		give();
		if (i % 16 == me % 16)
			me % 2 ? give_token() : take_token();
		pthread_t other = __atomic_load_n(&members[(me + 1) % team], __ATOMIC_ACQUIRE);
		if (i % 64 == 20 && other)
			pthread_kill(other, SIGUSR1);
	}
	/* nobody may be gone when somebody sends a signal */
	pthread_barrier_wait(&team_gate);
}

static void *sleeper(void *unused)
{
	asleep = 1;
	for (;;)
		futex(&never, FUTEX_WAIT, 0, NULL);
	return unused;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = ticked };
	pthread_t thread;

	team_size(argc, argv);
	sigaction(SIGUSR1, &act, NULL);
	if (pthread_create(&thread, NULL, sleeper, NULL))
		abort();
	team_run(work);
	for (unsigned turns = 0; !asleep;)
		spin(&turns);
	asleep++;
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx, %u signals\n", i, (unsigned long long)seen[i], signals[i]);
	return verdict(ROUNDS * team - sum, "additions lost");
}
