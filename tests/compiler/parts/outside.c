/* Memory at a place that the program chooses, above what Heddle gives out: outside ADDRESS fixed|hint */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static volatile long *counts;

static void *work(void *unused)
{
	for (int i = 0; i < 20000; i++)
		counts[i % 4 * 8]++;
	return unused;
}

int main(int argc, char **argv)
{
	char *at = argc > 2 ? (char *)strtoull(argv[1], NULL, 0) : NULL;
	int how = MAP_PRIVATE | MAP_ANONYMOUS | (argc > 2 && !strcmp(argv[2], "fixed") ? MAP_FIXED : 0);
	pthread_t thread;

	counts = mmap(at, 65536, PROT_READ | PROT_WRITE, how, -1, 0);
	if (counts == MAP_FAILED)
		return 2;
	if (pthread_create(&thread, NULL, work, NULL))
		return 2;
	work(NULL);
	pthread_join(thread, NULL);
	printf("%ld\n", counts[0] + counts[8] + counts[16] + counts[24]);
	return 0;
}
