/*
 * Strings and buffers that others change while a function of libc copies them, which allocates or locks: strdup, strndup,
 * sprintf, asprintf, fprintf, fputs, fwrite, and fread into memory that others read.
 * What could go wrong: each byte is one access in the order of all others, though nobody may hold the memory while
 * the function waits for a lock; a long buffer takes another way than a short one.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 40, SHORT = 24, LONG = 3000 };
static char text[SHORT + 1] = "aaaaaaaaaaaaaaaaaaaaaaaa", large[LONG], filled[LONG];
static uint64_t seen[TEAM_MAX];
static unsigned mixed[TEAM_MAX];
static char *printed;
static volatile int over;

static void look_at(unsigned me, const char *copy, size_t n)
{
	for (size_t i = 0; i < n && copy[i]; i++) {
		mixed[me] += copy[i] != copy[0];
		note(&seen[me], (unsigned char)copy[i]);
	}
}

static void duplicate(unsigned me, unsigned i)
{
	char *copy = i % 2 ? strdup(text) : strndup(text, SHORT / 2);

	look_at(me, copy, SHORT);
	free(copy);
	if (asprintf(&printed, "%s%s", text, text) < 0)
		abort();
	look_at(me, printed, SHORT);
	free(printed);
	sprintf(filled, "%s%u", text, i);
}

/* Each thread has files of its own in memory. */
static void through_files(unsigned me)
{
	char *data;
	size_t n;
	FILE *file = open_memstream(&data, &n);

	if (!file || fputs(text, file) < 0 || fprintf(file, "%.*s%s", SHORT / 3, text, text) < 0 ||
	    fwrite(large, 1, LONG, file) != LONG || fwrite(text, 4, 5, file) != 5 || fclose(file))
		abort();
	look_at(me, data, n);
	file = fmemopen(data, n, "r");
	if (!file || fread(filled, 7, LONG / 7, file) != LONG / 7 || fread(text, 1, 3, file) != 3)
		abort();
	fclose(file);
	free(data);
}

static void copy_all(unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		duplicate(me, i);
		through_files(me);
	}
	over = 1;
}

static void change(unsigned me)
{
	unsigned turns = 0;

	for (unsigned i = me; !over; i++) {
		text[i % SHORT] = (char)('a' + i % 3);
		large[i * 8 % LONG] = (char)('a' + i % 5);
		note(&seen[me], (unsigned char)filled[i * 8 % LONG] ^ (uint64_t)printed);
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
	memset(large, 'a', sizeof large);
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u saw %016llx\n", i, (unsigned long long)seen[i]);
	return verdict(mixed[0], "bytes of other threads");
}
