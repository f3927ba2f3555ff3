/*
 * What could go wrong with --paranoid: more changed pages than an entry holds; pages that are unmapped, or zero again; a child that goes
 * on with its parent's list; a thread that has just ended, whose stack and ids stay; a handler's frame on the stack; looks in a
 * function of libc that holds a lock.
 */
// run: varies options=--paranoid
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (80u << 20)

static unsigned char *memory;
static volatile unsigned handled;

static void calls(int n)
{
	struct stat st;
	while (n--)
		stat("/", &st);
}

static void fill(size_t from, size_t n)
{
	unsigned seed;
	if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
		exit(2);
	for (size_t i = from; i < from + n; i += 512)
		memory[i] = (unsigned char)(seed = seed * 1103515245 + 12345);
}

static unsigned sum(size_t n)
{
	unsigned s = 0;
	for (size_t i = 0; i < n; i += 512)
		s = s * 31 + memory[i];
	return s;
}

static void *work(void *arg)
{
	calls(100);
	fill(0, 1 << 16);
	return arg;
}

static void handle(int sig)
{
	handled += (unsigned)sig;
	calls(6000);
}

int main(void)
{
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 2;
	fill(0, SIZE);
	calls(6000);
	memset(memory, 0, 1 << 20);
	munmap(memory + SIZE / 4, SIZE / 4 * 3);
	calls(6000);

	pthread_t thread;
	for (int i = 0; i < 20; i++) {
		if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
			return 2;
		calls(200);
	}

	pid_t child = fork();
	if (!child) {
		fill(1 << 20, 1 << 20);
		calls(6000);
		printf("child %u\n", sum(SIZE / 4));
		return 0;
	}
	int status;
	waitpid(child, &status, 0);

	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	for (int i = 0; i < 3000; i++) {
		putchar('.');
		fflush(stdout);
	}
	printf("\n%u %u %d\n", sum(SIZE / 4), handled, status);
	return 0;
}
