/*
 * Functions of libc that heddle-cc replaces because they allocate or lock: they must do what libc's do, for texts of no,
 * few and many characters, limits, widths, values of all kinds, formats that are no constants, errors, pieces of elements.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char text[5000], back[12000];
static const char *formats[] = { "%s\n", "%d\n", "%5s|%-5s|\n", "no value\n" };

static void print_all(const char *s)
{
	int n = 0;
	char *made = NULL;

	printf("%d\n", printf("<%s> %10s %-4.2s|%c%% %5.2f %ld %*d\n", s, s, s, 'x', 2.5, 1234567890123, 7, 42));
	printf("%d\n", sprintf(back, "%s-%s%n", s, s, &n));
	printf("%d %zu %d\n", n, strlen(back), asprintf(&made, "%.*s%s%Lg", 3, s, s, 1.5L));
	printf("%d\n", fprintf(stdout, "%s%s\n", made, ""));
	printf("%d %d\n", puts(s) >= 0, fputs(s, stdout) >= 0);
	free(made);
	for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++)
		printf(formats[i], i == 1 ? (const char *)7 : s, s);
}

static void duplicate_all(const char *s)
{
	for (size_t most = 0; most < 9; most += 4) {
		char *copy = strndup(s, most);
		printf("%zu %s\n", strlen(copy), copy);
		free(copy);
	}
	char *copy = strdup(s);
	printf("%d %d\n", copy != s, strcmp(copy, s));
	free(copy);
}

static void through_a_file(size_t size, size_t count)
{
	char name[] = "/tmp/formats-XXXXXX";
	int fd = mkstemp(name);
	FILE *file = fdopen(fd, "w+");

	unlink(name);
	printf("%zu ", fwrite(text, size, count, file));
	rewind(file);
	memset(back, '.', sizeof back);
	printf("%zu ", fread(back, size ? size : 1, count + 3, file));
	printf("%zu %d %d\n", strcspn(back, "."), feof(file), ferror(file));
	fclose(file);
}

static void fail(void)
{
	FILE *full = fopen("/dev/full", "w");

	setvbuf(full, NULL, _IONBF, 0);
	printf("%d %d\n", fprintf(full, "%s!\n", text), errno == ENOSPC);
	printf("%d %d %zu\n", fputs(text, full), ferror(full), fwrite(text, 1, 10, full));
	fclose(full);
}

int main(void)
{
	print_all("");
	print_all("short");
	duplicate_all("a string");
	memset(text, 'x', sizeof text - 1);
	print_all(text);
	duplicate_all(text);
	through_a_file(1, 10);
	through_a_file(7, 700);
	through_a_file(0, 5);
	fail();
	return 0;
}
