/*
 * Four threads that read random bytes, lock, wait and print "THREAD NUMBER HASH", until 48 MB are read: more than the
 * trace's disk has room for. Then new threads, a fork and another program, and status 7.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 384, PIECE = 32768 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t hash;

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument;
	int random = open("/dev/urandom", O_RDONLY);
	unsigned char *bytes = malloc(PIECE);
	for (unsigned round = 0; round < ROUNDS; round++) {
		char line[64];
		if (read(random, bytes, PIECE) <= 0) /* a stop in between may make it short */
			abort();
		pthread_mutex_lock(&lock);
		for (unsigned i = 0; i < PIECE; i += 64)
			hash = (hash ^ bytes[i]) * 0x9e3779b97f4a7c15ull;
		if (round % 4 == me) {
			struct timespec soon;
			clock_gettime(CLOCK_REALTIME, &soon);
			soon.tv_sec += (soon.tv_nsec + 300000) / 1000000000;
			soon.tv_nsec = (soon.tv_nsec + 300000) % 1000000000;
			pthread_cond_timedwait(&changed, &lock, &soon);
		} else
			pthread_cond_signal(&changed);
		int n = snprintf(line, sizeof line, "%u %u %016llx\n", me, round, (unsigned long long)hash);
		pthread_mutex_unlock(&lock);
		if (write(1, line, (size_t)n) != n)
			abort();
	}
	close(random);
	return NULL;
}

static void *after(void *unused)
{
	static const char text[] = "after in a thread\n";
	return write(1, text, sizeof text - 1) == sizeof text - 1 ? unused : NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 40; i++) {
		pthread_create(&threads[0], NULL, after, NULL);
		pthread_join(threads[0], NULL);
	}
	int status;
	pid_t child = fork();
	if (!child) {
		execlp("sh", "sh", "-c", "echo after by another program", NULL);
		_exit(1);
	}
	if (waitpid(child, &status, 0) != child || status)
		abort();
	return 7;
}
