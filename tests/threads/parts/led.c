/*
 * What may go wrong when every access is led away, a kind for each argument:
 *   crash    a handled fault behind the last access: the replay must come to it
 *   spin     a signal in a loop that does nothing but look at a word: it must be delivered there, and the handler return there
 *   goto     labels whose addresses are in a table
 *   calls    system calls of its own, with accesses right behind them
 *   library  FILE: a library, which the program loads, and its child after a fork
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long shared;
static volatile int flag;
static int signals;

static void *two(void *(*work)(void *), void *argument)
{
	pthread_t thread;
	void *theirs;

	pthread_create(&thread, NULL, work, argument);
	long ours = (long)work(argument);
	pthread_join(thread, &theirs);
	printf("%ld %ld, %ld\n", ours, (long)theirs, shared);
	fflush(stdout);
	return NULL;
}

static void *count(void *argument)
{
	long sum = 0;

	(void)argument;
	for (int i = 0; i < 500; i++)
		sum += ++shared;
	return (void *)sum;
}

/* ---- crash ---- */

static void crashed(int sig)
{
	(void)sig;
	_exit(write(1, "crashed\n", 8) == 8 ? 3 : 4);
}

static void crash(void)
{
	signal(SIGSEGV, crashed);
	printf("%ld\n", *(volatile long *)8);
}

/* ---- spin ---- */

static void alarmed(int sig)
{
	(void)sig;
	flag = 1;
	signals++;
}

static __attribute__((noinline)) void wait_for(volatile int *word)
{
	while (!*word)
		;
}

static void spin(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 20000 } };

	signal(SIGALRM, alarmed);
	for (int i = 0; i < 5; i++) {
		setitimer(ITIMER_REAL, &soon, NULL);
		wait_for(&flag);
		flag = 0;
	}
	printf("%d signals\n", signals);
}

/* ---- goto ---- */

/* As plain as this, so that what it leads to lies in the middle of what one branch would replace. */
__attribute__((noipa)) long run(const unsigned char *code, long *words)
{
	static const void *const table[] = { &&add, &&change, &&end };
	long x = 0;

	goto *table[*code++];
add:
	x += *words;
change:
	x ^= words[1];
	goto *table[*code++];
end:
	return x;
}

static void *run_often(void *argument)
{
	static const unsigned char code[] = { 1, 1, 0, 1, 0, 0, 2 };
	long *words = argument, sum = 0;

	for (int i = 0; i < 500; i++) {
		sum += run(code, words);
		++*(volatile long *)words;
	}
	return (void *)sum;
}

/* ---- calls ---- */

static __attribute__((noinline)) long call(long number)
{
#ifdef __x86_64__
	long result;
	__asm__ volatile("sub $128, %%rsp\n\tsyscall\n\tmov %%rax, 8(%%rsp)\n\tcmpq $0, 8(%%rsp)\n\tmov 8(%%rsp), "
			 "%0\n\tadd $128, %%rsp"
			 : "=a"(result)
			 : "a"(number)
			 : "rcx", "r11", "memory", "cc");
	return result;
#else
	return syscall(number);
#endif
}

static void *call_often(void *argument)
{
	long sum = 0;

	(void)argument;
	for (int i = 0; i < 200; i++) {
		if (call(SYS_getpid) != getpid())
			abort();
		sum += ++shared;
	}
	return (void *)sum;
}

/* ---- library ---- */

static void load(const char *file)
{
	void *library = dlopen(file, RTLD_NOW);
	void *(*bump)(void *) = library ? (void *(*)(void *))dlsym(library, "bump") : NULL;

	if (!bump)
		abort();
	two(bump, (void *)&shared);
}

int main(int argc, char **argv)
{
	long words[2] = { 3, 4 };
	const char *kind = argc > 1 ? argv[1] : "";

	call(SYS_getppid);
	two(count, NULL);
	if (!strcmp(kind, "crash"))
		crash();
	if (!strcmp(kind, "spin"))
		spin();
	if (!strcmp(kind, "goto"))
		two(run_often, words);
	if (!strcmp(kind, "calls"))
		two(call_often, NULL);
	if (!strcmp(kind, "library")) {
		if (!fork()) {
			load(argv[2]);
			exit(0);
		}
		wait(NULL);
		load(argv[2]);
	}
	return 0;
}
