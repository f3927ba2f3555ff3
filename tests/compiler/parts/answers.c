/*
 * Functions of libc that heddle-cc replaces because of what they answer, or because they stop early: times, names,
 * ids, text of any length into memory of any length, a thread that is cancelled while it prints. They must do what
 * libc's do, also with what cannot be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

extern char **environ;

/* ---- times ------------------------------------------------------------------------------------------------------- */

static void times(void)
{
	static const time_t moments[] = {
		0, -1, 86400, 1700000000, 253402300800, -62135596801, 67767976233532799, 67767976233532800, LONG_MAX
	};
	static const struct tm strange[] = { { .tm_wday = 7, .tm_mon = 12 },
					     { .tm_wday = -1, .tm_mon = -1 },
					     { .tm_year = INT_MAX },
					     { .tm_year = INT_MAX - 1900 },
					     { .tm_mday = -5, .tm_hour = 123456789, .tm_year = -2000 } };
	char text[64];

	setenv("TZ", "XYZ-3:30", 1);
	for (unsigned i = 0; i < sizeof moments / sizeof *moments; i++) {
		struct tm own, *local = (errno = 0, localtime(&moments[i]));
		int error = errno;
		printf("%d %d:", local != NULL, error);
		if (local)
			printf(" %d-%d-%d %d:%d:%d %d %ld %s", local->tm_year, local->tm_mon, local->tm_mday,
			       local->tm_hour, local->tm_min, local->tm_sec, local->tm_yday, local->tm_gmtoff,
			       local->tm_zone);
		struct tm *zero = gmtime(&moments[i]);
		printf(" %d %d %d\n", zero ? zero->tm_hour : -1, zero == local, gmtime_r(&moments[i], &own) == &own);
		errno = 0;
		char *given = ctime(&moments[i]);
		printf("%d %s", errno, given ? given : "none\n");
		if (i < 4)
			printf("%s", ctime_r(&moments[i], text));
		if (i < 4)
			printf("%d %s", localtime_r(&moments[i], &own) == &own, asctime(&own));
	}
	for (unsigned i = 0; i < sizeof strange / sizeof *strange; i++) {
		errno = 0;
		char *given = asctime(&strange[i]);
		printf("%d %s", errno, given ? given : "none\n");
	}
	setenv("TZ", "ABC+5", 1); /* who asks again hears of it */
	printf("%d\n", localtime(&moments[0])->tm_hour);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void shapes(const char *what, int result, const char *name, const char *template)
{
	size_t before = (size_t)(strstr(template, "/aXXXXXX") - template) + 2;

	printf("%s %d %d: %d %d %d\n", what, result < 0 ? result : 0, result < 0 ? errno : 0,
	       strncmp(name, template, before), strstr(name, "XXXXXX") != NULL,
	       strcmp(name + before + 6, template + before + 6));
	if (result >= 0)
		close(result);
}

static void names(const char *dir)
{
	char name[100], want[100], path[PATH_MAX], host[100], other[100];
	static const char *const paths[] = { "/", "/usr/../usr/./lib", "", "/no/such/place", "..", "/usr//bin/" };

	snprintf(want, sizeof want, "%s/aXXXXXX", dir);
	strcpy(name, want), shapes("mkstemp", mkstemp(name), name, want);
	strcpy(name, want), shapes("mkostemp", mkostemp(name, O_CLOEXEC), name, want);
	strcpy(name, want), printf("mkdtemp %d\n", mkdtemp(name) == name && !rmdir(name));
	snprintf(want, sizeof want, "%s/aXXXXXX.txt", dir);
	strcpy(name, want), shapes("mkstemps", mkstemps(name, 4), name, want);
	strcpy(name, want), shapes("mkostemps", mkostemps(name, 4, O_APPEND), name, want);
	strcpy(name, want), shapes("bad", mkstemp(name), name, want);
	strcpy(name, want), printf("bad %d\n", mkdtemp(name) == NULL);
	for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
		memset(path, 0, sizeof path), errno = 0;
		char *found = realpath(paths[i], path), *made = realpath(paths[i], NULL);
		printf("realpath %d %d '%s' %d\n", found == path, found ? 0 : errno,
		       strcmp(paths[i], "..") ? path : "-", made && !strcmp(made, path));
		free(made);
	}
	printf("realpath %d\n", realpath(NULL, path) == NULL && errno == EINVAL);
	size_t n = (gethostname(host, sizeof host), strlen(host));
	for (size_t room = 0; room < n + 3; room++) {
		memset(other, '.', sizeof other), errno = 0;
		int result = gethostname(other, room);
		printf("%d%d%d ", result, errno, !memcmp(other, host, room < n ? room : n + 1));
	}
	printf("\n");
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

static void ids(void)
{
	char *argv[] = { "true", NULL };
	pid_t pid = 7;
	int status = -1, sig = 0;
	sigset_t set;
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_NONE };

	printf("%d", posix_spawn(&pid, "/no/such/program", NULL, NULL, argv, environ));
	printf(" %d", pid);
	printf(" %d", posix_spawnp(&pid, "true", NULL, NULL, argv, environ));
	printf(" %d %d\n", waitpid(pid, &status, 0) == pid, status);
	printf("%d\n", posix_spawn(NULL, "/bin/true", NULL, NULL, argv, environ));
	wait(NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR2);
	printf("sigwait %d", sigwait(&set, &sig));
	printf(" %d\n", sig);
	printf("timer %d", timer_create(CLOCK_MONOTONIC, &event, &timer));
	printf(" %d", timer_delete(timer));
	printf(" %d\n", timer_create(12345, NULL, &timer));
	struct timeval none = { 0, 1000 }, bad = { -1, 0 };
	struct timespec short_time = { 0, 1000000 };
	printf("select %d", select(0, NULL, NULL, NULL, &none));
	printf(" %ld %d", (long)none.tv_usec, select(0, NULL, NULL, NULL, &bad));
	printf(" %d %d\n", pselect(0, NULL, NULL, NULL, &short_time, NULL), ppoll(NULL, 0, &short_time, NULL));
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static char large[1 << 16], memory[1 << 17];

static int print(char *to, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	int n = vsprintf(to, format, values);
	va_end(values);
	return n;
}

static int print_some(char *to, size_t room, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	int n = vsnprintf(to, room, format, values);
	va_end(values);
	return n;
}

static void text(const char *number)
{
	wchar_t wrong[] = { 0xd800, 0 };
	char some[64] = "";

	printf("%d %s\n", print(memory, number, 42), memory);
	printf("%d %s\n", sprintf(memory, number, 43), memory);
	printf("%d %zu\n", print(memory, "%70000d|", 7), strlen(memory));
	printf("%d %zu\n", print(memory, "%s|%d", large, 7), strlen(memory));
	printf("%d", print_some(some, sizeof some, "<%ls>", wrong));
	printf(" %d %d\n", errno == EILSEQ, print(memory, "<%ls>", wrong));
}

/* ---- a thread that is cancelled while it prints ------------------------------------------------------------------- */

static void *prints(void *arg)
{
	for (;;)
		puts(arg);
	return NULL;
}

static void cancelled(void)
{
	fflush(stdout);
	int out = dup(1), null = open("/dev/null", O_WRONLY);
	dup2(null, 1);
	for (unsigned i = 0; i < 20; i++) {
		pthread_t thread;
		void *result;
		if (pthread_create(&thread, NULL, prints, i % 2 ? "tick" : large))
			abort();
		usleep(1000);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		if (result != PTHREAD_CANCELED)
			abort();
		puts("done");
		fflush(stdout);
	}
	dup2(out, 1);
	puts("cancelled");
}

int main(void)
{
	char dir[] = "/tmp/heddle-answersXXXXXX", command[100];

	if (!mkdtemp(dir))
		return 1;
	memset(large, 'x', sizeof large - 1);
	times();
	names(dir);
	ids();
	text("%d!");
	cancelled();
	snprintf(command, sizeof command, "rm -r %s", dir);
	return system(command);
}
