/*
 * Thread attributes: sizes of stacks and guards, a stack of the program's own, names, affinity, scheduling, and what
 * pthread_getattr_np tells of a running thread. Stacks that the runtime supplies must look like those of libc: with a guard,
 * which is told (the library of Rust ends the program if not) and faults.
 */
// run: varies
#include "threads.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static __thread sigjmp_buf back;

static void faulted(int sig)
{
	siglongjmp(back, sig);
}

static int touch(volatile char *at)
{
	int sig = sigsetjmp(back, 1);

	if (!sig)
		*at = 1;
	return sig;
}

static void *work(void *argument)
{
	pthread_attr_t attr;
	size_t size, guard;
	void *low;
	char name[16];
	int detach;

	pthread_setname_np(pthread_self(), argument);
	CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && !strcmp(name, argument));
	CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
	CHECK(pthread_attr_getstack(&attr, &low, &size) == 0 && pthread_attr_getguardsize(&attr, &guard) == 0);
	CHECK(pthread_attr_getdetachstate(&attr, &detach) == 0 && detach == PTHREAD_CREATE_JOINABLE);
	CHECK((char *)&attr > (char *)low && (char *)&attr < (char *)low + size);
	volatile char *lowest = low;
	*lowest = 1; /* all of it can be used */
	CHECK(*lowest == 1);
	if (guard) {
		CHECK(touch((char *)low - 1) == SIGSEGV && touch((char *)low - guard) == SIGSEGV);
		CHECK(touch(low) == 0);
	}
	printf("%s: stack %p, %zu bytes, guard %zu\n", name, low, size, guard);
	pthread_attr_destroy(&attr);
	return NULL;
}

static void run(const pthread_attr_t *attr, char *name)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, attr, work, name) == 0 && pthread_join(thread, NULL) == 0);
}

int main(void)
{
	pthread_attr_t small, guarded, own, large;
	size_t size = 256 << 10;
	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(stack != MAP_FAILED && signal(SIGSEGV, faulted) != SIG_ERR);
	pthread_attr_init(&small);
	CHECK(pthread_attr_setstacksize(&small, 1) == EINVAL && pthread_attr_setstacksize(&small, 160 << 10) == 0);
	pthread_attr_init(&guarded);
	CHECK(pthread_attr_setguardsize(&guarded, 64 << 10) == 0 && pthread_attr_setstacksize(&guarded, 1 << 20) == 0);
	pthread_attr_init(&own);
	CHECK(pthread_attr_setstack(&own, stack, size) == 0);
	pthread_attr_init(&large);
	CHECK(pthread_attr_setguardsize(&large, 32 << 10) == 0 && pthread_attr_setstacksize(&large, 64 << 20) == 0);
	for (int i = 0; i < 3; i++) {
		run(NULL, "default");
		run(&large, "large");
		run(&small, "small");
		run(&guarded, "guarded");
		run(&own, "own");
	}
	return 0;
}
