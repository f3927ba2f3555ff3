/*
 * Replay: long streams are unpacked while the program runs, a window at a time.
 *
 * Unpacked as a whole they would take as much memory, or disk, as the recording has bytes, and most of the time of a
 * replay: pages that nobody used before are dear. A window of a few MiB stays in the caches. What is unpacked was
 * checked before the program started, by trace_check().
 *
 * The order log of a thread is read at a pace of its own, far behind the other entries or far before them. So it is
 * unpacked by itself, from a second look at the same stream.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "commands.h"

#define LATE_LEAST (8u << 20) /* shorter streams are unpacked at once */
#define ORDER_LOOK 8 /* chunks that are looked through for entries of the order log, before others get their turn */

struct fed {
	struct late_stream *shared;
	uint8_t *window;
	struct trace_log log;
	bool order;	/* gets ENTRY_ORDER entries alone */
	uint64_t given; /* then: bytes of them so far */
};

struct feeder {
	struct control *control;
	struct fed *streams;
	size_t count;
	uint32_t end;
	pthread_t thread;
};

void late_choose(struct trace_list *list)
{
	for (size_t i = 0; i < list->nstreams; i++)
		list->streams[i].late = list->streams[i].raw > LATE_LEAST;
}

/* ---- the thread -------------------------------------------------------------------------------- */

/* As many chunks as a piece has room for, each unpacked where it belongs. 0, or -1 with the problem. */
static int fill_entries(struct fed *f, uint8_t *piece, struct trace_problem *problem)
{
	uint32_t at = 0;
	int more = 1;

	f->log.lent = true;
	f->shared->from = f->log.position;
	while (more > 0 && at + CHUNK_MAX <= LATE_PIECE) {
		f->log.raw = piece + at;
		more = trace_log_next(&f->log, problem);
		at += more > 0 ? f->log.raw_len : 0;
	}
	f->shared->end = f->log.position;
	return more < 0 ? -1 : 0;
}

/* The bytes of the order log's entries in the newest chunk, which are copied. */
static uint32_t copy_order(const struct trace_log *log, uint8_t *to)
{
	uint32_t n = 0;
	const struct entry *e;

	for (uint32_t at = 0; at < log->raw_len; at += e->size) {
		e = (const void *)(log->raw + at);
		if (e->kind != ENTRY_ORDER)
			continue;
		memcpy(to + n, e, e->size);
		n += e->size;
	}
	return n;
}

/* Of some chunks; there may be none in them. */
static int fill_order(struct fed *f, uint8_t *piece, struct trace_problem *problem)
{
	uint32_t at = 0;
	int more = 1;

	f->shared->from = f->given;
	for (unsigned i = 0; i < ORDER_LOOK && more > 0 && at + CHUNK_MAX <= LATE_PIECE; i++) {
		more = trace_log_next(&f->log, problem);
		at += more > 0 ? copy_order(&f->log, piece + at) : 0;
	}
	f->shared->end = f->given += at;
	if (!more && f->given < f->shared->size)
		return trace_damaged(problem, f->log.path, f->log.size, "it was longer a moment ago");
	return more < 0 ? -1 : 0;
}

static int fill(struct fed *f, struct trace_problem *problem)
{
	uint8_t *piece = f->window + (f->shared->given + 1) % 2 * LATE_PIECE;

	return (f->order ? fill_order : fill_entries)(f, piece, problem);
}

/* Whoever reads the stream raises `asked` and waits while `given` is less: for ever, if there is a problem, which ends
   the replay. */
static int give(struct fed *f, struct trace_problem *problem)
{
	if (__atomic_load_n(&f->shared->asked, __ATOMIC_ACQUIRE) == f->shared->given)
		return 0;
	if (fill(f, problem))
		return -1;
	__atomic_store_n(&f->shared->given, f->shared->given + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &f->shared->given, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return 0;
}

static void *run(void *with)
{
	struct feeder *feeder = with;
	struct timespec limit = { .tv_nsec = 50000000 };
	struct trace_problem problem;

	while (!__atomic_load_n(&feeder->end, __ATOMIC_ACQUIRE)) {
		uint32_t work = __atomic_load_n(&feeder->control->work, __ATOMIC_ACQUIRE); /* before the look */
		for (size_t i = 0; i < feeder->count; i++)
			if (give(&feeder->streams[i], &problem)) {
				tree_stop(feeder->control, STOP_CANNOT, "%s\n", problem.text);
				return NULL;
			}
		syscall(SYS_futex, &feeder->control->work, FUTEX_WAIT, work, &limit, NULL, 0);
	}
	return NULL;
}

/* ---- start and end ----------------------------------------------------------------------------- */

static void *make(const char *work_dir, const struct trace_stream *s, const char *kind, size_t size)
{
	char path[PATH_ROOM + 64];

	snprintf(path, sizeof path, "%s/p%u.t%u.%s", work_dir, s->image, s->slot, kind);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int error = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)size);
	if (error)
		die("%s: %s; set TMPDIR to a directory with room for it", path, strerror(error));
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	close(fd);
	return at;
}

static void open_stream(struct fed *f, const char *dir, const char *work_dir, const struct trace_stream *s, bool order)
{
	struct trace_problem problem;
	char path[PATH_ROOM + 64];

	trace_path(path, dir, s->image, s->slot);
	if (trace_log_open(&f->log, path, s->image, s->slot, &problem))
		die("%s", problem.text);
	f->order = order;
	f->window = make(work_dir, s, order ? "window-order" : "window", 2 * LATE_PIECE);
	f->shared = make(work_dir, s, order ? "late-order" : "late", 65536); /* whatever a page is */
	*f->shared = (struct late_stream){
		.size = order ? s->order : s->complete, .ops = s->ops, .accesses = s->accesses, .order = s->order
	};
}

struct feeder *late_prepare(const char *dir, const struct trace_list *list, const char *work_dir)
{
	struct feeder *feeder = calloc(1, sizeof *feeder);

	if (!feeder || (list->nstreams && !(feeder->streams = calloc(2 * list->nstreams, sizeof *feeder->streams))))
		die("not enough memory");
	for (size_t i = 0; i < list->nstreams; i++) {
		const struct trace_stream *s = &list->streams[i];
		if (s->late)
			open_stream(&feeder->streams[feeder->count++], dir, work_dir, s, false);
		if (s->late && s->order)
			open_stream(&feeder->streams[feeder->count++], dir, work_dir, s, true);
	}
	return feeder;
}

void late_start(struct feeder *feeder, struct control *control)
{
	feeder->control = control;
	if (!feeder->count)
		return;
	int error = pthread_create(&feeder->thread, NULL, run, feeder);
	if (error) {
		tree_kill();
		die("the thread that unpacks does not start: %s", strerror(error));
	}
}

void late_end(struct feeder *feeder)
{
	if (feeder->count) {
		__atomic_store_n(&feeder->end, 1, __ATOMIC_RELEASE);
		__atomic_add_fetch(&feeder->control->work, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &feeder->control->work, FUTEX_WAKE, 1, NULL, NULL, 0);
		pthread_join(feeder->thread, NULL);
	}
	for (size_t i = 0; i < feeder->count; i++) {
		trace_log_close(&feeder->streams[i].log);
		munmap(feeder->streams[i].window, 2 * LATE_PIECE);
		munmap(feeder->streams[i].shared, 65536);
	}
	free(feeder->streams);
	free(feeder);
}
