/*
 * Functions of libc that call back, which heddle-cc replaces: all sizes, small and large arrays, elements that compare
 * equal (glibc's qsort keeps their order), a function that contradicts itself, searches that find and that do not.
 */
#define _GNU_SOURCE
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 700 };
static unsigned long calls, pairs;
static unsigned char bytes[MOST * 40];

static void count(const unsigned char *a, const unsigned char *b)
{
	calls++;
	pairs = pairs * 31 + *a * 256ul + *b; /* for which pairs, in which order */
}

static int by_first(const void *a, const void *b)
{
	count(a, b);
	return *(const unsigned char *)a - *(const unsigned char *)b;
}

static int by_bit(const void *a, const void *b, void *bit)
{
	count(a, b);
	return (*(const unsigned char *)a & *(int *)bit) - (*(const unsigned char *)b & *(int *)bit);
}

static int by_whim(const void *a, const void *b)
{
	count(a, b);
	return (int)(calls % 3) - 1;
}

static void fill(size_t n)
{
	uint32_t state = (uint32_t)n + 1;
	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)((state = state * 1664525 + 1013904223) >> 24) & 63;
}

static unsigned long hash(size_t n)
{
	unsigned long h = n;
	for (size_t i = 0; i < n; i++)
		h = h * 31 + bytes[i];
	return h;
}

int main(void)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 7, 8, 12, 16, 32, 33, 40 },
			    counts[] = { 0, 1, 2, 3, 17, 128, MOST };
	int bit = 4;

	for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (unsigned c = 0; c < sizeof counts / sizeof *counts; c++) {
			size_t n = sizes[s] * counts[c];
			fill(n);
			qsort(bytes, counts[c], sizes[s], by_first);
			printf("%zu %zu: %lx", sizes[s], counts[c], hash(n));
			unsigned char key = 17;
			const unsigned char *at = bsearch(&key, bytes, counts[c], sizes[s], by_first);
			size_t all = counts[c];
			const unsigned char *found = lfind(&key, bytes, &all, sizes[s], by_first);
			printf(" %d %td", at ? *at : -1, found ? found - bytes : -1);
			qsort_r(bytes, counts[c], sizes[s], by_bit, &bit);
			printf(" %lx", hash(n));
			qsort(bytes, counts[c], sizes[s], by_whim);
			printf(" %lx", hash(n));
			if (all && all < MOST && lsearch("\xff", bytes, &all, 1, by_first) != bytes + counts[c])
				printf(" lost");
			printf(" %zu %lu %lx\n", all, calls, pairs);
		}
	return 0;
}
