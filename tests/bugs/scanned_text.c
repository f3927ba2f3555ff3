/*
 * What scanf and its kin write while others read and change it, from files and from a text that others change, too, also with values
 * from a va_list; and strings that others change while printf takes them from a format that numbers them, or that the compiler does
 * not know.
 * What could go wrong: libc writes while nobody holds the memory; how long a string is, and whether there is one, is known
 * afterwards; numbered values are in another order than the pointers.
 */
// run: fails
#include "bugs.h"
#include <stdarg.h>

enum { ROUNDS = 40, SHORT = 24 };
static char text[SHORT + 1] = "aaaaaaaaaaaaaaaaaaaaaaaa", word[64], letters[8], set[64];
static int number;
static double real;
static long length;
static const char *formats[] = { "%2$s %1$s %1$.5s" };
static uint64_t seen[TEAM_MAX];
static unsigned mixed[TEAM_MAX];
static volatile int over;

static void look_at(unsigned me, const char *copy, size_t n)
{
	for (size_t i = 0; i < n && copy[i]; i++) {
		mixed[me] += copy[i] != copy[0];
		note(&seen[me], (unsigned char)copy[i]);
	}
}

__attribute__((noinline)) static int scan_list(FILE *file, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	int n = vfscanf(file, format, values);
	va_end(values);
	return n;
}

__attribute__((noinline)) static void print_list(unsigned me, const char *format, ...)
{
	char copy[128];
	va_list values;

	va_start(values, format);
	vsnprintf(copy, sizeof copy, format, values);
	va_end(values);
	look_at(me, copy, SHORT);
}

static void scan_all(unsigned me, unsigned round)
{
	char line[64], copy[128];
	int n = snprintf(line, sizeof line, "%u %u.5 bbbbb ccccc dddd%u", round, round, round);
	FILE *file = fmemopen(line, (size_t)n, "r");

	if (!file || fscanf(file, "%d%lf%s%3c%ln", &number, &real, word, letters, &length) != 4 ||
	    scan_list(file, "%2$[a-z]%1$s", word, set) != 2)
		abort();
	fclose(file);
	note(&seen[me], (uint64_t)sscanf(text, "%[b]%s", set, word));
	look_at(me, word, sizeof word);
	look_at(me, letters, sizeof letters);
	snprintf(copy, sizeof copy, formats[0], text, word);
	look_at(me, copy, sizeof copy);
	snprintf(copy, sizeof copy, "%2$s %1$s", text, word);
	look_at(me, copy, sizeof copy);
	print_list(me, "%2$s %1$s %1$.5s", text, word);
}

static void change(unsigned me)
{
	unsigned turns = 0;

	for (unsigned i = me; !over; i++) {
		text[i % SHORT] = (char)('a' + i % 3);
		word[i % 4] = (char)('d' + i % 3);
		note(&seen[me], (uint64_t)number ^ (uint64_t)real ^ (uint64_t)length);
		note(&seen[me], (uint64_t)word[i % 5] ^ (uint64_t)letters[i % 3] ^ (uint64_t)set[i % 5]);
		spin(&turns);
	}
}

static void work(unsigned me)
{
	for (unsigned i = 0; !me && i < ROUNDS; i++)
		scan_all(me, i);
	if (!me)
		over = 1;
	else
		change(me);
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return verdict(mixed[0], "bytes of other threads");
}
