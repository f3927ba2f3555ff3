/*
 * A run that logs much more than a ring keeps: large and small answers of the kernel, locks, conditions, threads that come and go, one that sleeps
 * nearly all the time, data races, signals in busy loops. Each kind of event goes on until the end, so whatever a checkpoint or a cut
 * log has lost of it shows in what is printed after.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long sum, turns;
static volatile unsigned long raced;
static volatile sig_atomic_t alarms;
static unsigned rounds;
static int done, tube[2];

/* Built with -DORDERED it has no data race, and an unmodified program replays, too. */
static void race(unsigned long factor, unsigned long n)
{
#ifdef ORDERED
	pthread_mutex_lock(&lock);
#endif
	raced = raced * factor + n;
#ifdef ORDERED
	pthread_mutex_unlock(&lock);
#endif
}

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void mix(const unsigned char *p, size_t n, unsigned long own)
{
	for (size_t i = 0; i < n; i++)
		sum = sum * 31 + p[i] + own;
}

static void *reader(void *arg)
{
	unsigned long own = (unsigned long)arg;
	unsigned char bytes[8192];
	int fd = open("/dev/urandom", O_RDONLY);

	for (unsigned i = 0; i < rounds; i++) {
		size_t n = i % 7 ? 64 * own : sizeof bytes, got = 0;
		while (got < n) {
			ssize_t r = read(fd, bytes + got, n - got);
			if (r < 0 && errno != EINTR)
				exit(2);
			got += r > 0 ? (size_t)r : 0;
		}
		for (unsigned k = 0; k < 5; k++)
			race(3, bytes[k]);
		pthread_mutex_lock(&lock);
		mix(bytes, n, own);
		if (++turns % 64 == 0)
			pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	close(fd);
	return NULL;
}

static void *waiter(void *unused)
{
	unsigned long woken = 0;

	(void)unused;
	pthread_mutex_lock(&lock);
	while (!done) {
		pthread_cond_wait(&changed, &lock);
		woken++;
		sum ^= woken;
	}
	pthread_mutex_unlock(&lock);
	return (void *)woken;
}

/* Nobody writes before the end. The list is read before the call sleeps, and again after each signal. */
static void *sleeper(void *unused)
{
	static char c;
	static struct iovec list = { &c, 1 };

	(void)unused;
	while (readv(tube[0], &list, 1) < 0 && errno == EINTR)
		;
	return (void *)(unsigned long)c;
}

static void *visitor(void *arg)
{
	race(1, (unsigned long)arg);
	pthread_mutex_lock(&lock);
	sum += (unsigned long)arg;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Then handlers run in the first thread alone, too. */
static void start(pthread_t *thread, void *(*run)(void *), void *arg)
{
#ifdef ORDERED
	sigset_t alarm;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
#endif
	pthread_create(thread, NULL, run, arg);
#ifdef ORDERED
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
#endif
}

int main(int argc, char **argv)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } }, never = { { 0, 0 }, { 0, 0 } };
	pthread_t readers[2], waits, sleeps, visits;
	void *woken, *c;

	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 3000;
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm, .sa_flags = SA_RESTART }, NULL);
	if (pipe(tube))
		return 2;
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned long i = 0; i < 2; i++)
		start(&readers[i], reader, (void *)(i + 1));
	start(&waits, waiter, NULL);
	start(&sleeps, sleeper, NULL);
	for (unsigned i = 0; i < rounds / 20; i++) {
		pthread_mutex_lock(&lock);
		while (turns + 64 < i * 40) /* not ahead of the others */
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		char *p = malloc(100 + i * 37 % 5000);
		memset(p, (int)i, 100);
		for (volatile unsigned spin = 0; spin < 20000; spin++)
			;
		start(&visits, visitor, (void *)(unsigned long)p[i % 100]);
		pthread_join(visits, NULL);
		if (i % 3)
			free(p);
		pthread_mutex_lock(&lock);
		printf("%u: %lx %lx %d\n", i, sum, raced, (int)alarms);
		pthread_mutex_unlock(&lock);
		fflush(stdout);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(waits, &woken);
	setitimer(ITIMER_REAL, &never, NULL);
	if (write(tube[1], "x", 1) != 1)
		return 2;
	pthread_join(sleeps, &c);
	printf("%lx %lx %d %lu %c\n", sum, raced, (int)alarms, (unsigned long)woken, (char)(unsigned long)c);
	return 7;
}
