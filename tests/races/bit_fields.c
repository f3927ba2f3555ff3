// Neighbouring bit-fields are one memory location: to write one is to read and write the other.
// expect: race a b
#include "golden.h"

static struct {
	unsigned low : 4, high : 4;
} bits;

static void *low(void *arg)
{
	(void)arg;
	bits.low = 3; // @a
	return NULL;
}

static void *high(void *arg)
{
	(void)arg;
	bits.high = 5; // @b
	return NULL;
}

int main(void)
{
	pair(low, high);
	printf("%u %u\n", bits.low, bits.high);
	return 0;
}
