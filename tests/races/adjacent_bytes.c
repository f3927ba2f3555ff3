// Neighbouring bytes of one word, a thread each: different memory.
// expect: none a because each thread has its byte
#include "golden.h"

static char bytes[8];

static void *work(void *arg)
{
	bytes[id_of(arg)]++; // @a
	return NULL;
}

int main(void)
{
	team(8, work);
	printf("%d\n", bytes[0] + bytes[7]);
	return 0;
}
