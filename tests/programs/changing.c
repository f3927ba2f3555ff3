/*
 * Everything about a process that differs from run to run, printed: time, ids,
 * random bytes, addresses of stack, heap, mappings, code and libraries.
 * A source that slips past the recorder shows as different output.
 */
// run: varies check
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	unsigned random_bytes = 0;
	if (getrandom(&random_bytes, sizeof random_bytes, 0) != sizeof random_bytes)
		return 1;
	int local;
	void *small = malloc(100), *big = malloc(10 << 20);
	void *map = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const unsigned char *seed = (const unsigned char *)getauxval(AT_RANDOM);

	printf("time %ld %ld.%09ld\n", (long)time(0), (long)t.tv_sec, t.tv_nsec);
	printf("ids %d %d\n", getpid(), getppid());
	printf("random %08x, seed %02x%02x%02x%02x\n", random_bytes, seed[0], seed[1], seed[14], seed[15]);
	printf("stack %p small %p big %p map %p brk %p\n", (void *)&local, small, big, map, sbrk(0));
	printf("code %p library %p\n", (void *)main, (void *)printf);
	printf("vdso %#lx\n", getauxval(AT_SYSINFO_EHDR));
	return 0;
}
