// A struct is written by field in one thread, and byte by byte in the other.
// expect: race a b
#include "golden.h"

static struct header {
	uint16_t kind, length;
	uint32_t sum;
} header;

static void *by_field(void *arg)
{
	(void)arg;
	header.length = 6; // @a
	return NULL;
}

static void *by_byte(void *arg)
{
	unsigned char *bytes = (unsigned char *)&header;

	(void)arg;
	for (unsigned i = 0; i < sizeof header; i++) {
		bytes[i] ^= 0x55; // @b
		LOOK_AGAIN();
	}
	return NULL;
}

int main(void)
{
	pair(by_field, by_byte);
	printf("%u\n", header.length);
	return 0;
}
