/*
 * What libc reads or writes in the program's memory beside a section or a system call of its own: times, ids, names.
 * Nobody may hold memory meanwhile. So libc gets copies.
 */
#define _GNU_SOURCE
#include "compiler/replaced.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#define BOTH(type, name, ...)                \
	type __replaced_##name(__VA_ARGS__); \
	type __theirs_##name(__VA_ARGS__);

/* ---- times ------------------------------------------------------------------------------------------------------- */

struct tm *__replaced_localtime(const time_t *time);
struct tm *__replaced_gmtime(const time_t *time);
char *__replaced_asctime(const struct tm *tm);
char *__replaced_ctime(const time_t *time);
char *__replaced_ctime_r(const time_t *time, char *to);

#define BREAK_DOWN(name)                                                \
	BOTH(struct tm *, name, const time_t *time, struct tm *to)      \
	struct tm *__replaced_##name(const time_t *time, struct tm *to) \
	{                                                               \
		time_t copy = *time;                                    \
		struct tm tm;                                           \
		if (!__theirs_##name(&copy, &tm))                       \
			return NULL;                                    \
		*to = tm;                                               \
		return to;                                              \
	}

BREAK_DOWN(localtime_r)
BREAK_DOWN(gmtime_r)

/* What these two return is one place for the whole program, as libc's is. */
__attribute__((weak)) struct tm __heddle_broken_down;
__attribute__((weak)) char __heddle_time_text[128];

struct tm *__replaced_localtime(const time_t *time)
{
	tzset();
	return __replaced_localtime_r(time, &__heddle_broken_down);
}

struct tm *__replaced_gmtime(const time_t *time)
{
	return __replaced_gmtime_r(time, &__heddle_broken_down);
}

/* As libc: years of any length, and question marks for a day or month that cannot be. */
char *__replaced_asctime(const struct tm *tm)
{
	static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm t;

	if (!tm) {
		errno = EINVAL;
		return NULL;
	}
	t = *tm;
	if (t.tm_year > INT_MAX - 1900) {
		errno = EOVERFLOW;
		return NULL;
	}
	snprintf(__heddle_time_text, sizeof __heddle_time_text, "%.3s %.3s%3d %.2d:%.2d:%.2d %d\n",
		 (unsigned)t.tm_wday < 7 ? days + 3 * t.tm_wday : "???",
		 (unsigned)t.tm_mon < 12 ? months + 3 * t.tm_mon : "???", t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
		 1900 + t.tm_year);
	return __heddle_time_text;
}

char *__replaced_ctime(const time_t *time)
{
	return __replaced_asctime(__replaced_localtime(time));
}

char *__replaced_ctime_r(const time_t *time, char *to)
{
	struct tm tm;

	return asctime_r(__replaced_localtime_r(time, &tm), to);
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

#define SPAWN(name)                                                                                             \
	BOTH(int, name, pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,                \
	     const posix_spawnattr_t *attributes, char *const *args, char *const *environment)                  \
	int __replaced_##name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,          \
			      const posix_spawnattr_t *attributes, char *const *args, char *const *environment) \
	{                                                                                                       \
		pid_t own;                                                                                      \
		int error = __theirs_##name(&own, path, actions, attributes, args, environment);                \
		if (!error && pid)                                                                              \
			*pid = own;                                                                             \
		return error;                                                                                   \
	}

SPAWN(posix_spawn)
SPAWN(posix_spawnp)

BOTH(int, sigwait, const sigset_t *set, int *sig)
BOTH(int, timer_create, clockid_t clock, struct sigevent *event, timer_t *timer)

int __replaced_sigwait(const sigset_t *set, int *sig)
{
	int own, error = __theirs_sigwait(set, &own);

	if (!error)
		*sig = own;
	return error;
}

int __replaced_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	struct sigevent copy;
	timer_t own;

	if (event)
		copy = *event;
	int result = __theirs_timer_create(clock, event ? &copy : NULL, &own);
	if (!result)
		*timer = own;
	return result;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

BOTH(int, gethostname, char *to, size_t room)
BOTH(LARGE char *, realpath, const char *path, char *to)

int __replaced_gethostname(char *to, size_t room)
{
	char own[HOST_NAME_MAX + 2] = { 0 };
	size_t most = room < sizeof own ? room : sizeof own;
	int result = __theirs_gethostname(own, most);

	size_t n = strnlen(own, most); /* also of a name that is too long, as far as it goes */
	if (!result || errno == ENAMETOOLONG)
		memcpy(to, own, n < most ? n + 1 : n);
	return result;
}

char *__replaced_realpath(const char *path, char *to)
{
	char small[SMALL], own[PATH_MAX] = { 0 };

	if (!path)
		return __theirs_realpath(path, to);
	size_t n = strlen(path);
	ROOM(copy, n + 1, small);
	if (!copy.at)
		return NULL;
	memcpy(copy.at, path, n);
	copy.at[n] = 0;
	if (!to)
		return __theirs_realpath(copy.at, NULL);
	char *found = __theirs_realpath(copy.at, own);
	if (*own) /* also what cannot be resolved, as far as it goes */
		memcpy(to, own, strlen(own) + 1);
	return found ? to : NULL;
}

/* With room for the longest name, or it is a fault of the program's. */
char *__replaced___realpath_chk(const char *path, char *to, size_t room);

char *__replaced___realpath_chk(const char *path, char *to, size_t room)
{
	if (room < PATH_MAX)
		__chk_fail();
	return __replaced_realpath(path, to);
}

int __replaced___gethostname_chk(char *to, size_t size, size_t room);

int __replaced___gethostname_chk(char *to, size_t size, size_t room)
{
	if (size > room)
		__chk_fail();
	return __replaced_gethostname(to, size);
}

/* The program's template is only changed where its six X are, and only if there are any. */
static bool copy_template(char small[PATH_MAX], const char *template)
{
	size_t n = strlen(template) + 1;

	if (n > PATH_MAX)
		return false;
	memcpy(small, template, n);
	small[n - 1] = 0;
	return true;
}

static void give_template(char *template, const char *copy)
{
	memcpy(template, copy, strlen(copy) + 1);
}

#define TEMPLATE(type, name, failed, given, ...)       \
	BOTH(LARGE type, name, __VA_ARGS__)            \
	type __replaced_##name(__VA_ARGS__)            \
	{                                              \
		char copy[PATH_MAX], *own = template;  \
		if (copy_template(copy, template))     \
			own = copy;                    \
		type result = __theirs_##name given;   \
		if (own == copy && result != (failed)) \
			give_template(template, copy); \
		return result;                         \
	}

TEMPLATE(int, mkstemp, -1, (own), char *template)
TEMPLATE(int, mkostemp, -1, (own, flags), char *template, int flags)
TEMPLATE(int, mkstemps, -1, (own, suffix), char *template, int suffix)
TEMPLATE(int, mkostemps, -1, (own, suffix, flags), char *template, int suffix, int flags)

BOTH(LARGE char *, mkdtemp, char *template)

char *__replaced_mkdtemp(char *template)
{
	char copy[PATH_MAX];

	if (!copy_template(copy, template))
		return __theirs_mkdtemp(template);
	if (!__theirs_mkdtemp(copy))
		return NULL;
	give_template(template, copy);
	return template;
}

/* ---- how long to wait: the sets themselves are the kernel's to read ---------------------------------------------- */

BOTH(int, select, int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *limit)
BOTH(int, pselect, int count, fd_set *read, fd_set *write, fd_set *except, const struct timespec *limit,
     const sigset_t *mask)
BOTH(int, ppoll, struct pollfd *list, nfds_t count, const struct timespec *limit, const sigset_t *mask)

int __replaced_select(int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *limit)
{
	struct timeval left;

	if (!limit)
		return __theirs_select(count, read, write, except, NULL);
	left = *limit;
	int result = __theirs_select(count, read, write, except, &left);
	*limit = left;
	return result;
}

int __replaced_pselect(int count, fd_set *read, fd_set *write, fd_set *except, const struct timespec *limit,
		       const sigset_t *mask)
{
	struct timespec copy;

	if (limit)
		copy = *limit;
	return __theirs_pselect(count, read, write, except, limit ? &copy : NULL, mask);
}

int __replaced_ppoll(struct pollfd *list, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
	struct timespec copy;

	if (limit)
		copy = *limit;
	return __theirs_ppoll(list, count, limit ? &copy : NULL, mask);
}
