/*
 * All kinds of memory, used before and after any moment: the heap that brk() moves, a mapped file that is changed privately, a small one, shared
 * memory, pages that may not be read, many that were only read before few that were written, a stack that grows, code that is loaded late, threads that are made late. Whoever goes on from
 * memory alone must find each as it was, and where the kernel had it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 65536, ROUNDS = 40, READ = 48 << 20, WRITTEN = 1 << 20 };

static void *map(int protection, int flags, int fd, size_t size)
{
	void *at = mmap(NULL, size, protection, flags, fd, 0);
	if (at == MAP_FAILED)
		perror("mmap"), exit(1);
	return at;
}

static int file_of(size_t size)
{
	char name[] = "/tmp/saved-memory-XXXXXX";
	int fd = mkstemp(name);
	unlink(name);
	char *bytes = malloc(size);
	for (size_t i = 0; i < size; i++)
		bytes[i] = "abcdefg"[i % 7];
	if (write(fd, bytes, size) != (ssize_t)size) /* at once: the moments that are tried should lie further on */
		perror("write"), exit(1);
	free(bytes);
	return fd;
}

static unsigned sum(const char *p, size_t n)
{
	unsigned s = 0;
	for (size_t i = 0; i < n; i++)
		s = s * 31 + (unsigned char)p[i];
	return s;
}

static int deep(int n, char c)
{
	char room[4096];
	memset(room, c, sizeof room);
	return (n ? deep(n - 1, c + 1) : 0) + room[n];
}

/* Who came first? */
static void *late(void *mine)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int turns;

	pthread_mutex_lock(&lock);
	*(int *)mine = ++turns;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	int small = file_of(1000), large = file_of(200000);
	char *copy = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, large, 200000);
	char *read_only = map(PROT_READ, MAP_PRIVATE, small, 1000);
	char *shared = map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 3 * PAGE);
	char *hidden = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 2 * PAGE);
	strcpy(hidden, "not for everybody");
	char *sparse = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, READ + WRITTEN);
	madvise(sparse, READ + WRITTEN, MADV_NOHUGEPAGE);
	for (int i = 0; i < READ; i += 4096)
		hidden[0] += ((volatile char *)sparse)[i];
	for (int i = 0; i < ROUNDS; i++) {
		char *heap = sbrk(PAGE / 2 + i);
		memset(heap, i, PAGE / 2);
		mprotect(hidden, PAGE, PROT_NONE);
		copy[i * 4999] ^= 0x55;
		shared[i * 3001] = (char)i;
		pthread_t threads[2];
		int turns[2] = { 0, 0 };
		for (int k = 0; k < 2 && i > ROUNDS / 2; k++)
			pthread_create(&threads[k], NULL, late, &turns[k]);
		int depth = deep(8 * i, 'a');
		for (int k = 0; k < 2 && i > ROUNDS / 2; k++)
			pthread_join(threads[k], NULL);
		if (i == ROUNDS / 2 && !dlopen("libm.so.6", RTLD_NOW))
			puts(dlerror());
		mprotect(hidden, PAGE, PROT_READ | PROT_WRITE);
		hidden[17 + i] = '.';
		sparse[READ + i * 16384] = (char)('a' + i);
		printf("%d: %d %u %u %u %u %u %s %ld %d %d\n", i, (int)getpid(), sum(copy, 200000),
		       sum(read_only, 1000), sum(shared, 3 * PAGE), sum(heap, PAGE / 2), sum(sparse + READ, WRITTEN),
		       hidden, (long)((char *)sbrk(0) - heap), depth, turns[0]);
		fflush(stdout);
	}
	return 0;
}
