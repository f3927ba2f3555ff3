// Threads get their numbers from a counter without a lock: two may get the same.
// expect: race n n
// expect: rare a a because two threads must have got one number
#include "golden.h"

static volatile int next_id;
static int table[8];

static void *work(void *arg)
{
	(void)arg;
	int id = next_id++; // @n
	for (int i = 0; i < 10; i++) {
		table[id] += i; // @a
		LOOK_AGAIN();
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", table[0]);
	return 0;
}
