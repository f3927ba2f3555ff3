/*
 * heddle replay: checks a trace, unpacks it into a directory of its own, and lets
 * the loader run the program again from it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "findings.h"
#include "gdb.h"
#include "trace/watched.h"

static const char help[] =
	"usage: heddle replay [OPTIONS] [TRACE]\n"
	"\n"
	"Runs a recorded program again, exactly: results of system calls come from the trace, no\n"
	"input file, clock or network is touched. Shows what the program wrote to its stdout and\n"
	"stderr. TRACE is a directory or a name that `heddle ls` shows; without it, the latest.\n"
	"\n"
	"      --repeat=N  N times; says how many were exact\n"
	"      --checkpoint=THREAD:EVENT\n"
	"                  run to there once, and go on in a copy of the process; with --repeat in N\n"
	"      --quiet     do not show the program's output\n"
	"      --races     tell which accesses were in no order that the program made\n"
	"      --atomicity tell where another thread came between two accesses that belong together\n"
	"      --save=FILE  with --checkpoint: write the state to FILE, and end there\n"
	"      --from=FILE  begin at the checkpoint that --save has written to FILE\n"
	"      --json, --sarif\n"
	"                  the same as JSON or SARIF, without the program's output\n"
	"      --pid=PID   only the process that had this id\n"
	"      --image=N   only the process image p<N> (`heddle stat` lists them)\n"
	"      --gdb       under gdb, which then knows `heddle` and how to go back; words after\n"
	"                  TRACE or `--` are gdb's\n"
	"      --program=FILE\n"
	"                  take symbols of the program from FILE, which must be of the same build; what\n"
	"                  runs is the program in the trace\n"
	"      --gdb-port=N  under gdbserver, which listens on port N of this machine\n"
	"      --solve-time=SECONDS\n"
	"                  for a recording with --order=light: how long to look for a schedule\n"
	"                  (60; 0: no limit)\n"
	"\n"
	"Exits as the program did; with 123, after a description, if it left the recording; with 0\n"
	"if the recording has no end (heddle was killed) and its last event was reached; with 120 if\n"
	"--races or --atomicity has found some.\n";

struct replay {
	bool quiet, races, atomicity, json, sarif, alone;
	bool follow; /* hidden: of a recording that goes on: ring.c */
	bool grown;  /* the trace has lost its beginning, and begins at a checkpoint */
	size_t races_found;
	const char *watch, *work_dir; /* what to leave where, for another heddle: rerun.c */
	uint32_t watches;
	long repeat, pid, image, solve_time;
	char *checkpoint, *program, *save, *from;
	FILE *saved; /* what --save writes; NULL: it is there */
	unsigned checkpoint_thread;
	uint64_t checkpoint_event;
	struct meta meta;
	struct tree tree;
	struct trace_shown shown;
	struct debug_options debug;
	struct feeder *feeder;
};

/* ---- the work directory --------------------------------------------------------------- */

static char work_dir[PATH_ROOM];

static bool keep_work_dir;

static void remove_work_dir(void)
{
	if (keep_work_dir)
		return;
	if (*work_dir)
		remove_all(work_dir);
	*work_dir = 0;
}

static void make_work_dir(const char *given)
{
	if (given) {
		snprintf(work_dir, sizeof work_dir, "%s", given);
		keep_work_dir = true;
		return;
	}
	work_make(work_dir);
	on_death(remove_work_dir);
}

static void show_progress(uint64_t done, uint64_t all)
{
	end_if_interrupted();
	progress("checking and unpacking", done, all);
}

static uint64_t raw_bytes(const struct trace_list *list)
{
	uint64_t all = 0;

	for (size_t i = 0; i < list->nstreams; i++)
		all += list->streams[i].raw;
	return all;
}

static void unpack(struct replay *r)
{
	struct trace_problem problem;

	/* who goes back, or has several looks at a stream, needs all of it; and so does who looks for a schedule */
	if (!schedule_is_wanted(&r->meta) && r->repeat == 1 && !r->debug.gdb && !r->races && !r->checkpoint && !r->from)
		late_choose(&r->meta.list);
	if (!trace_check(r->meta.dir, &r->meta.list, work_dir, show_progress, &r->shown, &problem)) {
		progress_end();
		return;
	}
	if (problem.error == ENOSPC || problem.error == EDQUOT || problem.error == EFBIG)
		die("%s; the unpacked trace needs %s: set TMPDIR to a directory with that much room", problem.text,
		    size_text(raw_bytes(&r->meta.list)));
	die("%s", problem.text);
}

/* ---- which image ------------------------------------------------------------------------- */

/* How an image began; false if its stream is empty. */
static bool start_of(const struct meta *meta, unsigned image, struct start_info *info)
{
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;
	bool found = false;

	if (trace_reader_open(&reader, meta->dir, image, 0, &problem))
		return false;
	if (trace_read(&reader, &e, &problem) == 1 && e->kind == ENTRY_START) {
		memcpy(info, trace_next_block(e, NULL) + 1, sizeof *info);
		found = true;
	}
	trace_reader_close(&reader);
	return found;
}

static uint32_t pid_of_image(const struct meta *meta, unsigned image)
{
	struct start_info info;

	if (!start_of(meta, image, &info))
		die("image %u of this recording ended before its first event", image);
	if (info.forked)
		die("image %u began by fork, in the middle of its parent: replay the parent, or the whole recording",
		    image);
	return (uint32_t)info.pid;
}

/* A process may have had several images. The first that began by exec can be started by itself;
   the exec that ends it leads to the next. */
static long image_of_pid(const struct meta *meta, long pid)
{
	const struct trace_list *list = &meta->list;
	struct start_info info;
	long found = -1;

	for (size_t i = 0; i < list->nstreams; i++) {
		if (list->streams[i].slot || !start_of(meta, list->streams[i].image, &info) || (long)info.pid != pid)
			continue;
		if (!info.forked)
			return list->streams[i].image;
		if (found < 0)
			found = list->streams[i].image;
	}
	if (found < 0)
		die("no process of this recording had the id %ld; `heddle stat` lists them", pid);
	return found;
}

static bool has_image(const struct trace_list *list, long image)
{
	for (size_t i = 0; i < list->nstreams; i++)
		if (list->streams[i].image == image && !list->streams[i].slot)
			return true;
	return false;
}

static void choose_image(struct replay *r)
{
	if (r->pid >= 0 && r->image >= 0)
		usage("--pid and --image exclude each other");
	r->alone = r->pid >= 0 || r->image >= 0;
	if (r->pid >= 0)
		r->image = image_of_pid(&r->meta, r->pid);
	if (r->image < 0)
		r->image = 0;
	if (!has_image(&r->meta.list, r->image)) {
		if (r->image)
			die("this recording has no image %ld; `heddle stat` lists them", r->image);
		die("%s is empty: its recording ended before the program's first event", r->meta.dir);
	}
}

/* gdb runs elsewhere, and the file must not be a name of ours. */
static void use_program(struct replay *r)
{
	static char path[PATH_MAX];

	if (!realpath(r->program, path))
		die("%s: %s", r->program, strerror(errno));
	build_need_same(&r->meta, (unsigned)r->image, path);
	r->meta.symbols = path;
}

/* ---- the run ------------------------------------------------------------------------------- */

static void begin_at(const struct replay *r, struct control *c)
{
	char path[PATH_MAX];

	if (!realpath(r->from, path) || strlen(path) >= sizeof c->begin_at)
		die("%s: %s", r->from, strerror(errno));
	strcpy(c->begin_at, path);
	c->shown = checkpoint_check(r->from, &r->meta, c->loader);
	c->grown = r->grown || r->follow;
}

/* True: the process stood still, and its memory is in the file. It has nothing more to do then. */
static bool save_if_stopped(struct replay *r)
{
	/* acquire: with the release in checkpoint_file_leave() */
	if (r->saved && __atomic_load_n(&r->tree.control->stopped, __ATOMIC_ACQUIRE)) {
		checkpoint_save(r->saved, r->save, &r->meta, r->tree.control);
		r->saved = NULL;
	}
	return r->save && !r->saved;
}

static void start(struct replay *r)
{
	struct control *c;
	char image[24];

	tree_prepare(&r->tree, work_dir, MODE_REPLAY);
	c = r->tree.control;
	snprintf(c->trace, sizeof c->trace, "%s", r->meta.dir);
#define SETTING(name) c->name = r->meta.name;
	SETTINGS(SETTING)
#undef SETTING
	c->masks = json_object_get(r->meta.json, "masked") != NULL;
	snprintf(c->order, sizeof c->order, "%s", r->meta.order);
	c->hooked = meta_is_hooked(&r->meta);
	c->quiet = r->quiet || r->json || r->sarif;
	c->races = r->watches | (r->races ? WATCH_RACES : 0) | (r->atomicity ? WATCH_STORY : 0);
	c->repeat = (uint32_t)r->repeat;
	if (r->checkpoint) {
		c->checkpoint_slot = 1 + r->checkpoint_thread;
		c->checkpoint_event = r->checkpoint_event;
	}
	c->save = r->save != NULL;
	c->follow = r->follow;
	c->ring = json_object_get(r->meta.json, "ring") != NULL;
	if (r->from)
		begin_at(r, c);
	size_t missing = trace_shown_missing(&r->shown, c->shown, c->missing, MISSING_MAX);
	if (missing > MISSING_MAX)
		die("%s lacks %zu of the writes that were shown: it is damaged", r->meta.dir, missing);
	c->missing_count = (uint32_t)missing;
	c->shown_end = r->shown.end;
	c->several = r->meta.list.nstreams && r->meta.list.streams[r->meta.list.nstreams - 1].image;
	if (c->several && r->checkpoint)
		die("a checkpoint is a copy of one process, and %s has several", r->meta.dir);
	free(r->shown.seen);
	c->root_status = r->image ? STATUS_UNKNOWN : r->meta.status;
	c->root_image = (uint32_t)r->image;
	if (r->alone)
		c->only_pid = pid_of_image(&r->meta, (unsigned)r->image);
	if (r->debug.gdb)
		debug_switch_on(c);
	snprintf(image, sizeof image, "%ld", r->image);
	r->feeder = late_prepare(r->meta.dir, &r->meta.list, work_dir);
	tree_start(&r->tree, (char *[]){ c->loader, r->tree.control_path, image, NULL });
	late_start(r->feeder, c);
}

/* Returns the signal that ended the replay from outside, or 0. */
static int run(struct replay *r)
{
	int ended_by = 0;
	siginfo_t info;

	while (tree_reap(&r->tree)) {
		if (save_if_stopped(r) || ended_by || __atomic_load_n(&r->tree.control->stop, __ATOMIC_ACQUIRE))
			tree_kill();
		int sig = tree_signal(&r->tree, &info, r->saved ? 5 : 50);
		if (sig && sig != SIGCHLD && sig != SIGUSR1 && sig != SIGUSR2)
			ended_by = sig;
	}
	return ended_by;
}

/* ---- the end -------------------------------------------------------------------------------- */

#define EVENTS_SHOWN 3

static void show_frame(const char *text)
{
	static bool first = true;

	note("  %s %s", first ? "at" : "by", text);
	first = false;
}

/* What the runtime, which has no symbols, could not say: source lines, and what came before. */
static void print_frames(const struct replay *r, const struct place *p)
{
	struct where *w = where_open(&r->meta, p->image, p->slot, p->event);

	where_frames(w, p, show_frame);
	where_close(w);
}

static void print_divergence(const struct replay *r, const struct place *p)
{
	uint64_t from = p->event < EVENTS_SHOWN ? 0 : p->event - EVENTS_SHOWN;

	print_frames(r, p);
	note("the last events of this thread before:");
	dump_events(stderr, &r->meta, p->image, p->slot, from, p->event, "heddle:   ");
}

static void print_deadlock(const struct replay *r, const struct place *places, unsigned count)
{
	static const char *const waits[] = {
		[WAITS_MUTEX] = "a mutex that thread %u holds",
		[WAITS_RWLOCK] = "a reader-writer lock that thread %u holds",
		[WAITS_JOIN] = "the end of thread %u",
	};
	char what[100] = "";

	note("the recording ends in a deadlock:");
	for (unsigned i = 0; i < count && i < WHERE_PLACES; i++) {
		if (places[i].waits < sizeof waits / sizeof *waits && waits[places[i].waits])
			snprintf(what, sizeof what, waits[places[i].waits], places[i].waits_for);
		note("thread %u waits for %s, at", places[i].slot, what);
		print_frames(r, &places[i]);
	}
}

static void print_place(const struct replay *r)
{
	const struct control *c = r->tree.control;

	if (!c->where_count)
		return;
	if (c->stop == STOP_DIVERGED)
		print_divergence(r, c->where);
	else
		print_deadlock(r, c->where, c->where_count);
}

static int report_repeats(struct replay *r)
{
	const struct control *c = r->tree.control;
	bool all = c->runs_exact == (uint32_t)r->repeat;

	if (c->stop != STOP_NONE && c->stop != STOP_ENDED)
		tree_print_stop(c);
	print_place(r);
	note("%u of %ld replays exact", c->runs_exact, r->repeat);
	if (c->stop == STOP_CANNOT)
		return EXIT_CANNOT;
	if (!all)
		return EXIT_DIVERGED;
	if (c->stop == STOP_ENDED)
		return 0;
	exit_like(&r->tree, c->root_status == STATUS_UNKNOWN ? r->tree.root_status : (int)c->root_status);
}

static int report(struct replay *r)
{
	const struct control *c = r->tree.control;

	if (r->checkpoint && !c->copied && (c->stop == STOP_NONE || c->stop == STOP_ENDED))
		die("thread %u does not come to event %s: `heddle dump` lists its events", r->checkpoint_thread,
		    strchr(r->checkpoint, ':') + 1);
	if (r->save && !r->saved) {
		note("%s has the state at %s; `heddle replay --from=%s` goes on from there", r->save, r->checkpoint,
		     r->save);
		return 0;
	}
	if (r->repeat > 1)
		return report_repeats(r);
	if (c->stop != STOP_NONE)
		tree_print_stop(c);
	print_place(r);
	if (r->races_found && (c->stop == STOP_NONE || c->stop == STOP_ENDED))
		return EXIT_RACES;
	switch (c->stop) {
	case STOP_NONE: exit_like(&r->tree, r->tree.root_status);
	case STOP_DIVERGED: return EXIT_DIVERGED;
	case STOP_ENDED: return 0;
	default: return EXIT_CANNOT;
	}
}

static uint32_t read_watch(const char *text)
{
	static const char *const names[] = { "races", "story", "places", NULL };
	uint32_t watches = 0;

	for (unsigned i = 0; text && names[i]; i++)
		if (strstr(text, names[i]))
			watches |= 1u << i;
	return watches;
}

static void read_checkpoint(struct replay *r)
{
	char *end;

	errno = 0;
	unsigned long thread = strtoul(r->checkpoint, &end, 10);
	bool fine = end > r->checkpoint && *end == ':' && thread < UINT_MAX;
	const char *event = end + (*end == ':');

	r->checkpoint_event = strtoull(event, &end, 10);
	if (!fine || end == event || *end || errno || *event == '-' || *r->checkpoint == '-')
		usage("--checkpoint wants THREAD:EVENT, as `heddle dump` numbers them");
	r->checkpoint_thread = (unsigned)thread;
}

static bool lacks_beginning(const struct meta *meta)
{
	struct trace_problem problem;
	struct trace_log log;
	char path[PATH_ROOM + 64];
	bool lacks = false;

	for (size_t i = 0; i < meta->list.nstreams && !lacks; i++) {
		const struct trace_stream *s = &meta->list.streams[i];
		trace_path(path, meta->dir, s->image, s->slot);
		if (trace_log_open(&log, path, s->image, s->slot, &problem))
			die("%s", problem.text);
		lacks = log.cut;
		trace_log_close(&log);
	}
	return lacks;
}

/* A recording with --ring may have lost its beginning: then its checkpoint is one. */
static void find_beginning(struct replay *r)
{
	static char path[PATH_ROOM + 16];

	snprintf(path, sizeof path, "%s/" CHECKPOINT, r->meta.dir);
	if (access(path, F_OK)) {
		if (lacks_beginning(&r->meta))
			die("%s was recorded with --ring, and its beginning was dropped; %s, at which it would begin, "
			    "is gone, too",
			    r->meta.dir, path);
		return;
	}
	if (r->from || r->save || r->checkpoint || r->races || r->atomicity || r->watch || r->pid >= 0)
		die("%s was recorded with --ring, and its beginning was dropped: it can be replayed with --repeat, "
		    "--quiet and --gdb, but "
		    "nothing can be asked that needs all of it",
		    r->meta.dir);
	r->from = path;
	r->grown = true;
}

/* For ring.c: goes as far as is known of the recording, from the checkpoint --from, if there is one, and saves
   another. */
static int follow(struct replay *r)
{
	siginfo_t info;
	int quiet = 0, how = FOLLOWED;

	snprintf(work_dir, sizeof work_dir, "%s", r->work_dir);
	keep_work_dir = true;
	r->quiet = true;
	r->saved = checkpoint_create(r->save);
	start(r);
	for (int ticks = 0; tree_reap(&r->tree) && !r->tree.control->stop; ticks++) {
		if (save_if_stopped(r)) {
			tree_kill();
			while (tree_reap(&r->tree))
				tree_signal(&r->tree, &info, 5);
			unlink(r->tree.control_path);
			return how;
		}
		quiet = tree_sleeps(r->tree.root) ? quiet + 1 : 0;
		if ((quiet >= 4 || ticks > 400) && r->tree.control->entered) {
			__atomic_store_n(&r->tree.control->save_asked, 1, __ATOMIC_RELEASE);
			kill(r->tree.root, CHECKPOINT_SIGNAL);
			how = quiet >= 4 ? FOLLOWED : FOLLOWED_PART;
			quiet = -100;
		}
		tree_signal(&r->tree, &info, 5);
	}
	/* it has come to its end, or something is wrong */
	unlink(r->save);
	unlink(r->tree.control_path);
	if (r->tree.control->stop)
		tree_print_stop(r->tree.control);
	tree_kill();
	return r->tree.control->stop ? EXIT_CANNOT : FOLLOWED_TO_END;
}

static bool looks(const struct replay *r)
{
	return r->races || r->atomicity;
}

/* What does not go together. */
static void check_options(struct replay *r)
{
	if (r->repeat < 1 || r->repeat > INT_MAX)
		usage("--repeat wants a number from 1 on");
	if (r->solve_time < 0 || r->solve_time > INT_MAX)
		usage("--solve-time wants a number of seconds, or 0");
	if (r->checkpoint)
		read_checkpoint(r);
	if (r->races && r->atomicity)
		usage("--races or --atomicity? One at a time");
	if ((r->json || r->sarif) && (!looks(r) || (r->json && r->sarif)))
		usage("--json or --sarif goes with --races or --atomicity");
	if (looks(r) && r->repeat > 1)
		usage("--races and --atomicity exclude --repeat: every replay finds the same");
	if (r->debug.gdb && (looks(r) || r->repeat > 1 || r->checkpoint))
		usage("a debugger takes one replay as it is: without --repeat, --checkpoint, --races and --atomicity");
	if ((!r->watch != !r->work_dir && !r->follow) || (r->watch && !(r->watches = read_watch(r->watch))))
		usage("--watch=races,story,places and --work-dir=DIR go together");
	if (r->save && ((!r->checkpoint && !r->follow) || r->repeat > 1))
		usage("--save goes with --checkpoint, and without --repeat");
	if ((r->save || r->from) &&
	    (looks(r) || r->watch || (r->work_dir && !r->follow) || r->pid >= 0 || r->image >= 0))
		usage("--save and --from take a plain replay of the whole recording");
	if (r->save && r->debug.gdb)
		usage("--save ends the replay: without --gdb");
	if (r->from && r->checkpoint)
		usage("--from begins at a checkpoint: without --checkpoint");
}

/* The trace, if it can be replayed here in this way. */
static void open_recording(struct replay *r, const char *name)
{
	open_trace(&r->meta, name);
	find_beginning(r);
	meta_need_same_machine(&r->meta);
	cpu_need_same(&r->meta);
	if (looks(r) && !*r->meta.order)
		die("%s has no accesses to look at: build the program with heddle-cc --select=all and record it again",
		    r->meta.dir);
	if (r->save || r->from)
		checkpoint_need_possible(&r->meta);
}

/* All that a run needs, in a directory of its own. */
static void prepare(struct replay *r)
{
	catch_signals();
	make_work_dir(r->work_dir);
	unpack(r);
	choose_image(r);
	if (r->program)
		use_program(r);
	schedule_find(&r->meta, work_dir, (unsigned)r->solve_time);
	end_if_interrupted();
	if (r->save)
		r->saved = checkpoint_create(r->save);
}

static void debug(struct replay *r)
{
	r->debug.image = r->image;
	int status = debug_session(&r->tree, &r->meta, &r->debug, work_dir);
	remove_work_dir();
	exit_like(&r->tree, status);
}

static int run_and_tell(struct replay *r)
{
	enum findings_format format = r->sarif ? FINDINGS_SARIF : r->json ? FINDINGS_JSON : FINDINGS_TEXT;
	int ended_by = run(r);

	if (r->saved)
		unlink(r->save);
	late_end(r->feeder);
	if (looks(r) && !ended_by)
		r->races_found = r->races ? found_races_print(&r->meta, work_dir, format, &r->tree.control->looked_at) :
					    atomicity_print(&r->meta, work_dir, format);
	remove_work_dir();
	if (ended_by)
		exit_like(&r->tree, ended_by); /* a wait status that is a signal's number means just that */
	return report(r);
}

static int run_replay(int argc, char **argv)
{
	static struct replay r = { .repeat = 1, .pid = -1, .image = -1, .solve_time = 60 };
	static long port = -1;
	const struct option_row options[] = {
		{ "repeat", 0, OPTION_NUMBER, &r.repeat },
		{ "checkpoint", 0, OPTION_TEXT, &r.checkpoint },
		{ "quiet", 'q', OPTION_FLAG, &r.quiet },
		{ "races", 0, OPTION_FLAG, &r.races },
		{ "atomicity", 0, OPTION_FLAG, &r.atomicity },
		{ "json", 0, OPTION_FLAG, &r.json },
		{ "sarif", 0, OPTION_FLAG, &r.sarif },
		{ "pid", 0, OPTION_NUMBER, &r.pid },
		{ "image", 0, OPTION_NUMBER, &r.image },
		{ "solve-time", 0, OPTION_NUMBER, &r.solve_time },
		{ "watch", 0, OPTION_TEXT, &r.watch },
		{ "work-dir", 0, OPTION_TEXT, &r.work_dir },
		{ "program", 0, OPTION_TEXT, &r.program },
		{ "gdb", 0, OPTION_FLAG, &r.debug.gdb },
		{ "gdb-port", 0, OPTION_NUMBER, &port },
		{ "save", 0, OPTION_TEXT, &r.save },
		{ "from", 0, OPTION_TEXT, &r.from },
		{ "follow", 0, OPTION_FLAG, &r.follow },
		OPTIONS_END,
	};

	argc = read_options(argc, argv, options, false);
	if (port != -1 && (port < 1 || port > 65535))
		usage("--gdb-port wants a port, 1 to 65535");
	r.debug.port = port == -1 ? 0 : port;
	if (r.debug.gdb || r.debug.port)
		argc = debug_read_words(&r.debug, argc, argv);
	if (argc > 1)
		usage("one trace at a time: %s or %s?", argv[0], argv[1]);
	check_options(&r);
	if (r.follow) {
		meta_load(&r.meta, argv[0]);
		return follow(&r);
	}
	open_recording(&r, argv[0]);
	prepare(&r);
	start(&r);
	if (r.debug.gdb)
		debug(&r);
	return run_and_tell(&r);
}

const struct command command_replay = { "replay", run_replay, "run a recorded program again, exactly", help };
