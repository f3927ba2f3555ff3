/*
 * More functions of libc that heddle-cc replaces: fgets, getline, getdelim, printf's kin with a va_list, transfers of more than the
 * replacements copy at once. They must do what libc's do: lines with zeros in them, without an end, that just fit or do not;
 * values of all kinds, widths that are values, %n, %m, formats that are left to libc.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#define HUGE_SIZE ((1u << 20) + 4321)

static char back[20000], *huge, *huge_back;

static void show(const char *what, const char *bytes, size_t n)
{
	printf("%s %zu:", what, n);
	for (size_t i = 0; i < n && i < 60; i++)
		printf(bytes[i] >= ' ' ? "%c" : "\\%d", bytes[i]);
	printf("\n");
}

/* ---- lines ---------------------------------------------------------------------------------------------------------------- */

static const char lines[] = "one\n\nth\0ree\n\0\n\0\0end\nlonger than the rest of them\nno end\0";

static void by_fgets(int size)
{
	FILE *file = fmemopen((char *)lines, sizeof lines - 1, "r");

	memset(back, '.', sizeof back);
	while (fgets(back, size, file)) {
		show("fgets", back, (size_t)size + 2);
		memset(back, '.', sizeof back);
	}
	show("end", back, 3);
	printf("%d %d\n", feof(file), ferror(file));
	fclose(file);
}

static void by_getdelim(int end)
{
	FILE *file = fmemopen((char *)lines, sizeof lines - 1, "r");
	char *line = NULL;
	size_t size = 0;

	for (ssize_t n; (n = end == '\n' ? getline(&line, &size, file) : getdelim(&line, &size, end, file)) >= 0;)
		show("line", line, (size_t)n + 1);
	printf("%d %d %d\n", feof(file), line != NULL, size >= 30);
	fclose(file);
	free(line);
	line = malloc(2);
	size = 2;
	file = fmemopen((char *)lines, sizeof lines - 1, "r");
	printf("%zd ", getline(&line, &size, file));
	printf("%d %s", size > 2, line);
	fclose(file);
	free(line);
	errno = 0;
	printf("%zd %d\n", getline(NULL, &size, stdin), errno == EINVAL);
}

/* ---- values ----------------------------------------------------------------------------------------------------------------- */

__attribute__((noinline)) static void print_all(const char *format, ...)
{
	va_list values[7];
	char *made = NULL;

	for (int i = 0; i < 7; i++)
		va_start(values[i], format);
	memset(back, '.', sizeof back);
	int n = vsnprintf(back, 20, format, values[0]);
	show("vsnprintf", back, 22);
	printf("%d %d\n", n, vsnprintf(NULL, 0, format, values[1]));
	printf("%d\n", vsprintf(back, format, values[2]));
	printf("%s\n", back);
	printf("%d\n", vasprintf(&made, format, values[3]));
	printf("%s\n", made);
	printf("%d\n", vprintf(format, values[4]));
	printf("%d\n", vfprintf(stdout, format, values[5]));
	fflush(stdout);
	printf("%d\n", vdprintf(1, format, values[6]));
	free(made);
	for (int i = 0; i < 7; i++)
		va_end(values[i]);
}

static void all_values(const char *s)
{
	signed char c = 0;
	short h = 0;
	int n = 0;
	long l = 0;
	unsigned *counted = &(unsigned){ 0 };

	print_all("plain %% text\n");
	print_all("%d without strings %5.1f\n", 42, 2.5);
	print_all("%s\n", s);
	print_all("<%s|%10s|%-10s|%.3s|%*s|%-*.*s|%.*s>\n", s, s, s, s, 8, s, -9, 2, s, -1, s);
	print_all("%s %d %5i %-5u| %#x %#o %+d %05d %'d %c %p\n", s, -1, 2, 3u, 255u, 8u, 4, 5, 1234567, 'x',
		  (void *)16);
	print_all("%s %hhd %hd %ld %lld %jd %zu %td %lx\n", s, 300, 70000, 1L << 40, 1LL << 50, (intmax_t)-5, (size_t)7,
		  (ptrdiff_t)-8, ~0ul);
	print_all("%s %f %.2e %g %a %Lf %*.*f|%.0f\n", s, 1.5, 12345.678, 0.1, 0.5, 2.25L, 9, 3, 3.14159, 2.5);
	print_all("%ls %S %lc %s\n", L"wide", L"also", (wint_t)L'w', s);
	print_all("%s%hhn%s%hn%s%n%s%ln\n", s, &c, s, &h, s, &n, s, &l);
	printf("%d %d %d %ld\n", c, h, n, l);
	errno = ENOENT;
	print_all("%s: %m %10m\n", s);
	print_all("%2$s %1$s\n", s, "other order");
	print_all("%s%u\n", s, (*counted)++);
	printf("%u\n", *counted);
	print_all("%s\n", NULL);
}

/* ---- much ------------------------------------------------------------------------------------------------------------------- */

static void much(void)
{
	char name[] = "/tmp/lines-XXXXXX";
	int fd = mkstemp(name);
	FILE *file = fdopen(fd, "w+");

	unlink(name);
	huge = malloc(HUGE_SIZE + 1);
	huge_back = calloc(1, HUGE_SIZE + 10);
	for (size_t i = 0; i < HUGE_SIZE; i++)
		huge[i] = (char)('a' + i % 23 + i / 4096 % 3);
	huge[HUGE_SIZE] = 0;
	printf("%zu ", fwrite(huge, 3, HUGE_SIZE / 3, file));
	printf("%d ", fputs(huge, file) >= 0);
	rewind(file);
	printf("%zu ", fread(huge_back, 1, HUGE_SIZE / 3 * 3, file));
	printf("%d ", memcmp(huge, huge_back, HUGE_SIZE / 3 * 3));
	printf("%zu ", fread(huge_back, 7, HUGE_SIZE, file));
	printf("%d %d\n", memcmp(huge, huge_back, HUGE_SIZE), feof(file));
	printf("%zu %d\n", fwrite(huge, HUGE_SIZE, 1, stdin), ferror(stdin) != 0);
	print_all("%.30s\n", huge);
	puts(huge);
	fclose(file);
	file = fopen("/dev/full", "w");
	printf("%d ", fwrite(huge, 1, HUGE_SIZE, file) < HUGE_SIZE);
	printf("%d\n", fputs(huge, file));
	fclose(file);
	free(huge);
	free(huge_back);
}

int main(void)
{
	for (int size = 2; size < 12; size += 3)
		by_fgets(size);
	by_fgets(2000);
	by_getdelim('\n');
	by_getdelim(0);
	by_getdelim('e');
	all_values("");
	all_values("a string");
	char *long_one = malloc(3000);
	memset(long_one, 'l', 2999);
	long_one[2999] = 0;
	long_one[1200] = 0;
	all_values(long_one);
	free(long_one);
	much();
	return 0;
}
