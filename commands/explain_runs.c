/*
 * Reruns for heddle explain: each is a `heddle record --turns` of its own, of the recorded program with the recorded
 * arguments, environment and directory, in a nest that is removed at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "explain.h"

static struct {
	const struct explain_options *options;
	uint32_t status; /* of the recording */
	char *program, *cwd, **argv, **env;
	const char *nest;
	char trace[PATH_ROOM + 8], turns[PATH_ROOM + 8], output[PATH_ROOM + 8];
	struct turns_file *file;
	unsigned made;
	sigset_t wanted, before;
} r;

enum { LOOK_MS = 2, PATIENCE_MS = 2000, STUCK_MS = 300 };

/* ---- what is run ---------------------------------------------------------------------------------------------- */

static char **texts_of(const json_t *list, size_t before)
{
	char **all = calloc(before + json_array_size(list) + 1, sizeof *all);

	if (!all)
		die("not enough memory");
	for (size_t i = 0; i < json_array_size(list); i++)
		all[before + i] = text_from_json(json_array_get(list, i));
	return all;
}

static void make_command(const struct meta *meta)
{
	char *words[] = { "heddle", "record", "--quiet", "--order=global", NULL, NULL, "--" };
	size_t n = sizeof words / sizeof *words;

	if (asprintf(&words[4], "--turns=%s", r.turns) < 0 || asprintf(&words[5], "--output=%s", r.trace) < 0)
		die("not enough memory");
	r.argv = texts_of(json_object_get(meta->json, "argv"), n);
	memcpy(r.argv, words, sizeof words);
	if (r.argv[n])
		r.argv[n] = r.program;
	r.env = texts_of(json_object_get(meta->json, "env"), 0);
}

static void make_nest(void)
{
	r.nest = nest_make(r.options->output, "explain");
	snprintf(r.trace, sizeof r.trace, "%s/run", r.nest);
	snprintf(r.turns, sizeof r.turns, "%s/turns", r.nest);
	snprintf(r.output, sizeof r.output, "%s/output", r.nest);
}

static void map_file(void)
{
	int fd = open(r.turns, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)TURNS_SIZE))
		die("%s: %s", r.turns, strerror(errno));
	r.file = mmap(NULL, TURNS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r.file == MAP_FAILED)
		die("%s: %s", r.turns, strerror(errno));
	close(fd);
}

void runs_open(const struct meta *meta, const struct explain_options *options)
{
	r.options = options;
	r.status = meta->status;
	r.program = text_from_json(json_object_get(meta->json, "program"));
	r.cwd = text_from_json(json_object_get(meta->json, "cwd"));
	if (!r.program || !r.cwd)
		die("%s does not say what it is a recording of", meta->dir);
	again_take_signals(&r.wanted, &r.before);
	make_nest();
	make_command(meta);
	map_file();
}

void runs_close(const char *keep)
{
	char path[PATH_ROOM];

	if (keep)
		nest_keep(r.trace, keep, NULL, path);
	nest_remove();
	on_death(NULL);
}

const struct turns_file *runs_file(void)
{
	return r.file;
}

const char *runs_trace(void)
{
	return r.trace;
}

unsigned runs_made(void)
{
	return r.made;
}

bool runs_over(void)
{
	return r.made >= (unsigned long)r.options->runs;
}

/* ---- one rerun --------------------------------------------------------------------------------------------------- */

static void become_record(pid_t parent)
{
	again_become(parent, &r.before, r.output);
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (self < 0 || chdir(r.cwd))
		_exit(EXIT_CANNOT);
	fexecve(self, r.argv, r.env);
	_exit(EXIT_CANNOT);
}

static void interrupted(int sig)
{
	again_end_all();
	nest_remove();
	progress_end();
	exit(again_die_of(sig, &r.before));
}

/* False: it does not end by itself. Time is counted in looks: on a busy machine it takes longer. */
static bool wait_for(pid_t pid)
{
	struct timespec nap = { .tv_nsec = 1000000 * LOOK_MS };
	unsigned stuck = 0;
	double looks = 0, most = r.options->timeout * 1000 / LOOK_MS;

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		int sig = sigtimedwait(&r.wanted, NULL, &nap);
		if (sig > 0 && sig != SIGCHLD)
			interrupted(sig);
		looks += sig < 0;
		stuck = r.file->stuck ? stuck + (sig < 0) : 0;
		if (stuck > STUCK_MS / LOOK_MS && looks < most)
			looks = most; /* a deadlock: there is nothing to wait for */
		if (looks >= most && looks < most + 1)
			kill(pid, SIGTERM); /* which record hands on */
		if (looks > most + PATIENCE_MS / LOOK_MS)
			tree_kill_below(pid);
	}
	return looks < most;
}

static void cannot_rerun(void)
{
	char text[2048];
	FILE *file = fopen(r.output, "re");
	size_t n = file ? fread(text, 1, sizeof text, file) : 0;

	progress_end();
	fwrite(text, 1, n, stderr);
	die("%s could not be run again in %s%s", r.program, r.cwd, n ? "; above is what it said" : "");
}

bool runs_hung(uint32_t status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	return status == STATUS_UNKNOWN || sig == SIGTERM || sig == SIGINT || sig == SIGQUIT || sig == SIGHUP ||
	       sig == SIGKILL;
}

static bool fails(bool ended)
{
	struct trace_problem problem;
	struct meta meta = { 0 };

	if (meta_try_load(&meta, r.trace, &problem) || !meta.finished || (meta.status == STATUS_UNKNOWN && ended))
		cannot_rerun();
	uint32_t status = meta.status;
	meta_free(&meta);
	if (r.options->refuse)
		return again_printed(r.output, r.options->refuse);
	if (r.options->expect)
		return !again_printed(r.output, r.options->expect);
	if (!ended)
		return runs_hung(r.status);
	return (status & ~0x80u) == (r.status & ~0x80u); /* whether there is a core file does not matter */
}

static void show_progress(const struct schedule *s)
{
	char text[120];

	if (r.options->quiet)
		return;
	snprintf(text, sizeof text, "explaining: %u reruns, %u switch%s of threads in this one", r.made, s->count,
		 s->count == 1 ? "" : "es");
	progress_line(text);
}

bool runs_fails(const struct schedule *s)
{
	pid_t parent = getpid();

	show_progress(s);
	r.made++;
	remove_all(r.trace);
	r.file->switches = s->count;
	r.file->backwards = s->backwards;
	r.file->made = r.file->entries = r.file->stuck = 0;
	memcpy(r.file->list, s->list, sizeof s->list);
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		become_record(parent);
	return fails(wait_for(pid));
}
