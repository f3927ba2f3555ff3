/*
 * Threads that are just ending, and others that ask about them, give them names or detach them. libc looks whether the thread has ended in words that the
 * thread and the kernel change, and who detaches it at that moment gives back its memory: what each call answers, and where memory comes from after
 * it, must be the same at replay.
 */
// run: varies no-checksum='libc links the stacks of detached threads in the order in which they end'
#include "threads.h"
#include <signal.h>

enum { ROUNDS = 240, KINDS = 8 };

static void *work(void *argument)
{
	for (unsigned n = ME(argument); n; n--)
		__asm__ volatile("" ::: "memory");
	return NULL;
}

static int ask(pthread_t thread, int kind)
{
	pthread_attr_t attr;
	struct sched_param param;
	clockid_t clock;
	cpu_set_t set;
	char name[32];
	int policy, r = 0;

	switch (kind) {
	case 0: return pthread_setname_np(thread, "ending");
	case 1: return pthread_getname_np(thread, name, sizeof name);
	case 2: return pthread_getaffinity_np(thread, sizeof set, &set);
	case 3: return pthread_getschedparam(thread, &policy, &param);
	case 4: return pthread_getcpuclockid(thread, &clock);
	case 5: return pthread_kill(thread, 0);
	case 6:
		r = pthread_getattr_np(thread, &attr);
		if (!r)
			pthread_attr_destroy(&attr);
		return r;
	default: return setuid(getuid());
	}
}

static void allocate(uint64_t *places)
{
	for (size_t size = 64; size <= 640; size += 32) {
		void *p = malloc(size);
		*places = (*places ^ (uintptr_t)p) * 0x100000001b3ull;
		free(p);
	}
}

int main(void)
{
	uint64_t answers = 0, places = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, work, (void *)(uintptr_t)(i / KINDS * 2000)) == 0);
		dawdle(6000);
		if (i % 3) {
			answers = answers * 31 + (unsigned)ask(thread, (int)(i % KINDS));
			CHECK(pthread_join(thread, NULL) == 0);
		} else {
			CHECK(pthread_detach(thread) == 0);
		}
		allocate(&places);
	}
	printf("answers %016llx, places %016llx\n", (unsigned long long)answers, (unsigned long long)places);
	return 0;
}
