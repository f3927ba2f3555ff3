/* Numbers, words and pieces of strings: many random ones, and what comes out must be what libc says. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252ull, hash = 14695981039346656037ull;
static char text[4096], other[4096], copy[4096];

static unsigned chance(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

static void note(uint64_t value)
{
	hash = (hash ^ value) * 1099511628211ull;
}

static void note_real(long double value)
{
	char spelled[64];
	snprintf(spelled, sizeof spelled, "%La", isnan(value) ? 1e30L : value);
	for (char *p = spelled; *p; p++)
		note((uint64_t)*p);
}

static void fill(char *to, unsigned most, const char *alphabet)
{
	unsigned n = chance(most), letters = (unsigned)strlen(alphabet);
	for (unsigned i = 0; i < n; i++)
		to[i] = alphabet[chance(letters)];
	to[n] = 0;
}

#define END(call)                             \
	do {                                  \
		char *end = text + 7777;      \
		errno = 0;                    \
		call;                         \
		note((uint64_t)(end - text)); \
		note((uint64_t)errno);        \
	} while (0)

static void numbers(void)
{
	static const int bases[] = { 0, 2, 8, 10, 16, 36, 1, 37 };
	int base = bases[chance(8)];
	END(note((uint64_t)strtol(text, &end, base)));
	END(note(strtoul(text, &end, base)));
	END(note((uint64_t)strtoll(text, &end, base)));
	END(note(strtoull(text, &end, base)));
	END(note((uint64_t)strtoimax(text, &end, base)));
	END(note(strtoumax(text, &end, base)));
	END(note_real(strtof(text, &end)));
	END(note_real(strtod(text, &end)));
	END(note_real(strtold(text, &end)));
	note((uint64_t)atoi(text) ^ (uint64_t)atol(text) ^ (uint64_t)atoll(text) ^ (uint64_t)strtol(text, NULL, 10));
	note_real(atof(text));
}

static void searched(const char *set)
{
	char *at, *rest;
	note(strspn(text, set));
	note(strcspn(text, set));
	at = strpbrk(text, set);
	note(at ? (uint64_t)(at - text) : 99999);
	for (unsigned i = 0; set[i] && i < 3; i++) {
		at = strchr(text, set[i]);
		note(at ? (uint64_t)(at - text) : 99999);
		note((uint64_t)(strchrnul(text, set[i] | 256) - text));
	}
	note((uint64_t)(strchr(text, 0) - text));
	at = strstr(text, other);
	note(at ? (uint64_t)(at - text) : 99999);
	strcpy(copy, text);
	for (at = strtok_r(copy, set, &rest); at; at = strtok_r(NULL, set, &rest))
		note((uint64_t)(at - copy) + strlen(at));
	strcpy(copy, text);
	for (rest = copy; (at = strsep(&rest, set));)
		note((uint64_t)(at - copy) + strlen(at));
}

int main(void)
{
	static const char *const numeric[] = { "0123456789",	  "0123456789 +-",
					       "01 xXaAfF+-",	  "0123456789.eE+-, ",
					       "0x123abcdefp.+-", "infINFatyTYnN()_12 -",
					       "\t\n 7\xff\xe9",  "9" };
	for (unsigned i = 0; i < 40000; i++) {
		fill(text, i % 100 ? 12 : 400, numeric[chance(8)]);
		numbers();
	}
	printf("numbers %" PRIx64 "\n", hash);
	for (unsigned i = 0; i < 4000; i++) {
		fill(text, i % 10 ? 60 : 4000, i % 3 ? "ab,; " : "aaaaaaaab");
		fill(other, i % 10 ? 4 : i % 30 ? 40 : 1500, i % 3 ? "ab" : "aaaaaaaab");
		if (i % 7 == 0 && strlen(text) > 10) {
			unsigned from = chance((unsigned)strlen(text)), n = 1 + chance(1200);
			snprintf(other, sizeof other, "%.*s", (int)n, text + from);
		}
		searched(i % 2 ? ",;" : i % 5 ? "b" : "");
	}
	printf("words %" PRIx64 "\n", hash);
	return 0;
}
