/*
 * Where traces live: the user's directory of traces, the names in it, `latest`.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "commands.h"

const char *home_directory(void)
{
	static char path[PATH_ROOM];
	const char *named = getenv("HEDDLE_TRACE_DIR");
	const char *data = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");

	if (named && *named) {
		/* absolute, because recorded programs change their directory */
		if (*named == '/' || !getcwd(path, sizeof path))
			*path = 0;
		else
			strncat(path, "/", sizeof path - strlen(path) - 1);
		strncat(path, named, sizeof path - strlen(path) - 1);
	} else if (data && *data == '/')
		snprintf(path, sizeof path, "%s/heddle", data);
	else {
		struct passwd *me = home && *home ? NULL : getpwuid(getuid());
		if (me)
			home = me->pw_dir;
		snprintf(path, sizeof path, "%s/.local/share/heddle", home && *home ? home : "/tmp");
	}
	return path;
}

int make_directories(const char *path)
{
	char part[PATH_ROOM];

	if (strlen(path) >= sizeof part) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (const char *end = path; *end;) {
		end = end + 1 + strcspn(end + 1, "/");
		memcpy(part, path, (size_t)(end - path));
		part[end - path] = 0;
		if (mkdir(part, 0700) && errno != EEXIST) {
			struct stat st; /* read-only roots answer EROFS for what is there */
			if (stat(part, &st))
				return -1;
		}
	}
	return 0;
}

/* The largest N among NAME-N, so that numbers grow with time although traces are removed. */
static unsigned long last_number(const char *home, const char *name)
{
	DIR *dir = opendir(home);
	struct dirent *item;
	unsigned long last = 0;
	size_t n = strlen(name);
	char *end;

	while (dir && (item = readdir(dir)))
		if (!strncmp(item->d_name, name, n) && item->d_name[n] == '-') {
			unsigned long number = strtoul(item->d_name + n + 1, &end, 10);
			if (!*end && number > last && number < ULONG_MAX)
				last = number;
		}
	if (dir)
		closedir(dir);
	return last;
}

/* By rename, so that a reader finds the old one or the new one. */
void home_point_latest(const char *path)
{
	const char *home = home_directory(), *name = strrchr(path, '/') + 1;
	char link[PATH_ROOM + 16], new[PATH_ROOM + 32];

	snprintf(link, sizeof link, "%s/latest", home);
	snprintf(new, sizeof new, "%s/.latest-%d", home, (int)getpid());
	unlink(new);
	if (symlink(name, new) || rename(new, link))
		warn("%s: cannot be updated: %s", link, strerror(errno));
}

void home_make(char home[PATH_ROOM])
{
	strcpy(home, home_directory());
	if (make_directories(home))
		die("%s: cannot be made: %s; choose another place with HEDDLE_TRACE_DIR or -o", home, strerror(errno));
}

void home_new_trace(const char *program, char path[PATH_ROOM])
{
	const char *slash = strrchr(program, '/');
	char home[PATH_ROOM], name[256];

	home_make(home);
	snprintf(name, sizeof name, "%.200s", slash ? slash + 1 : program);
	for (unsigned long n = last_number(home, name) + 1;; n++) {
		if (snprintf(path, PATH_ROOM, "%s/%s-%lu", home, name, n) >= PATH_ROOM)
			die("%s: this path is too long; use -o", home);
		if (!mkdir(path, 0700)) /* another recording may take the same number: one wins */
			break;
		if (errno != EEXIST)
			die("%s: cannot be made: %s; choose another place with HEDDLE_TRACE_DIR or -o", path,
			    strerror(errno));
	}
}

void home_find_sites(struct control *c)
{
	snprintf(c->sites, sizeof c->sites, "%s/" CACHE_NAME, home_directory());
	if (access(c->sites, W_OK))
		*c->sites = 0;
}

/* Other programs have files of that name, too. One that is damaged is a trace's if there is a log. */
static bool is_our_meta(const char *path, const char *dir)
{
	char start[64] = "", log[PATH_ROOM + 16];
	FILE *f = fopen(path, "re");

	if (f && fread(start, 1, sizeof start - 1, f) && strstr(start, "\"heddle\": \"trace\"")) {
		fclose(f);
		return true;
	}
	if (f)
		fclose(f);
	snprintf(log, sizeof log, "%s/p0.t0.log", dir);
	return !access(log, F_OK);
}

bool is_trace(const char *path)
{
	char part[PATH_ROOM + 16];
	struct stat st;

	snprintf(part, sizeof part, "%s/meta.json", path);
	if (!lstat(part, &st) && S_ISREG(st.st_mode) && is_our_meta(part, path))
		return true;
	snprintf(part, sizeof part, "%s/control", path); /* killed in its first milliseconds */
	return !lstat(part, &st) && S_ISREG(st.st_mode) && st.st_size == CONTROL_SIZE;
}

void home_find_trace(const char *named, char path[PATH_ROOM])
{
	char guess[PATH_ROOM + 512], real[PATH_MAX];
	struct stat st;

	if (named && (strchr(named, '/') || !stat(named, &st)))
		snprintf(guess, sizeof guess, "%s", named);
	else
		snprintf(guess, sizeof guess, "%s/%.300s", home_directory(), named ? named : "latest");
	if (!realpath(guess, real)) {
		if (!named && errno == ENOENT)
			die("there is no latest trace in %s; record one with `heddle record PROGRAM`",
			    home_directory());
		if (errno == ENOENT && !strchr(named ? named : "/", '/'))
			die("no trace %s here or in %s; `heddle ls` lists them", named, home_directory());
		die("%s: %s", guess, strerror(errno));
	}
	if (stat(real, &st) || !S_ISDIR(st.st_mode))
		die("%s is not a directory, so not a trace; `heddle ls` lists traces", real);
	if (!is_trace(real))
		die("%s is not a trace: no meta.json is in it", real);
	snprintf(path, PATH_ROOM, "%s", real);
}

/* ---- whole directories ----------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

int remove_all(const char *path)
{
	return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static uint64_t used;

static int add_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)path, (void)where;
	if (kind == FTW_F || kind == FTW_D)
		used += (uint64_t)st->st_blocks * 512;
	return 0;
}

uint64_t disk_use(const char *path)
{
	used = 0;
	nftw(path, add_one, 16, FTW_PHYS | FTW_MOUNT);
	return used;
}
