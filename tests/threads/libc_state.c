/*
 * State that libc keeps for all threads: rand and drand48, the time zone and its static struct tm, the environment, the
 * locale, strtok, getpwnam's buffer, loaded objects, one compiled expression and one directory used by several threads.
 * Each has a lock inside libc, or none at all; who comes first must be the same at replay.
 */
// run: flags=-pthread varies
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
static regex_t regex;
static DIR *directory;
static unsigned long hashes[THREADS];
static int seen[THREADS];

static void mix(long me, const char *text)
{
	for (; text && *text; text++)
		hashes[me] = hashes[me] * 33 + (unsigned char)*text;
}

static void *work(void *number)
{
	long me = (long)number;
	char text[100];
	for (int i = 0; i < 400; i++) {
		hashes[me] = hashes[me] * 31 + (unsigned long)rand();
		hashes[me] = hashes[me] * 31 + (unsigned long)(drand48() * 1e9);
		hashes[me] = hashes[me] * 31 + (unsigned long)random();
		if (i % 20 == 0) {
			snprintf(text, sizeof text, "UTC%ld", me * 3);
			setenv("TZ", text, 1);
			tzset();
		}
		time_t when = i * 86400l;
		struct tm tm;
		localtime_r(&when, &tm);
		strftime(text, sizeof text, "%H %Z", &tm);
		mix(me, text);
		if (i % 10 == 0) {
			snprintf(text, sizeof text, "%ld.%d", me, i);
			setenv("SHARED", text, 1);
		}
		/* not getenv() itself: another thread may free what it points to */
		regmatch_t match;
		snprintf(text, sizeof text, "aab%dbbc", i);
		if (!regexec(&regex, text, 1, &match, 0))
			hashes[me] += (unsigned long)match.rm_eo;
		if (i % 40 == 0) {
			void *libm = dlopen("libm.so.6", RTLD_NOW);
			double (*function)(double) = (double (*)(double))dlsym(libm, "cbrt");
			hashes[me] += (unsigned long)function(me * 1000.0);
			dlclose(libm);
			hashes[me] += (unsigned long)strlen(strerror(i % 30));
		}
		if (readdir(directory))
			seen[me]++;
	}
	return 0;
}

int main(void)
{
	pthread_t threads[THREADS];
	srand(1);
	srand48(1);
	/* a variable that is new moves the list of all, which tzset() may just read: 1 of 600 plain runs crashed */
	setenv("TZ", "UTC", 1);
	setenv("SHARED", "", 1);
	if (regcomp(&regex, "a*b[0-9]+b+c", REG_EXTENDED) || !(directory = opendir("/usr/bin")))
		return 1;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	for (int i = 0; i < THREADS; i++)
		printf("%d: %lx, %d files seen\n", i, hashes[i], seen[i]);
	printf("SHARED=%s TZ=%s tzname %s, root is %s\n", getenv("SHARED"), getenv("TZ"), tzname[0],
	       getpwuid(0)->pw_name);
	printf("%d %g\n", rand(), drand48());
	regfree(&regex);
	closedir(directory);
	return 0;
}
