/*
 * Telling the user: four kinds of message, each with its exit status.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "commands.h"

static const char *verb;
static void (*clean_up_on_death)(void);
static bool line_open; /* a progress line stands on the terminal */

void set_verb(const char *name)
{
	verb = name;
}

void on_death(void (*clean_up)(void))
{
	clean_up_on_death = clean_up;
}

bool person_watching(void)
{
	return isatty(STDERR_FILENO);
}

const char *colour(FILE *stream, const char *code)
{
	const char *no = getenv("NO_COLOR");

	return isatty(fileno(stream)) && !(no && *no) ? code : "";
}

static void say(const char *code, const char *kind, const char *format, va_list args)
{
	progress_end();
	fflush(stdout); /* or the order of the two would be lost */
	fprintf(stderr, "%sheddle:%s %s", colour(stderr, code), colour(stderr, "\33[m"), kind);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("\33[1;31m", "", format, args);
	va_end(args);
	fprintf(stderr, "heddle: see `heddle help%s%s`\n", verb ? " " : "", verb ? verb : "");
	exit(EXIT_USAGE);
}

void die(const char *format, ...)
{
	va_list args;
	void (*clean_up)(void) = clean_up_on_death;

	va_start(args, format);
	say("\33[1;31m", "", format, args);
	va_end(args);
	clean_up_on_death = NULL; /* it may die itself */
	if (clean_up)
		clean_up();
	exit(EXIT_CANNOT);
}

/* Not in the handler: what is to be cleaned up takes more than a handler may do. */
static volatile sig_atomic_t interrupted;

static void note_signal(int sig)
{
	interrupted = sig;
}

void catch_signals(void)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT };
	struct sigaction act = { .sa_handler = note_signal }, old;

	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
		if (!sigaction(ending[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(ending[i], &act, NULL); /* exec makes it the default again */
}

void end_if_interrupted(void)
{
	if (!interrupted)
		return;
	progress_end();
	if (clean_up_on_death)
		clean_up_on_death();
	signal(interrupted, SIG_DFL);
	raise(interrupted);
}

void warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("\33[1;33m", "warning: ", format, args);
	va_end(args);
}

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("\33[1m", "", format, args);
	va_end(args);
}

void progress_line(const char *text)
{
	static struct timespec begun, shown;
	struct timespec now;

	if (!person_watching())
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	double ms = 1e3 * (double)(now.tv_sec - shown.tv_sec) + 1e-6 * (double)(now.tv_nsec - shown.tv_nsec);
	if (!begun.tv_sec)
		begun = shown = now;
	if (now.tv_sec - begun.tv_sec < 1 || ms < 100)
		return;
	shown = now;
	line_open = true;
	fprintf(stderr, "\rheddle: %s\33[K", text);
}

void progress(const char *doing, uint64_t done, uint64_t all)
{
	char text[200];

	snprintf(text, sizeof text, "%s: %3.0f %%", doing, all ? 100.0 * (double)done / (double)all : 0.0);
	progress_line(text);
}

void progress_end(void)
{
	if (line_open)
		fputs("\r\33[K", stderr);
	line_open = false;
}

const char *status_text(int status)
{
	static char text[64];
	const char *name;

	if (WIFSIGNALED(status)) {
		name = sigabbrev_np(WTERMSIG(status));
		if (name)
			snprintf(text, sizeof text, "killed by SIG%s", name);
		else
			snprintf(text, sizeof text, "killed by signal %d", WTERMSIG(status));
	} else
		snprintf(text, sizeof text, "exit status %d", WEXITSTATUS(status));
	return text;
}

const char *size_text(uint64_t bytes)
{
	static char texts[4][24];
	static unsigned next;
	char *text = texts[next++ % 4];
	const char *unit = "kMGTPE";
	double n = (double)bytes / 1000;

	if (bytes < 1000) {
		snprintf(text, sizeof texts[0], "%u B", (unsigned)bytes);
		return text;
	}
	for (; n >= 999.5 && unit[1]; unit++)
		n /= 1000;
	snprintf(text, sizeof texts[0], n < 9.95 ? "%.1f %cB" : "%.0f %cB", n, *unit);
	return text;
}
