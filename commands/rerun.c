/*
 * A replay of its own for those who want to know more than the trace holds: a `heddle replay --watch` that leaves what
 * it sees in a directory (trace/watched.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "meta.h"

static char made[PATH_ROOM];

void rerun_done(void)
{
	if (*made)
		remove_all(made);
	*made = 0;
}

void rerun_prepare(char dir[PATH_ROOM])
{
	work_make(dir);
	strcpy(made, dir);
	on_death(rerun_done);
}

static void become_replay(const struct meta *meta, const char *watch, const char *dir)
{
	char watches[64], work_dir[PATH_ROOM + 32];

	snprintf(watches, sizeof watches, "--watch=%s", watch);
	snprintf(work_dir, sizeof work_dir, "--work-dir=%s", dir);
	execl("/proc/self/exe", "heddle", "replay", "--quiet", watches, work_dir, "--", meta->dir, (char *)NULL);
	_exit(EXIT_CANNOT);
}

void rerun(const struct meta *meta, const char *watch, const char *dir)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		die("no process for the replay: %s", strerror(errno));
	if (!pid)
		become_replay(meta, watch, dir);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* unless that is how the program itself had ended */
	if (WIFEXITED(status) && (WEXITSTATUS(status) == EXIT_DIVERGED || WEXITSTATUS(status) == EXIT_CANNOT) &&
	    (uint32_t)status != meta->status)
		die("the replay that was to tell more did not come to its end; see above");
}

void *rerun_read(const char *dir, const char *name, size_t *size)
{
	char path[PATH_ROOM + 64];
	struct stat st;
	size_t got = 0;

	*size = 0;
	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	char *data = fstat(fd, &st) ? NULL : malloc((size_t)st.st_size + 1);
	if (!data)
		die("%s: %s", path, strerror(errno));
	for (ssize_t n; got < (size_t)st.st_size && (n = read(fd, data + got, (size_t)st.st_size - got)) > 0;)
		got += (size_t)n;
	close(fd);
	*size = got;
	return data;
}
