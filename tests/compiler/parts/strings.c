/* Functions of libc's that read and write through pointers give what they give without hooks. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

char a[300], b[300], c[300], *pieces[20];
wchar_t wide[100], wide2[100];
int numbers[50], calls;
struct {
	int i;
	short h;
	long l;
	double d;
	float f;
	char s[20], word[20], two[2];
	char *made;
} in;

static int compare(const void *x, const void *y)
{
	calls++;
	return *(const int *)x - *(const int *)y;
}

__attribute__((noinline)) static void plain_strings(void)
{
	memset(a, 'x', 200);
	strcpy(a, "one two three");
	strcat(a, " four");
	strncat(a, " five six", 5);
	stpcpy(b, a + 4);
	strncpy(c, b, 10);
	printf("%s|%s|%s|%zu %zu\n", a, b, c, strlen(a), strnlen(b, 7));
	printf("%d %d %d %d\n", strcmp(a, b) > 0, strncmp(a, b, 0), strcasecmp("ABC", "abc"), memcmp(a, b, 5) > 0);
	printf("%s %s %s %s\n", strchr(a, 't'), strrchr(a, 't'), strstr(a, "thr"), strpbrk(a, "vf"));
	printf("%zu %zu %d\n", strspn(a, "eno "), strcspn(a, "h"), (int)((char *)memchr(a, 'w', 50) - a));
	printf("%p %p\n", (void *)strchr(a, 'Z'), memmem(a, 20, "Z", 1));
	memmove(a + 3, a, 10);
	mempcpy(c + 20, a, 30);
	memccpy(c, a, 't', 100);
	printf("%.30s|%.20s|%.8s\n", a, c + 20, c);
	char *rest = b, *word, *save;
	for (int i = 0; (word = strsep(&rest, " ")); i++)
		pieces[i] = word;
	printf("%s %s %s\n", pieces[0], pieces[1], pieces[2]);
	strcpy(b, "a,b;c");
	for (word = strtok_r(b, ",;", &save); word; word = strtok_r(NULL, ",;", &save))
		printf("<%s>", word);
	char *copy = strdup(a);
	char *part = strndup(a + 3, 4);
	printf("%s %s\n", copy, part);
	free(copy);
	free(part);
	char *page = aligned_alloc(4096, 8192);
	memset(page, 'p', 8191);
	page[8191] = 0;
	printf("%zu %zu %zu\n", strlen(page), strlen(page + 4090), strlen(page + 8190));
	free(page);
	bzero(a + 5, 3);
	explicit_bzero(a + 50, 3);
	swab("badcfe", b, 6);
	printf("%s %.6s\n", a, b);
}

__attribute__((noinline)) static void cut_strings(void)
{
	char *rest, *word, *save;

	for (rest = strcpy(b, ",;x,,y;"); (word = strtok_r(rest, ",;", &save)); rest = NULL)
		printf("<%s:%s>", word, save);
	for (rest = strcpy(b, ",a,,"); (word = strsep(&rest, ","));)
		printf("[%s:%s]", word, rest ? rest : "none");
	char *const options[] = { "ro", "size", "", NULL };
	rest = strcpy(b, "size=12,ro,siz=1,ro=,size,=x,,other,last=");
	while (*rest) {
		char *value = "not set";
		int which = getsubopt(&rest, options, &value);
		printf("{%d %s:%.3s}", which, value ? value : "none", rest);
	}
	printf("%d\n", getsubopt(&rest, options, &word));
}

__attribute__((noinline)) static void addresses(void)
{
	for (int i = 0; i < 4; i++) {
		static const char *const texts[] = { "192.0.2.7", "2001:db8::1", "192.0.2", "::ffff:192.0.2.7" };
		int family = i % 2 ? AF_INET6 : AF_INET, done = inet_pton(family, texts[i], c);
		printf("(%d %d ", done, inet_ntop(family, c, b, 4) == NULL);
		printf("%s)", done == 1 ? inet_ntop(family, c, b, 46) : "-");
	}
	printf("%d ", inet_pton(99, "1", c));
	printf("%d ", inet_ntop(99, c, b, 46) == NULL);
	printf("%d\n", errno == EAFNOSUPPORT);
}

__attribute__((noinline)) static void wide_strings(void)
{
	wcscpy(wide, L"wide ones");
	wcscat(wide, L" too");
	wmemset(wide2, L'-', 5);
	wcsncpy(wide2 + 5, wide, 6);
	printf("%ls %zu %d %ls\n", wide, wcslen(wide), wcscmp(wide, wide2) > 0, wcschr(wide, L'o'));
	printf("%zu %s\n", wcstombs(a, wide2, 100), a);
	swprintf(wide2, 100, L"%d %ls %s", 5, wide, "narrow");
	printf("%ls\n", wide2);
}

__attribute__((noinline)) static void conversions(void)
{
	char *end;
	int n = -1;

	strcpy(a, "42 77xyz -5 0x1f 2.5e3 rest");
	printf("%d %ld", atoi(a), strtol(a + 3, &end, 10));
	printf("%s %g\n", end, strtod("2.5e3q", &end));
	printf("%d %s\n", snprintf(b, 10, "%s and %d%n", a, 5, &n), b);
	printf("%d ", n);
	printf("%d %s\n", sprintf(c, "%5d|%-6.3s|%c|%*d|%.*s|%%", 42, "abcdef", 'c', 4, 7, 2, "xyz"), c);
	int got = sscanf("12 3 456 7.5 8.5 word [x]yz q", "%d %hd %ld %lf %f %s [%1[a-z]]%ms", &in.i, &in.h, &in.l,
			 &in.d, &in.f, in.s, in.two, &in.made);
	printf("%d %d %d %ld %g %g %s %s %s\n", got, in.i, in.h, in.l, in.d, (double)in.f, in.s, in.two, in.made);
	free(in.made);
	in.made = in.word;
	got = sscanf("5", "%d %s", &in.i, in.word);
	printf("%d %d\n", got, in.i);
	errno = 0;
	printf("%lu %d\n", strtoul("99999999999999999999999", NULL, 10), errno == ERANGE);
}

__attribute__((noinline)) static void with_files(void)
{
	FILE *f = tmpfile();
	struct tm tm;
	time_t t = 86400 * 365;

	fprintf(f, "%s %d\n", "line", 1);
	fputs("second line\n", f);
	fwrite("0123456789", 2, 5, f);
	rewind(f);
	printf("%s", fgets(a, sizeof a, f));
	char *line = NULL;
	size_t room = 0;
	printf("%zd %s", getline(&line, &room, f), line);
	free(line);
	printf("%zu %.5s\n", fread(b, 1, 20, f), b);
	fclose(f);
	gmtime_r(&t, &tm);
	strftime(a, sizeof a, "%Y-%m-%d", &tm);
	printf("%s %s", a, asctime_r(&tm, b));
}

int main(void)
{
	plain_strings();
	cut_strings();
	addresses();
	wide_strings();
	conversions();
	with_files();
	for (int i = 0; i < 50; i++)
		numbers[i] = i * 37 % 50;
	qsort(numbers, 50, sizeof *numbers, compare);
	int key = 20, *found = bsearch(&key, numbers, 50, sizeof *numbers, compare);
	printf("%d %d %d %d\n", numbers[0], numbers[49], *found, calls > 50);
	puts(a);
}
