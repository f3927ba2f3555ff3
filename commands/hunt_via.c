/*
 * heddle hunt --via: the runs are hunts of their own, which others start: GNU parallel, or Slurm.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "hunt.h"

/* The command line of a hunt for so many runs, for a shell: what stands before its seed, and what after. */
struct line {
	char *before, *after;
};

static struct line hunt_line(unsigned long runs)
{
	struct words w = { .count = 0 };
	char self[PATH_ROOM];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = 0;
	add_word(&w, "%s", self);
	add_word(&w, "hunt");
	add_word(&w, "--runs=%lu", runs);
	add_word(&w, "--jobs=1");
	add_word(&w, "--timeout=%g", h.timeout);
	if (h.expect)
		add_word(&w, "--expect=%s", h.expect);
	if (h.refuse)
		add_word(&w, "--refuse=%s", h.refuse);
	add_common(&w, h.output);
	add_word(&w, h.no_chaos ? "--no-chaos" : "--chaos=");
	w.list[w.count] = NULL;
	return (struct line){ quote_for_shell(w.list), quote_for_shell(h.argv) };
}

/* ---- GNU parallel --------------------------------------------------------------------------------- */

/* In the child: each text of its input is a command, and the first hunt that ends with 0 ends them all. */
static void become_parallel(int hunts)
{
	struct words w = { .count = 0 };

	add_word(&w, "parallel");
	add_word(&w, "--null");
	add_word(&w, "--halt=now,success=1");
	add_word(&w, "--jobs=%ld", h.jobs);
	w.list[w.count] = NULL;
	sigprocmask(SIG_SETMASK, &h.before, NULL);
	dup2(hunts, 0);
	setenv("PARALLEL_SHELL", "/bin/sh", 1); /* the words are quoted for it */
	execvp("parallel", w.list);
	die("GNU parallel does not start: %s; install it (`apt-get install parallel`), or hunt without --via",
	    strerror(errno));
}

/* In another child: hunts without end, or as many as runs were asked for. They are no arguments of parallel's, where
   "{}" and ":::" mean something. */
static void write_hunts(int to)
{
	FILE *out = fdopen(to, "w");
	struct line line = hunt_line(1);
	char seed[16] = "";

	for (unsigned long run = 1; out && (h.runs < 0 || run <= (unsigned long)h.runs); run++) {
		if (!h.no_chaos)
			snprintf(seed, sizeof seed, "%u", seed_of(run));
		fprintf(out, "%s%s -- %s%c", line.before, seed, line.after, 0);
	}
	_exit(out && !fclose(out) ? 0 : EXIT_CANNOT);
}

/* How parallel ended: 0 if a hunt did, up to 101 if none was lucky. */
static int parallel_status(int status)
{
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (h.interrupted)
		return again_die_of(h.interrupted, &h.before);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CANNOT)
		return EXIT_CANNOT;
	if (!over() && (!WIFEXITED(status) || WEXITSTATUS(status) > 101))
		die("GNU parallel failed (%s); its message is above", status_text(status));
	if (!h.quiet)
		note("given up after %s: no run failed", elapsed_text());
	return NOTHING_FOUND;
}

int hunt_by_parallel(void)
{
	int hunts[2], status = 0;

	if (pipe2(hunts, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	fflush(NULL);
	pid_t writer = fork();
	if (!writer)
		write_hunts(hunts[1]);
	close(hunts[1]);
	pid_t pid = fork();
	if (!pid)
		become_parallel(hunts[0]);
	close(hunts[0]);
	if (writer < 0 || pid < 0)
		die("fork: %s", strerror(errno));
	while (!waitpid(pid, &status, WNOHANG)) {
		if (over()) /* the first time it starts no more, the second time it ends those that run */
			kill(pid, SIGTERM);
		wait_a_little();
	}
	kill(writer, SIGKILL);
	nest_remove();
	return parallel_status(status);
}

/* ---- Slurm ------------------------------------------------------------------------------------------ */

/*
 * An array of jobs, each of which hunts for some runs; the first that finds something leaves a file `found-N` in the
 * nest and cancels the others. What they print is in `task-N`.
 */
enum { TASKS_MAX = 1000 }; /* Slurm's own limit is 1001, if nobody has changed it */

static unsigned long slurm_tasks(void)
{
	return (unsigned long)h.runs < TASKS_MAX ? (unsigned long)h.runs : TASKS_MAX;
}

static unsigned long runs_of_task(void)
{
	return ((unsigned long)h.runs + slurm_tasks() - 1) / slurm_tasks();
}

static void write_script(const char *path)
{
	struct line line = hunt_line(runs_of_task());
	FILE *to = fopen(path, "we");

	if (!to)
		die("%s: %s", path, strerror(errno));
	fprintf(to, "#!/bin/sh\nseed=$((%u + (SLURM_ARRAY_TASK_ID - 1) * %lu))\n", seed_of(1), runs_of_task());
	fprintf(to, "%s%s -- %s || exit\n", line.before, h.no_chaos ? "" : "$seed", line.after);
	fprintf(to, ": >%s/found-$SLURM_ARRAY_TASK_ID\n", quote_for_shell((char *[]){ (char *)h.nest, NULL }));
	fputs("scancel \"$SLURM_ARRAY_JOB_ID\"\n", to);
	if (fclose(to))
		die("%s: %s", path, strerror(errno));
}

static void become_sbatch(const char *script, int job_id)
{
	struct words w = { .count = 0 };

	add_word(&w, "sbatch");
	add_word(&w, "--wait");
	add_word(&w, "--parsable");
	add_word(&w, "--job-name=heddle-hunt");
	if (h.jobs_given)
		add_word(&w, "--array=1-%lu%%%ld", slurm_tasks(), h.jobs);
	else
		add_word(&w, "--array=1-%lu", slurm_tasks());
	add_word(&w, "--output=%s/task-%%a", h.nest);
	add_word(&w, "%s", script);
	w.list[w.count] = NULL;
	sigprocmask(SIG_SETMASK, &h.before, NULL);
	dup2(job_id, 1);
	execvp("sbatch", w.list);
	warn("Slurm's sbatch does not start: %s; is this a machine of a Slurm cluster?", strerror(errno));
	_exit(EXIT_CANNOT);
}

/* "1234" or "1234;cluster", as sbatch has printed it; "": it has not. */
static void read_job(const char *path, char id[64])
{
	FILE *from = fopen(path, "re");

	if (!from || fscanf(from, "%63[0-9]", id) != 1)
		*id = 0;
	if (from)
		fclose(from);
}

static void cancel(const char *path)
{
	char id[64];

	read_job(path, id);
	pid_t pid = *id ? fork() : -1;
	if (!pid) {
		execlp("scancel", "scancel", id, (char *)NULL);
		_exit(EXIT_CANNOT);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* What the task has printed that found something, which says where the recording is. */
static bool show_found(void)
{
	char path[PATH_ROOM + 64], text[4096];
	bool found = false;

	for (unsigned long task = 1; task <= slurm_tasks(); task++) {
		snprintf(path, sizeof path, "%s/found-%lu", h.nest, task);
		if (access(path, F_OK))
			continue;
		found = true;
		snprintf(path, sizeof path, "%s/task-%lu", h.nest, task);
		FILE *from = fopen(path, "re");
		for (size_t n; from && (n = fread(text, 1, sizeof text, from));)
			fwrite(text, 1, n, stderr);
		if (from)
			fclose(from);
	}
	return found;
}

int hunt_by_slurm(void)
{
	char script[PATH_ROOM + 16], job[PATH_ROOM + 16], id[64];
	int status = 0;
	bool cancelled = false;

	snprintf(script, sizeof script, "%s/script", h.nest);
	snprintf(job, sizeof job, "%s/job", h.nest);
	write_script(script);
	int job_id = open(job, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	fflush(NULL);
	pid_t pid = fork();
	if (!pid)
		become_sbatch(script, job_id);
	if (job_id < 0 || pid < 0)
		die("the job cannot be started: %s", strerror(errno));
	close(job_id);
	while (!waitpid(pid, &status, WNOHANG)) {
		if (over() && !cancelled) {
			cancel(job);
			cancelled = true;
		}
		wait_a_little();
	}
	read_job(job, id);
	if (!*id)
		die("sbatch has started no job (%s); its message is above", status_text(status));
	bool found = show_found();
	nest_remove();
	if (h.interrupted)
		return again_die_of(h.interrupted, &h.before);
	if (!found && !h.quiet)
		note("given up after %s: no run of Slurm job %s failed", elapsed_text(), id);
	return found ? 0 : NOTHING_FOUND;
}
