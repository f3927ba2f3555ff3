/*
 * heddle hunt: records a program again and again, on all cores, until a run fails; keeps that trace alone.
 *
 * A run is a `heddle record` of its own, started by us, so a run is recorded as if a user had done it. It works in a
 * nest (nest.c). With `--via` a run is a hunt for one run, started by others, perhaps elsewhere (hunt_via.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "hunt.h"

static const char help[] =
	"usage: heddle hunt [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n"
	"\n"
	"Records PROGRAM again and again, its threads disturbed at random, until a run fails: by its\n"
	"exit status, by a signal, by what it prints, or by not ending. Keeps that recording alone.\n"
	"\n"
	"      --runs=N        give up after N runs\n"
	"      --minutes=M     give up after M minutes\n"
	"      --jobs=N        N runs at a time; without: as many as there are processors\n"
	"      --timeout=S     a run that takes longer than S seconds hangs, which is a failure (60)\n"
	"      --expect=TEXT   a run that does not print TEXT fails\n"
	"      --refuse=TEXT   a run that prints TEXT fails\n"
	"      --chaos=N       the seed of the first run; the next take N+1, N+2, ...\n"
	"      --no-chaos      do not disturb the threads\n"
	"  -o, --output=DIR    keep the failing recording in the new directory DIR\n"
	"      --order=NAME    as of `heddle record`\n"
	"      --verify        as of `heddle record`\n"
	"      --via=parallel  let GNU parallel run them; $PARALLEL may name other machines\n"
	"      --via=slurm     let Slurm run them, as an array of jobs\n"
	"  -q, --quiet         say nothing that is not an error\n"
	"\n"
	"Exit status: 0 a failing run was found, 1 none in the given runs or minutes.\n";

enum { JOBS_MAX = 1024, OUTPUT_LINES = 10 };
/* What a program that hangs gets to end by SIGTERM, which a replay can repeat, before it is killed. */
#define PATIENCE 2.0

struct hunt h = { .runs = -1, .jobs = -1 };

/* ---- small things ------------------------------------------------------------------------ */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double positive(const char *text, const char *option, double otherwise)
{
	char *end;

	if (!text)
		return otherwise;
	double value = strtod(text, &end);
	if (end == text || *end || !(value > 0))
		usage("--%s wants a number greater than 0, not '%s'", option, text);
	return value;
}

unsigned seed_of(unsigned long run)
{
	unsigned seed = (unsigned)((unsigned long)h.chaos + run - 1);

	return seed ? seed : 1; /* 0 would be none */
}

const char *elapsed_text(void)
{
	static char text[32];
	unsigned s = (unsigned)(now() - h.begun);

	snprintf(text, sizeof text, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
	return text;
}

static void show_progress(void)
{
	char text[160];
	double t = now() - h.begun;

	if (h.quiet)
		return;
	snprintf(text, sizeof text, "hunting: %lu runs, %.1f per second, %s", h.ended,
		 (double)h.ended / (t > 1 ? t : 1), elapsed_text());
	progress_line(text);
}

static void run_path(unsigned long run, char path[PATH_ROOM])
{
	snprintf(path, PATH_ROOM, "%.*s/%lu", PATH_ROOM - 64, h.nest, run);
}

static void output_path(unsigned long run, char path[PATH_ROOM])
{
	snprintf(path, PATH_ROOM, "%.*s/%lu.out", PATH_ROOM - 64, h.nest, run);
}

static void drop(unsigned long run)
{
	char path[PATH_ROOM];

	run_path(run, path);
	remove_all(path);
	output_path(run, path);
	unlink(path);
}

/* ---- one run -------------------------------------------------------------------------------- */

void add_word(struct words *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(&w->list[w->count++], format, args) < 0)
		die("not enough memory");
	va_end(args);
}

void add_common(struct words *w, const char *output)
{
	add_word(w, "--quiet");
	if (output)
		add_word(w, "--output=%s", output);
	if (h.order)
		add_word(w, "--order=%s", h.order);
	if (h.verify)
		add_word(w, "--verify");
}

char **with_program(const struct words *w)
{
	size_t n = 0;

	while (h.argv[n])
		n++;
	char **all = calloc(w->count + n + 2, sizeof *all);
	if (!all)
		die("not enough memory");
	memcpy(all, w->list, w->count * sizeof *all);
	all[w->count] = "--";
	memcpy(all + w->count + 1, h.argv, n * sizeof *all);
	return all;
}

/* In the child. */
static void become_record(unsigned long run, pid_t hunter)
{
	char trace[PATH_ROOM], output[PATH_ROOM];
	struct words w = { .count = 0 };

	run_path(run, trace);
	output_path(run, output);
	add_word(&w, "heddle");
	add_word(&w, "record");
	add_common(&w, trace);
	if (!h.no_chaos)
		add_word(&w, "--chaos=%u", seed_of(run));
	char **argv = with_program(&w);
	again_become(hunter, &h.before, output);
	execv("/proc/self/exe", argv);
	_exit(EXIT_CANNOT);
}

static void start_run(struct job *job)
{
	pid_t hunter = getpid();

	fflush(NULL);
	*job = (struct job){ .run = ++h.started, .begun = now() };
	job->pid = fork();
	if (job->pid < 0)
		die("fork: %s; fewer --jobs may help", strerror(errno));
	if (!job->pid)
		become_record(job->run, hunter);
}

/* ---- did it fail? ------------------------------------------------------------------------------ */

static bool printed(unsigned long run, const char *text)
{
	char path[PATH_ROOM];

	output_path(run, path);
	return again_printed(path, text);
}

/* The last lines that a run printed. */
static void show_output(unsigned long run)
{
	char path[PATH_ROOM], text[4096];
	int lines = 0;

	output_path(run, path);
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	if (fseek(file, -(long)sizeof text, SEEK_END))
		rewind(file); /* it is shorter than that */
	size_t n = fread(text, 1, sizeof text, file), at = n ? n - 1 : 0;
	while (at && !(text[at - 1] == '\n' && ++lines == OUTPUT_LINES))
		at--;
	fwrite(text + at, 1, n - at, stdout);
	fclose(file);
}

/* heddle itself could not: nothing that another run would do better. */
static void cannot_record(const struct job *job)
{
	progress_end();
	show_output(job->run);
	fflush(stdout);
	tree_kill();
	die("run %lu could not be recorded; above is what it said", job->run);
}

/* Why this run failed, or NULL. The end stands in its trace: 122 may also be the program's own exit status. */
static const char *failure(const struct job *job)
{
	char path[PATH_ROOM];
	static char text[PATH_ROOM];
	struct trace_problem problem;
	struct meta meta = { 0 };

	run_path(job->run, path);
	if (meta_try_load(&meta, path, &problem) || !meta.finished || (meta.status == STATUS_UNKNOWN && !job->told))
		cannot_record(job);
	uint32_t status = meta.status;
	meta_free(&meta);
	if (job->told)
		snprintf(text, sizeof text, "had not ended after %g s", h.timeout);
	else if (status)
		snprintf(text, sizeof text, "failed: %s", status_text((int)status));
	else if (h.refuse && printed(job->run, h.refuse))
		snprintf(text, sizeof text, "failed: it printed \"%s\"", h.refuse);
	else if (h.expect && !printed(job->run, h.expect))
		snprintf(text, sizeof text, "failed: it did not print \"%s\"", h.expect);
	else
		return NULL;
	return text;
}

/* ---- the end ------------------------------------------------------------------------------------ */

/* Said even by a quiet hunt: for this it was started. */
static void tell_found(const struct job *job, const char *why, const char *path)
{
	char seed[64] = "";
	struct trace_problem problem;
	struct meta meta = { 0 };

	progress_end();
	if (!h.quiet)
		show_output(job->run);
	if (!h.no_chaos)
		snprintf(seed, sizeof seed, " (--chaos=%u)", seed_of(job->run));
	note("run %lu%s %s", job->run, seed, why);
	if (meta_try_load(&meta, path, &problem))
		die("%s", problem.text);
	note("recorded (%s) in %s; `heddle replay %s` runs it again", meta_text(&meta, "level"), path,
	     h.output ? path : strrchr(path, '/') + 1);
	if (!h.quiet)
		note("%lu runs in %s, %.1f per second", h.ended, elapsed_text(), (double)h.ended / (now() - h.begun));
}

static int found(const struct job *job, const char *why)
{
	char from[PATH_ROOM], path[PATH_ROOM];

	again_end_all();
	run_path(job->run, from);
	nest_keep(from, h.output, h.program, path);
	tell_found(job, why, path);
	nest_remove();
	return 0;
}

static int not_found(void)
{
	again_end_all();
	nest_remove();
	if (!h.quiet)
		note("%s: none of %lu runs failed (%s, %.1f per second)%s", h.interrupted ? "interrupted" : "given up",
		     h.ended, elapsed_text(), (double)h.ended / (now() - h.begun),
		     h.interrupted ? "" : "; more --runs or --minutes, or other arguments, may show it");
	return h.interrupted ? again_die_of(h.interrupted, &h.before) : NOTHING_FOUND;
}

/* ---- the hunt ----------------------------------------------------------------------------------- */

bool over(void)
{
	return h.interrupted || (h.seconds > 0 && now() - h.begun > h.seconds);
}

static void start_runs(void)
{
	for (long i = 0; i < h.jobs && !over(); i++)
		if (!h.job[i].pid && (h.runs < 0 || h.started < (unsigned long)h.runs))
			start_run(&h.job[i]);
}

/* SIGTERM, which record hands on and logs; whoever does not heed it is killed. */
static void end_hanging(void)
{
	for (long i = 0; i < h.jobs; i++) {
		struct job *job = &h.job[i];
		if (!job->pid || now() - job->begun < h.timeout)
			continue;
		if (!job->told) {
			job->told = now();
			kill(job->pid, SIGTERM);
		} else if (now() - job->told > PATIENCE)
			tree_kill_below(job->pid);
	}
}

/* A run that ended; NULL: none has. */
static struct job *next_ended(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (long i = 0; i < h.jobs; i++)
			if (h.job[i].pid == pid) {
				h.job[i].pid = 0;
				h.ended++;
				return &h.job[i];
			}
	return NULL;
}

void wait_a_little(void)
{
	int sig = sigtimedwait(&h.wanted, NULL, &(struct timespec){ .tv_nsec = 50000000 });

	if (sig > 0 && sig != SIGCHLD)
		h.interrupted = sig;
}

static int hunt(void)
{
	struct job *job;

	for (;;) {
		start_runs();
		show_progress();
		while ((job = next_ended())) {
			const char *why = over() ? NULL : failure(job);
			if (why)
				return found(job, why);
			drop(job->run);
			start_runs();
		}
		if (over() || (h.runs >= 0 && h.ended >= (unsigned long)h.runs))
			return not_found();
		end_hanging();
		wait_a_little();
	}
}

/* ---- the verb ---------------------------------------------------------------------------------------- */

static void check_options(void)
{
	h.seconds = 60 * positive(h.minutes_text, "minutes", 0);
	h.timeout = positive(h.timeout_text, "timeout", 60);
	if (!h.runs)
		usage("--runs wants a number from 1 on");
	if (!h.jobs || h.jobs > JOBS_MAX)
		usage("--jobs wants a number from 1 to %d", JOBS_MAX);
	if (h.via && strcmp(h.via, "parallel") && strcmp(h.via, "slurm"))
		usage("--via knows GNU parallel and Slurm: --via=parallel, --via=slurm");
	if (h.via && !strcmp(h.via, "slurm") && h.runs < 0)
		usage("--via=slurm wants to know how many runs: --runs=N");
	if (h.no_chaos && h.chaos)
		usage("--chaos and --no-chaos exclude each other");
	if (h.chaos <= 0)
		h.chaos = ((time(NULL) ^ getpid() << 8) & 0xffffff) | 1;
	h.jobs_given = h.jobs > 0;
	if (h.jobs < 0) {
		cpu_set_t set;
		h.jobs = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	}
}

static int run_hunt(int argc, char **argv)
{
	const struct option_row options[] = {
		{ "runs", 0, OPTION_NUMBER, &h.runs },	       { "minutes", 0, OPTION_TEXT, &h.minutes_text },
		{ "jobs", 'j', OPTION_NUMBER, &h.jobs },       { "timeout", 0, OPTION_TEXT, &h.timeout_text },
		{ "expect", 0, OPTION_TEXT, &h.expect },       { "refuse", 0, OPTION_TEXT, &h.refuse },
		{ "chaos", 0, OPTION_MAYBE_NUMBER, &h.chaos }, { "no-chaos", 0, OPTION_FLAG, &h.no_chaos },
		{ "output", 'o', OPTION_TEXT, &h.output },     { "order", 0, OPTION_TEXT, &h.order },
		{ "verify", 0, OPTION_FLAG, &h.verify },       { "via", 0, OPTION_TEXT, &h.via },
		{ "quiet", 'q', OPTION_FLAG, &h.quiet },       OPTIONS_END,
	};

	if (!read_options(argc, argv, options, true))
		usage("which program? `heddle hunt PROGRAM ARGUMENTS...`");
	check_options();
	h.argv = argv;
	find_program(argv[0], h.program);
	h.begun = now();
	again_take_signals(&h.wanted, &h.before);
	h.nest = nest_make(h.output, "hunt");
	if (h.via)
		return !strcmp(h.via, "slurm") ? hunt_by_slurm() : hunt_by_parallel();
	h.job = calloc((size_t)h.jobs, sizeof *h.job);
	if (!h.job)
		die("not enough memory");
	return hunt();
}

const struct command command_hunt = { "hunt", run_hunt, "record a program until it fails", help };
