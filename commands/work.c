/*
 * Directories for work, in TMPDIR: heddle-XXXXXX. Whoever made one holds a lock on the file `owner` in it, and removes
 * it in the end. One who was killed could not: the next heddle that makes one finds that nobody holds the lock, and
 * removes it.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "commands.h"

#define PREFIX "heddle-"

static const char *place(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && *tmp ? tmp : "/tmp";
}

/* The file, open and locked; -1: it cannot be, or it is gone by now. */
static int lock_owner(const char *dir, int flags)
{
	char path[PATH_ROOM + 16];
	struct stat here, there;

	snprintf(path, sizeof path, "%s/owner", dir);
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	if (fd < 0)
		return -1;
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &here) && !lstat(path, &there) && here.st_ino == there.st_ino &&
	    here.st_uid == geteuid())
		return fd;
	close(fd);
	return -1;
}

static bool is_ours(const char *name)
{
	size_t n = strlen(PREFIX);

	if (strncmp(name, PREFIX, n) || strlen(name) != n + 6)
		return false;
	while (isalnum((unsigned char)name[n]))
		n++;
	return !name[n];
}

/* Those without the file are not ours, or were made just now. */
static void remove_left(void)
{
	DIR *names = opendir(place());
	char path[PATH_ROOM];
	struct dirent *item;
	struct stat st;

	while (names && (item = readdir(names))) {
		if (!is_ours(item->d_name) ||
		    snprintf(path, sizeof path, "%s/%s", place(), item->d_name) >= PATH_ROOM - 64 || lstat(path, &st) ||
		    !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
			continue;
		int fd = lock_owner(path, 0);
		if (fd < 0)
			continue;
		remove_all(path);
		close(fd);
	}
	if (names)
		closedir(names);
}

/* Between mkdtemp() and the lock somebody else's remove_left() may come: then once more. The lock lasts as long as
   heddle. */
void work_make(char dir[PATH_ROOM])
{
	char path[PATH_ROOM], real[PATH_MAX];

	remove_left();
	for (int tries = 0; tries < 10; tries++) {
		if (snprintf(path, sizeof path, "%s/" PREFIX "XXXXXX", place()) >= PATH_ROOM - 64)
			die("TMPDIR is too long a path");
		if (!mkdtemp(path))
			die("%s: a directory for the unpacked trace cannot be made: %s; set TMPDIR", path,
			    strerror(errno));
		if (lock_owner(path, O_CREAT) < 0)
			continue;
		if (!realpath(path, real) || strlen(real) >= PATH_ROOM - 64)
			die("%s: %s", path, strerror(errno));
		strcpy(dir, real);
		return;
	}
	die("%s: a directory for the unpacked trace cannot be locked: %s; set TMPDIR", path, strerror(errno));
}
