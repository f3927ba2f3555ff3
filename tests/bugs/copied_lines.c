/*
 * Strings that others change while printf's kin take them from a va_list, lines that come into memory that others read and change,
 * and transfers of more than stdio gets at once.
 * What could go wrong: the compiler does not know the values; a line's length is known only when it is there; between two
 * pieces of a long buffer another thread writes.
 */
// run: fails
#include "bugs.h"
#include <stdarg.h>

enum { ROUNDS = 30, SHORT = 24, LONG = 3000, HUGE = (1 << 20) + 5000 };
static char text[SHORT + 1] = "aaaaaaaaaaaaaaaaaaaaaaaa", line[LONG], huge[HUGE];
static char *grown;
static size_t grown_size;
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

__attribute__((noinline, format(printf, 3, 4))) static void print(unsigned me, FILE *file, const char *format, ...)
{
	va_list values[3];
	char *made, small[SHORT + 4];

	for (int i = 0; i < 3; i++)
		va_start(values[i], format);
	vsnprintf(small, sizeof small, format, values[0]);
	look_at(me, small, sizeof small);
	if (vasprintf(&made, format, values[1]) < 0 || vfprintf(file, format, values[2]) < 0)
		abort();
	look_at(me, made, SHORT);
	free(made);
	for (int i = 0; i < 3; i++)
		va_end(values[i]);
}

static void through_files(unsigned me, unsigned round)
{
	char *data;
	size_t n;
	FILE *file = open_memstream(&data, &n);

	if (!file)
		abort();
	print(me, file, "%s%*s%.*s%u\n", text, 30, text, SHORT / 2, text, round);
	print(me, file, "%s\n%s\n", text, text);
	fclose(file);
	look_at(me, data, n);
	file = fmemopen(data, n, "r");
	if (!file || !fgets(line, LONG, file) || getline(&grown, &grown_size, file) < 0 ||
	    !fgets(text, SHORT + 1, file))
		abort();
	fclose(file);
	free(data);
}

static void transfer(unsigned me)
{
	char *data;
	size_t n;
	FILE *file = open_memstream(&data, &n);

	if (!file || fwrite(huge, 1, HUGE, file) != HUGE || fclose(file))
		abort();
	for (size_t i = 0; i < HUGE; i += 512)
		note(&seen[me], (unsigned char)data[i]);
	file = fmemopen(data, n, "r");
	if (!file || fread(huge, 1, HUGE, file) != HUGE)
		abort();
	fclose(file);
	free(data);
}

static void copy_all(unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		through_files(me, i);
	transfer(me);
	over = 1;
}

static void change(unsigned me)
{
	unsigned turns = 0;

	for (unsigned i = me; !over; i++) {
		text[i % SHORT] = (char)('a' + i % 3);
		huge[i * 512 % HUGE] = (char)i;
		line[i % SHORT] = 'z';
		note(&seen[me], (unsigned char)line[i % LONG] ^ (unsigned char)huge[i * 4096 % HUGE]);
		spin(&turns);
	}
}

static void work(unsigned me)
{
	me ? change(me) : copy_all(me);
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	free(grown);
	return verdict(mixed[0], "bytes of other threads");
}
