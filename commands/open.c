/*
 * Opening a trace. Every verb that reads one comes through here, so that a
 * recording whose heddle was killed is finished by whoever looks at it first:
 * rings are packed, meta.json gets its list, and the end is "unknown".
 *
 * Who is at work in a trace holds a lock on its `control` file. A lock and not a
 * process id, since ids are used again.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "meta.h"

/* Opens control and tries to lock it. -1: it is not there. */
static int lock_control(const char *dir, struct control *copy, bool *locked)
{
	char path[PATH_ROOM + 16];

	snprintf(path, sizeof path, "%s/control", dir);
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno != ENOENT)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -1;
	*locked = !flock(fd, LOCK_EX | LOCK_NB);
	memset(copy, 0, sizeof *copy);
	if (pread(fd, copy, sizeof *copy, 0) != sizeof *copy || copy->magic != CONTROL_MAGIC)
		copy->magic = 0;
	return fd;
}

/* Somebody else has the lock: who recorded, or, if that one is gone, who finishes what it left. */
static enum recording who_has_lock(const struct control *control)
{
	bool gone = control->magic && kill((pid_t)control->heddle_pid, 0) && errno == ESRCH;

	return gone ? BEING_FINISHED : BEING_RECORDED;
}

static enum recording look(const char *dir, unsigned *pid)
{
	struct control *copy = malloc(sizeof *copy);
	bool locked = true;
	int fd = copy ? lock_control(dir, copy, &locked) : -1;
	enum recording now = locked ? NOT_RECORDING : who_has_lock(copy);

	if (fd >= 0) {
		*pid = copy->heddle_pid;
		close(fd);
	}
	free(copy);
	return now;
}

enum recording recording_now(const char *dir)
{
	unsigned pid;

	return look(dir, &pid);
}

static void refuse(const char *dir, enum recording now, unsigned pid)
{
	if (now == BEING_FINISHED)
		die("%s is being finished by another heddle, since the one that recorded it (process %u) was killed: "
		    "wait until it ends",
		    dir, pid);
	die("%s is still being recorded by heddle (process %u): wait until it ends", dir, pid);
}

void need_nobody_writes(const char *dir)
{
	unsigned pid = 0;
	enum recording now = look(dir, &pid);

	if (now != NOT_RECORDING)
		refuse(dir, now, pid);
}

/* ---- processes that outlived their heddle -------------------------------------------- */

static bool maps_trace(const char *pid, const char *dir)
{
	char path[300], line[PATH_ROOM + 200];
	size_t n = strlen(dir);
	bool found = false;

	snprintf(path, sizeof path, "/proc/%s/maps", pid);
	FILE *maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof line, maps)) {
		const char *name = strchr(line, '/');
		found = name && !strncmp(name, dir, n) && name[n] == '/' &&
			(!strncmp(name + n, "/control", 8) || strstr(name + n, ".ring"));
	}
	if (maps)
		fclose(maps);
	return found;
}

/* A process that still has a ring of this trace in its memory, or 0. */
static int still_writing(const char *dir)
{
	DIR *proc = opendir("/proc");
	struct dirent *item;
	int pid = 0;

	while (proc && !pid && (item = readdir(proc)))
		if (*item->d_name >= '1' && *item->d_name <= '9' && maps_trace(item->d_name, dir))
			pid = atoi(item->d_name);
	if (proc)
		closedir(proc);
	return pid;
}

/* They end by themselves when they notice that heddle is gone. */
static void wait_for_writers(const char *dir)
{
	int pid = 0;

	for (int i = 0; i < 40 && (pid = still_writing(dir)); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	if (pid)
		die("%s: process %d of this recording still runs, without its heddle; end it first (kill %d)", dir, pid,
		    pid);
}

/* ---- finishing ------------------------------------------------------------------------ */

/* How the program ended, if heddle was killed only after that. */
static uint32_t known_end(const struct control *control)
{
	uint32_t status = control->root_status;
	bool possible = WIFEXITED(status) ? status <= 0xff00 : WIFSIGNALED(status) && status <= 0xff;

	return control->magic && !control->stop && possible ? status : STATUS_UNKNOWN;
}

static void finish(struct meta *meta, const struct control *control)
{
	struct trace_packer *packer = trace_packer_new();
	struct trace_problem problem;

	if (!packer)
		die("not enough memory to finish %s", meta->dir);
	if (trace_finish_rings(meta->dir, packer, AT_THE_END, &problem) || ring_settle(meta->dir, &problem) ||
	    meta_finish(meta, known_end(control), control->magic ? control : NULL, &problem)) {
		if (problem.error)
			die("%s (while finishing this recording, whose heddle was killed; if its disk is full or "
			    "read-only, copy the directory elsewhere)",
			    problem.text);
		die("%s", problem.text);
	}
	trace_packer_free(packer);
}

static void recover(struct meta *meta, const char *dir)
{
	struct control *control = calloc(1, sizeof *control);
	bool locked = true;
	int fd = control ? lock_control(dir, control, &locked) : -1;

	if (!control)
		die("not enough memory");
	if (!locked)
		refuse(dir, who_has_lock(control), control->heddle_pid);
	meta_load(meta, dir); /* again: another heddle may have finished it before we had the lock */
	if (!meta->finished) {
		wait_for_writers(dir);
		finish(meta, control);
	}
	char path[PATH_ROOM + 16];
	snprintf(path, sizeof path, "%s/control", dir);
	if (fd >= 0) {
		unlink(path); /* before the lock goes */
		close(fd);
	}
	free(control);
}

void open_trace(struct meta *meta, const char *named)
{
	char dir[PATH_ROOM], control[PATH_ROOM + 16];
	struct stat st;

	home_find_trace(named, dir);
	snprintf(control, sizeof control, "%s/control", dir);
	meta_load(meta, dir);
	if (meta->finished && lstat(control, &st)) /* there: its heddle died just before the end */
		return;
	meta_free(meta);
	recover(meta, dir);
}
