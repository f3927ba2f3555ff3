/*
 * scanf and its kin, and formats that number their values, are replaced by code of heddle-cc's: they must do what libc's do, for
 * numbers of all sizes, strings with and without a limit, sets, characters with zeros among them, strings that libc allocates, counts,
 * values without a place, ends of the input in the middle, formats that are no constants, values from a va_list.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static char a[3000], b[3000], many[2500];
static wchar_t w[3000];
static const char *unknown[] = { "%d %s", "%2$s %1$d", "%*d %n%s", "%5lc" };

static void clear(void)
{
	memset(a, '#', sizeof a - 1);
	memset(b, '#', sizeof b - 1);
	wmemset(w, L'#', sizeof w / sizeof *w - 1);
}

static void show(int n)
{
	printf("%d <%.20s> <%.20s> %zu %zu %zu\n", n, a, b, strlen(a), strlen(b), wcslen(w));
	clear();
}

static void scan_numbers(const char *text)
{
	signed char tiny = -1;
	short small = -1;
	int one = -1, count = -1;
	long large = -1;
	unsigned long long huge = 7;
	float f = -1;
	double d = -1;
	long double l = -1;
	void *p = NULL;

	int n = sscanf(text, "%hhd%hi%x %ld,%llu %n%f%lf%Lg %p", &tiny, &small, (unsigned *)&one, &large, &huge, &count,
		       &f, &d, &l, &p);
	printf("%d: %d %d %d %ld %llu %d %g %g %Lg %d\n", n, tiny, small, one, large, huge, count, f, d, l, p != NULL);
	count = -1;
	n = sscanf(text, "%hhd%*i%3$x%2$n", &tiny, &count, (unsigned *)&one);
	printf("%d: %d %d %d\n", n, tiny, one, count);
}

static void scan_strings(const char *text)
{
	char *made = (char *)1, *set = (char *)1, c = '?', wide = '?';
	signed char at = -1;

	show(sscanf(text, "%s %s", a, b));
	show(sscanf(text, "%3s%2s", a, b));
	show(sscanf(text, "%[a-z] %*s %[^]x]", a, b));
	show(sscanf(text, "%4c%c%10c", a, &c, b));
	show(sscanf(text, "%ls %s", w, a));
	show(sscanf(text, "%2$s %1$3s", a, b));
	show(sscanf(text, "one%%%*s%hhn%s", &at, a));
	printf("%c %d\n", c, at);
	int n = sscanf(text, "%ms %m[a-z] %c", &made, &set, &wide);
	printf("%d %d %d %c\n", n, made == (char *)1, set == (char *)1, wide);
	if (n > 0)
		printf("%s\n", made), free(made);
	if (n > 1)
		printf("%s\n", set), free(set);
}

static __attribute__((noinline)) int from_list(FILE *file, const char *text, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	int n = file ? vfscanf(file, format, values) : vsscanf(text, format, values);
	va_end(values);
	return n;
}

static FILE *file_of(const char *bytes, size_t n)
{
	FILE *file = tmpfile();

	fwrite(bytes, 1, n, file);
	rewind(file);
	return file;
}

static void scan_files(void)
{
	static const char zeros[] = "ab\0cd ef\0gh\n12 end";
	int one = -1, two = -1;
	FILE *file = file_of(zeros, sizeof zeros - 1);

	int n = fscanf(file, "%s%3c%[^\n]", a, b, a + 100);
	printf("%d %d %d %d\n", n, memcmp(a, "ab\0cd", 6), memcmp(b, " ef", 3), memcmp(a + 100, "\0gh", 4));
	printf("%d%d%d\n", a[6], b[3], a[104]);
	n = fscanf(file, "%d%d", &one, &two);
	printf("%d %d %d %c\n", n, one, two, getc(file));
	n = from_list(file, NULL, "%5c%d", b, &two);
	printf("%d %.3s %d\n", n, b, from_list(file, NULL, "%s", b));
	fclose(file);
	clear();
	file = file_of(many, sizeof many);
	show(fscanf(file, "%s%s", a, b));
	fclose(file);
}

static void scan_input(void)
{
	int pair[2], n = -1;

	if (pipe(pair) || write(pair[1], "17 seventeen\n18", 15) != 15 || dup2(pair[0], 0))
		abort();
	close(pair[1]);
	show(scanf("%d%s", &n, a));
	printf("%d\n", n);
	show(scanf("%d%s", &n, a));
	show(scanf("%s", a));
}

static void scan_unknown(const char *text)
{
	int n = -1;

	for (unsigned i = 0; i < 4; i++) {
		clear();
		setbuf(stdout, NULL);
		if (i == 3) {
			show(sscanf(text, unknown[i], w));
			show(from_list(NULL, text, unknown[i], w));
			continue;
		}
		show(sscanf(text, unknown[i], &n, a));
		show(from_list(NULL, text, unknown[i], &n, a));
		printf("%d\n", n);
	}
}

static __attribute__((noinline)) void print_list(const char *format, ...)
{
	va_list values, again;
	char *made;

	va_start(values, format);
	va_copy(again, values);
	int n = vasprintf(&made, format, values);
	vprintf(format, again);
	printf("%d %s", n, made);
	free(made);
	va_end(again);
	va_end(values);
}

static const char *numbered[] = {
	"%2$s %1$d %2$.3s %3$g\n",
	"%2$*1$s|%2$-*1$.*1$s|%3$5.1f\n",
	"%3$f %3$e %1$hhx %2$s\n",
};

static void print_numbered(const char *text)
{
	for (unsigned i = 0; i < 3; i++) {
		print_list(numbered[i], 4, text, 2.5);
		printf(numbered[i], 4, text, 2.5);
		printf("%d\n", snprintf(a, sizeof a, numbered[i], 9, text, 1.5));
		printf("%.30s", a);
	}
	print_list("%3$Lf %2$ld %1$s %4$s\n", text, 1l << 40, 1.25L, "last");
	printf("%d\n", printf("%2$s %1$s %3$*4$d\n", text, "x", 5, 7));
	printf("%d\n", sprintf(a, "%2$s %1$s", text, "x"));
	printf("%d %.30s\n", dprintf(1, "%s %d\n", text, 3), a);
}

int main(void)
{
	static const char *const texts[] = {
		"", "12", "1 -2 ff 4,5 1.5 2.5 3.5 0x10", "one two three", "one% two]x three", "  x  "
	};

	memset(many, 'm', sizeof many);
	clear();
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		scan_numbers(texts[i]);
		scan_strings(texts[i]);
		scan_unknown(texts[i]);
		print_numbered(texts[i]);
	}
	scan_files();
	scan_input();
	return 0;
}
