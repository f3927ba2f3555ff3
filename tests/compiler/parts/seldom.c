/*
 * A timer's handler must get its turn in code that has no access for long: in a long loop, in loops of few rounds that
 * are nested, in a function that calls itself and whose loop goes round a few times in each call, and in loops whose
 * rounds take long, by a loop of known length or by a call. The timer counts the thread's own time, so a busy machine
 * makes no difference.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

enum { PHASES = 5 };
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

/* No hook in the inner loop, nor a look: its rounds are few. */
__attribute__((noinline)) static uint64_t known_length(uint64_t x, unsigned rounds)
{
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < 4000; i++) {
			/* as long as a call, without being one */
			unsigned __int128 wide = (unsigned __int128)x << 64 | (x ^ i);
			x = (uint64_t)(wide / (x | 1)) + (uint64_t)(wide % (x * 3 | 1)) +
			    (uint64_t)(wide % (x * 5 | 1));
			KEEP(x);
		}
	return x;
}

__attribute__((noinline)) static uint64_t long_calls(uint64_t x, unsigned rounds)
{
	char own[6 << 20];

	for (unsigned r = 0; r < rounds; r++) {
		memset(own, (int)(x & 63), sizeof own);
		x = x * 6364136223846793005ull + (uint64_t)own[(x >> 20) % sizeof own];
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
	int missing = 0;

	sigaction(SIGVTALRM, &act, NULL);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	x = one_loop(x, 50000000);
	phase = 1;
	x = nested(x, few);
	phase = 2;
	few = 3;
	x = calls_itself(x, few, 16);
	phase = 3;
	x = known_length(x, 1000);
	phase = 4;
	x = long_calls(x, 600);
	setitimer(ITIMER_VIRTUAL, &off, NULL);
	for (unsigned i = 0; i < PHASES; i++)
		printf("%u: %s\n", i, ticks[i] > 1 ? "several" : ticks[i] ? "one" : "none");
	for (unsigned i = 0; i < PHASES; i++) {
		printf("%u ", ticks[i]);
		missing |= !ticks[i];
	}
	printf("%llx\n", (unsigned long long)x);
	return missing;
}
