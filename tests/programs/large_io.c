/*
 * Reads and writes far beyond the size of one entry and of the ring: the pieces
 * must come back in order, and the recorder must keep up or wait.
 */
// run: varies
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BIG = 5 << 20 };

static uint64_t hash(const unsigned char *p, size_t n)
{
	uint64_t h = 14695981039346656037u;
	while (n--)
		h = (h ^ *p++) * 1099511628211u;
	return h;
}

int main(void)
{
	unsigned char *data = malloc(BIG);
	int random = open("/dev/urandom", O_RDONLY), file = open("big", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (random < 0 || file < 0)
		return 1;
	for (long n = 0, got; n < BIG; n += got)
		if ((got = read(random, data + n, BIG - n)) <= 0)
			return 2;
	if (write(file, data, BIG) != BIG)
		return 3;
	printf("wrote %016lx\n", (unsigned long)hash(data, BIG));
	for (int i = 0; i < BIG; i++)
		data[i] = 0;
	if (pread(file, data, BIG, 0) != BIG)
		return 4;
	printf("read %016lx\n", (unsigned long)hash(data, BIG));
	struct iovec parts[3] = { { data, 1000000 }, { data + 2000000, 1 }, { data + 3000000, 1500000 } };
	if (preadv(file, parts, 3, 12345) != 2500001)
		return 5;
	printf("parts %016lx\n", (unsigned long)hash(data, BIG));
	for (int i = 0; i < 20000; i++)
		if (pread(file, data, 100, i) != 100)
			return 6;
	printf("many %016lx\n", (unsigned long)hash(data, 100));
	return 0;
}
