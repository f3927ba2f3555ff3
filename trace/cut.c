/*
 * Of a long log the middle is dropped (--ring): its first chunk stays, if it has the program's start in it, and the
 * chunks from another one on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <xxhash.h>
#include "trace.h"

/* What stays. */
struct cut {
	struct log_cut_header h;
	uint64_t first, first_end, rest; /* offsets */
};

/* The rest begins with the last chunk that begins at or before `position`, and with an event. */
static int find_cut(struct trace_log *log, uint64_t position, struct cut *cut, struct trace_problem *problem)
{
	for (int more;;) {
		trace_log_pass_gap(log);
		uint64_t offset = log->offset, at = log->position, events = log->events;
		bool whole = !log->state.continued;
		if (at > position || (more = trace_log_next(log, problem)) == 0)
			return 0;
		if (more < 0)
			return -1;
		if (!at && log->state.first_slot) {
			cut->first = offset;
			cut->first_end = log->offset;
			cut->h.kept = log->position;
		} else if (whole) {
			cut->rest = offset;
			cut->h.position = at;
			cut->h.events = events;
		}
	}
}

static int copy_bytes(int from, uint64_t at, uint64_t end, int to, uint64_t *offset)
{
	static char bytes[1 << 16];

	for (ssize_t n; at < end; at += (uint64_t)n, *offset += (uint64_t)n) {
		n = pread(from, bytes, end - at < sizeof bytes ? end - at : sizeof bytes, (off_t)at);
		if (n <= 0 || trace_write_all(to, bytes, (size_t)n, *offset))
			return -1;
	}
	return 0;
}

/* Its size, or 0. */
static uint64_t write_cut(const struct trace_log *log, const struct cut *cut, uint64_t end, const char *path,
			  struct trace_problem *problem)
{
	uint64_t size = sizeof cut->h;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int result = fd < 0 || trace_write_all(fd, &cut->h, sizeof cut->h, 0) ||
		     copy_bytes(log->fd, cut->first, cut->first_end, fd, &size) ||
		     copy_bytes(log->fd, cut->rest, end, fd, &size);

	if (result)
		trace_failed(problem, path, "write this log");
	if (fd >= 0 && close(fd) && !result)
		result = trace_failed(problem, path, "write this log");
	return result ? 0 : size;
}

int trace_log_cut(const char *log_path, unsigned image, unsigned slot, uint64_t position, uint64_t *end,
		  struct trace_problem *problem)
{
	char path[PATH_ROOM + 80];
	struct cut cut = { .h = { .magic = LOG_CUT_MAGIC,
				  .version = TRACE_VERSION,
				  .arch = TRACE_ARCH,
				  .image = image,
				  .slot = slot } };
	struct trace_log log;

	if (trace_log_open(&log, log_path, image, slot, problem))
		return -1;
	int result = find_cut(&log, position, &cut, problem);
	if (!result && cut.h.position > cut.h.kept) {
		cut.h.hash = XXH64(&cut.h, offsetof(struct log_cut_header, hash), 0);
		snprintf(path, sizeof path, "%s.new", log_path);
		uint64_t size = write_cut(&log, &cut, *end, path, problem);
		result = size ? 0 : -1;
		if (size && rename(path, log_path))
			result = trace_failed(problem, path, "rename this log");
		if (!result)
			*end = size;
	}
	trace_log_close(&log);
	return result;
}
