/* Memory and string functions, under their standard names because compilers call them too. */
#include "runtime/base/base.h"

void *memcpy(void *to, const void *from, size_t n)
{
	char *d = to;
	const char *s = from;
	for (; n >= 32; n -= 32, d += 32, s += 32) {
		uint64_t a, b, c, e;
		__builtin_memcpy(&a, s, 8);
		__builtin_memcpy(&b, s + 8, 8);
		__builtin_memcpy(&c, s + 16, 8);
		__builtin_memcpy(&e, s + 24, 8);
		__builtin_memcpy(d, &a, 8);
		__builtin_memcpy(d + 8, &b, 8);
		__builtin_memcpy(d + 16, &c, 8);
		__builtin_memcpy(d + 24, &e, 8);
	}
	for (; n >= 8; n -= 8, d += 8, s += 8) {
		uint64_t a;
		__builtin_memcpy(&a, s, 8);
		__builtin_memcpy(d, &a, 8);
	}
	while (n--)
		*d++ = *s++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	char *d = to;
	const char *s = from;
	if (d <= s || d >= s + n)
		return memcpy(to, from, n);
	while (n--)
		d[n] = s[n];
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	char *d = to;
	uint64_t v = (uint8_t)byte * 0x0101010101010101ull;
	for (; n >= 8; n -= 8, d += 8)
		__builtin_memcpy(d, &v, 8);
	while (n--)
		*d++ = (char)byte;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *p = a, *q = b;
	for (; n; n--, p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++) {
		if (*a != *b)
			return (uint8_t)*a - (uint8_t)*b;
		if (!*a)
			return 0;
	}
	return 0;
}

char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return 0;
	return (char *)s;
}
