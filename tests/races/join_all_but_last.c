// One thread more is created than the loop of joins ends: its last one is joined later.
// expect: race a b
#include "golden.h"
#include <unistd.h>

static pthread_t t[8];
static int shared, done[8];

static void *work(void *arg)
{
	usleep((unsigned)(20000 + 30000 * (long)arg));
	shared++; // @a
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc + 2;
	for (int k = 0;; k++) {
		pthread_create(&t[k], NULL, work, (void *)(long)k);
		if (k == n)
			break;
		fprintf(stderr, "%s: created %d of %d\n", argv[0], k, n);
	}
	for (int k = 0;; k++) {
		fprintf(stderr, "joined %d of %d, %d, %d, %d, %d\n", k, n, n - k, done[0], done[1], done[2]);
		fprintf(stderr, "joined %d of %d, %d, %d, %d, %d\n", k, n, n - k, done[3], done[4], done[5]);
		fflush(stdout);
		if (k == n)
			break;
		pthread_join(t[k], NULL);
	}
	shared += 5; // @b
	pthread_t last = t[n];
	pthread_join(last, NULL);
	printf("%d\n", shared);
	return 0;
}
