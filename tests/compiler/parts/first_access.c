/*
 * The first access of a thread is a function of libc that reads or writes a string: that is where it finds out whether heddle is there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static long compare(char *s)
{
	return strcmp(s, "beginning of another") > 0;
}

static long ignoring_case(char *s)
{
	return strcasecmp(s, "BEGINNING") > 0;
}

static long length(char *s)
{
	return (long)strlen(s);
}

static long at_most(char *s)
{
	return (long)strnlen(s, 5);
}

static long found(char *s)
{
	char *at = strstr(s, "ing");

	return at ? at - s : -1;
}

static long copied(char *s)
{
	char *to = strdup(s);
	long sum = to[0] + to[3];

	free(to);
	return sum;
}

static long appended(char *s)
{
	return (long)strlen(strcat(s, "+"));
}

static long printed(char *s)
{
	char to[64];

	return snprintf(to, sizeof to, "%s|%.3s", s, s);
}

static long (*const functions[])(char *) = {
	compare, ignoring_case, length, at_most, found, copied, appended, printed
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Which one comes with the number of the thread, not from memory. */
static char *strings[FUNCTIONS];
static long results[FUNCTIONS];

#define WORK(n)                                     \
	static void *work##n(void *string)          \
	{                                           \
		long result = functions[n](string); \
		results[n] = result;                \
		return NULL;                        \
	}                                           \
	_Static_assert(1, "a semicolon follows")
WORK(0);
WORK(1);
WORK(2);
WORK(3);
WORK(4);
WORK(5);
WORK(6);
WORK(7);

int main(int argc, char **argv)
{
	void *(*const work[])(void *) = { work0, work1, work2, work3, work4, work5, work6, work7 };
	pthread_t threads[FUNCTIONS];

	if (argc > 9)
		puts(argv[1]);
	for (int i = 0; i < FUNCTIONS; i++) {
		strings[i] = malloc(200);
		strcpy(strings[i], "beginning of a text that is longer than a piece");
		if (pthread_create(&threads[i], NULL, work[i], strings[i]))
			return 1;
		pthread_join(threads[i], NULL);
		printf("%ld\n", results[i]);
	}
	return 0;
}
