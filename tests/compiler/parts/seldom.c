/*
 * A timer's handler must get its turn in code that has no access for long: in a long loop, in loops of few rounds that
 * are nested, and in a function that calls itself and whose loop goes round a few times in each call. The timer counts
 * the thread's own time, so a busy machine makes no difference.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>

enum { PHASES = 3 };
static volatile unsigned phase, ticks[PHASES];

static void tick(int sig)
{
	(void)sig;
	ticks[phase]++;
}

#define KEEP(x) __asm__ volatile("" : "+r"(x))

__attribute__((noinline)) static uint64_t one_loop(uint64_t x, uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++) {
		x = x * 6364136223846793005ull + i;
		KEEP(x);
	}
	return x;
}

__attribute__((noinline)) static uint64_t nested(uint64_t x, unsigned few)
{
	for (unsigned a = 0; a < few; a++)
		for (unsigned b = 0; b < few; b++)
			for (unsigned c = 0; c < few; c++)
				for (unsigned d = 0; d < few; d++)
					for (unsigned e = 0; e < few; e++)
						for (unsigned f = 0; f < few; f++) {
							x = x * 6364136223846793005ull + f;
							KEEP(x);
						}
	return x;
}

__attribute__((noinline)) static uint64_t calls_itself(uint64_t x, unsigned few, unsigned depth)
{
	for (unsigned i = 0; i < few && depth; i++) {
		x = calls_itself(x + i, few, depth - 1) * 6364136223846793005ull;
		KEEP(x);
	}
	return x;
}

int main(void)
{
	struct sigaction act = { .sa_handler = tick };
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, off = { 0 };
	volatile unsigned few = 20;
	uint64_t x = 1;

	sigaction(SIGVTALRM, &act, NULL);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	x = one_loop(x, 50000000);
	phase = 1;
	x = nested(x, few);
	phase = 2;
	few = 3;
	x = calls_itself(x, few, 16);
	setitimer(ITIMER_VIRTUAL, &off, NULL);
	for (unsigned i = 0; i < PHASES; i++)
		printf("%u: %s\n", i, ticks[i] > 1 ? "several" : ticks[i] ? "one" : "none");
	printf("%u %u %u %llx\n", ticks[0], ticks[1], ticks[2], (unsigned long long)x);
	return ticks[0] && ticks[1] && ticks[2] ? 0 : 1;
}
