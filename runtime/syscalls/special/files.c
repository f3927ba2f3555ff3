/*
 * Descriptors that reach the original stdout and stderr are followed here, and
 * the names by which a program finds itself lead to the program, not the loader.
 */
#include "runtime/syscalls/special/special.h"
#include "runtime/runtime.h"
#include <linux/fcntl.h>
#include <linux/stat.h>

bool is_zero_device(int fd)
{
	struct statx st;
	memset(&st, 0, sizeof st);
	SYS5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st);
	return (st.stx_mode & S_IFMT) == S_IFCHR && st.stx_rdev_major == 1 && st.stx_rdev_minor == 5;
}

/* The path argument's text in `to`, or an empty one. */
static void take_path(uint64_t user, char *to, size_t room)
{
	long n = user ? user_strlen((char *)user, room - 1) : -1;
	if (n > 0)
		memcpy(to, (void *)user, (size_t)n);
	to[n > 0 ? n : 0] = 0;
}

bool names_own_exe(const char *path)
{
	if (!strcmp(path, "/proc/self/exe") || !strcmp(path, "/proc/thread-self/exe"))
		return true;
	if (strncmp(path, "/proc/", 6))
		return false;
	const char *p = path + 6;
	return parse_number(&p) == process_id && !strcmp(p, "/exe");
}

/* /dev/stdout, /dev/fd/N, /proc/self/fd/N: the descriptor meant, or -1. */
static long named_descriptor(const char *path)
{
	static const char *const prefixes[] = { "/dev/fd/", "/proc/self/fd/" };
	if (!strcmp(path, "/dev/stdout"))
		return 1;
	if (!strcmp(path, "/dev/stderr"))
		return 2;
	for (unsigned i = 0; i < COUNT(prefixes); i++) {
		size_t n = strlen(prefixes[i]);
		if (strncmp(path, prefixes[i], n))
			continue;
		const char *p = path + n;
		uint64_t fd = parse_number(&p);
		return *p || p == path + n ? -1 : (long)fd;
	}
	return -1;
}

static unsigned path_argument(const struct call *c)
{
	return c->row->args[0] == 's' ? 0 : 1;
}

void special_open(struct call *c)
{
	char path[PATH_ROOM];
	unsigned arg = path_argument(c);
	if (replaying) {
		call_run(c);
		return;
	}
	take_path(c->args[arg], path, sizeof path);
	if (!exe_link_set && names_own_exe(path)) {
		if (c->t->hooked)
			order_take_inputs(c); /* or it would do so later, and put its copy there */
		c->real[arg] = (uint64_t)program_path;
	}
	long fd = named_descriptor(path);
	call_run(c);
	if (!c->restart && c->result >= 0)
		shown_set(c->t->process, (uint64_t)c->result, fd >= 0 ? shown_class(c->t->process, (uint64_t)fd) : 0);
}

void special_readlink(struct call *c)
{
	char path[64];
	unsigned arg = path_argument(c);
	if (!replaying && !exe_link_set) {
		take_path(c->args[arg], path, sizeof path);
		if (names_own_exe(path)) {
			uint64_t n = MIN(strlen(program_path), c->args[arg + 2]);
			call_begin(c);
			call_inputs(c);
			call_block(c, BLOCK_OUT, arg + 1, c->args[arg + 1], (uint32_t)n, program_path);
			c->result = user_copy((void *)c->args[arg + 1], program_path, n) ? -EFAULT : (long)n;
			call_end(c);
			return;
		}
	}
	call_run(c);
}

void special_close(struct call *c)
{
	call_run(c);
	shown_set(c->t->process, c->args[0], 0);
}

void special_close_range(struct call *c)
{
	call_run(c);
	if (c->result == 0 && !(c->args[2] & 4 /* CLOSE_RANGE_CLOEXEC */))
		for (uint64_t fd = c->args[0]; fd <= c->args[1] && fd < COUNT(c->t->process->shown); fd++)
			shown_set(c->t->process, fd, 0);
}

void special_dup(struct call *c)
{
	call_run(c);
	if (!c->restart && c->result >= 0)
		shown_set(c->t->process, (uint64_t)c->result, shown_class(c->t->process, c->args[0]));
}

void special_fcntl(struct call *c)
{
	call_run(c);
	if (!c->restart && c->result >= 0 && (c->args[1] == F_DUPFD || c->args[1] == F_DUPFD_CLOEXEC))
		shown_set(c->t->process, (uint64_t)c->result, shown_class(c->t->process, c->args[0]));
}
