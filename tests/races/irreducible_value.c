// A loop with two ways in: the index is a number of the round before.
// expect: race a a
#include "golden.h"

static int table[16];
static volatile int told[16];

static __attribute__((noinline)) long ask(long id, int k)
{
	told[0] = k;
	return k & 1 ? 7 : id;
}

static void *work(void *arg)
{
	long id = (long)arg, x = id, u;
	int k = 2001;
	switch (id & 1) {
	case 0:
		do {
			told[1] = 1, told[2] = 2, told[3] = 3, told[4] = 4, told[5] = 5, told[6] = 6, told[7] = 7;
			__attribute__((fallthrough));
		case 1:
			told[8] = 1, told[9] = 2, told[10] = 3, told[11] = 4, told[12] = 5, told[13] = 6, told[14] = 7;
			u = ask(id, k);
			if (u == id)
				table[x]++; // @a
			x = u;
		} while (--k);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", table[7]);
	return 0;
}
