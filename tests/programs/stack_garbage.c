/*
 * Prints a hash of unused stack and of fresh heap memory that was used before.
 * Nothing of ours may have left traces there that differ at replay.
 */
// run: varies
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t hash(const volatile unsigned char *p, size_t n)
{
	uint64_t h = 14695981039346656037u;
	while (n--)
		h = (h ^ *p++) * 1099511628211u;
	return h;
}

static __attribute__((noinline)) uint64_t unused_stack(void)
{
	volatile unsigned char room[60000];
	__asm__ volatile("" : : "r"(room) : "memory");
	return hash(room, sizeof room);
}

int main(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	for (int i = 0; i < 5; i++) {
		getppid();
		usleep(1000);
		printf("stack %016lx\n", (unsigned long)unused_stack());
		unsigned char *p = malloc(3000 + i);
		memcpy(p + 500, &t, sizeof t);
		free(p);
		p = malloc(3000 + i);
		printf("heap %016lx\n", (unsigned long)hash(p, 3000));
	}
	return 0;
}
