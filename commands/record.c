/*
 * heddle record: runs a program under the loader and keeps its trace.
 *
 * Two threads: this one waits for children and signals, the packer (packer.c)
 * empties rings. Both end when the last process of the tree has ended.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "meta.h"
#include "runtime/order/order.h"

#define ORDER_DEFAULT "region"

static const char help[] =
	"usage: heddle record [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n"
	"\n"
	"Runs PROGRAM and records it, with all processes that it starts, so that `heddle replay`\n"
	"can run it again exactly. Exits as PROGRAM does.\n"
	"\n"
	"  -o, --output=DIR  keep the trace in the new directory DIR; without: NAME-N in\n"
	"                    $HEDDLE_TRACE_DIR, $XDG_DATA_HOME/heddle or ~/.local/share/heddle\n"
	"      --no-patch    let every system call trap instead of patching it: slower, and\n"
	"                    the program's code stays as it is\n"
	"      --no-atomics  do not order the atomic instructions of code that heddle-cc has not\n"
	"                    built (aarch64): faster, but what depends on them is not replayed\n"
	"      --every-access  order every load and store of code that heddle-cc has not built, but\n"
	"                    for libc: for a data race in a program that cannot be built again; slow\n"
	"      --checksum    record a hash of all writable memory when a process ends, and\n"
	"                    compare it at replay\n"
	"      --chaos[=N]   disturb the order in which threads run, at random (N: the seed), so\n"
	"                    that rare interleavings show\n"
	"      --order=NAME  how the order of accesses to shared memory is recorded, in programs\n"
	"                    built by heddle-cc; `--order=help` lists the ways\n"
	"      --verify      record a hash of all values read there, and compare it at replay\n"
	"      --paranoid    record hashes of changed pages now and then, while a process has one\n"
	"                    thread: replay names a page that is not as it was\n"
	"      --mask-env[=NAME,...]\n"
	"                    do not keep the values of environment variables that look like\n"
	"                    secrets (TOKEN, PASSWORD, ...), nor of these\n"
	"      --on-full=WAY what to do when the trace's disk is full: `stop` ends the program,\n"
	"                    `detach` lets it go on unrecorded\n"
	"      --ring=SIZE   keep only the last part of the recording, of about SIZE bytes (8M, 1G),\n"
	"                    and a checkpoint at which its replay begins\n"
	"      --max-rate=SIZE  write at most SIZE bytes of log a second (1M, 20M): a program that\n"
	"                    logs more is slowed down\n"
	"  -v, --verbose     say where the trace is even if stderr is not a terminal\n"
	"  -q, --quiet       say nothing that is not an error\n"
	"\n"
	"Ctrl-C reaches the program, not heddle. SIGTERM and SIGHUP sent to heddle are passed on.\n";

struct record {
	char dir[PATH_ROOM], program[PATH_ROOM];
	bool no_patch, no_atomics, every, checksum, verify, paranoid, verbose, quiet, detach;
	long chaos; /* 0: no, -1: any seed, else the seed */
	const char *output, *order, *turns, *on_full, *mask, *ring, *max_rate;
	struct tree tree;
	struct packer *packer;
	struct keeper *keeper; /* --ring */
	uint64_t ring_size, rate;
	struct meta meta;
	struct timespec root_end;
	bool said_waiting, told_to_end, held_up;
};

/* ---- the directory --------------------------------------------------------------------- */

static const char *made_directory;

static void remove_made(void)
{
	remove_all(made_directory);
}

/* The runtime and exec need absolute paths. */
static void absolute(const char *path, char out[PATH_ROOM])
{
	char cwd[PATH_ROOM] = "";

	if (*path != '/' && !getcwd(cwd, sizeof cwd))
		die("the current directory: %s", strerror(errno));
	if (snprintf(out, PATH_ROOM, "%s%s%s", cwd, *path == '/' ? "" : "/", path) >= PATH_ROOM - 64)
		die("%s: this path is too long", path);
}

static void make_directory(struct record *r)
{
	char real[PATH_MAX], path[PATH_ROOM];

	if (r->output) {
		if (!*r->output)
			usage("-o wants the name of a directory");
		absolute(r->output, path);
		int error = mkdir(path, 0700) ? errno : 0;
		if (error == EEXIST)
			die("%s exists already; choose another name, or remove it with `heddle rm`", path);
		if (error)
			die("%s: the trace's directory cannot be made: %s; choose another with -o", path,
			    strerror(error));
	} else
		home_new_trace(r->program, path);
	if (!realpath(path, real) || strlen(real) >= PATH_ROOM - 64)
		die("%s: %s", path, strerror(errno));
	strcpy(r->dir, real);
	made_directory = r->dir;
	on_death(remove_made); /* an error before the program starts leaves nothing behind */
}

/* Copies of mapped files are shared between traces where hard links reach. What is known of their system call sites
   lies beside them. */
static void prepare_cache(struct control *c)
{
	struct stat here, there;

	snprintf(c->cache, sizeof c->cache, "%s/" CACHE_NAME, home_directory());
	if (!make_directories(c->cache))
		home_find_sites(c);
	if (!*c->sites || stat(c->cache, &there) || stat(c->trace, &here) || here.st_dev != there.st_dev)
		*c->cache = 0;
}

/* For `heddle explain`: its file, on the same disk, is in the trace while the program runs. */
static void turns_path(const struct record *r, char path[PATH_ROOM + 16])
{
	snprintf(path, PATH_ROOM + 16, "%s/turns", r->dir);
}

static void prepare_turns(struct record *r)
{
	char path[PATH_ROOM + 16];

	turns_path(r, path);
	if (r->turns && link(r->turns, path))
		die("%s: %s", path, strerror(errno));
	r->tree.control->turns = r->turns != NULL;
}

static void prepare(struct record *r, char **argv)
{
	char files[PATH_ROOM + 16];
	struct control *c;

	make_directory(r);
	snprintf(files, sizeof files, "%s/files", r->dir);
	if (mkdir(files, 0700))
		die("%s: %s", files, strerror(errno));
	tree_prepare(&r->tree, r->dir, MODE_RECORD);
	if (reserve_space(&r->tree, 1 << 20))
		die("%s: %s; free some space or choose another disk with -o", r->tree.control_path, strerror(errno));
	c = r->tree.control;
	c->patch = !r->no_patch && !r->every; /* code that is to be led away stays as it is */
	c->atomics = !r->no_atomics;
	c->every = r->every;
	c->checksum = r->checksum;
	c->verify = r->verify;
	c->paranoid = r->paranoid;
	c->may_detach = r->detach;
	c->masks = r->mask != NULL;
	snprintf(c->mask, sizeof c->mask, "%s", r->mask ? r->mask : "");
	snprintf(c->order, sizeof c->order, "%s", r->order);
	c->chaos = r->chaos < 0 ? (uint32_t)(time(NULL) ^ getpid() << 16) | 1 : (uint32_t)r->chaos;
	prepare_turns(r);
	prepare_cache(c);
	c->ring = r->ring != NULL;
	meta_begin(&r->meta, r->dir, r->program, argv, &r->tree);
	c->hooked = meta_is_hooked(&r->meta);
	if (r->ring)
		r->keeper = keeper_new(r->dir, r->ring_size, &r->tree);
}

/* ---- the run ------------------------------------------------------------------------------ */

/* "1:1,2:2": descriptors that are the original stdout (1) and stderr (2). One that was closed is
   held by a /dev/null of ours that vanishes at exec. */
static void standard_descriptors(char text[16])
{
	*text = 0;
	for (int fd = 1; fd <= 2; fd++)
		if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			sprintf(text + strlen(text), "%s%d:%d", *text ? "," : "", fd, fd);
}

static void start(struct record *r, int argc, char **argv)
{
	char descriptors[16];
	char **args = calloc((size_t)argc + 6, sizeof *args);

	if (!args)
		die("not enough memory");
	standard_descriptors(descriptors);
	args[0] = r->tree.control->loader;
	args[1] = r->tree.control_path;
	args[2] = "0";
	args[3] = descriptors;
	args[4] = r->program;
	memcpy(args + 5, argv, (size_t)argc * sizeof *argv);
	tree_start(&r->tree, args);
	on_death(NULL); /* from here on there is something to keep */
	if (!r->output)
		home_point_latest(r->dir);
	free(args);
	r->packer = packer_start(r->dir, &r->tree, r->keeper, r->rate);
}

/*
 * A terminal sends Ctrl-C to the whole foreground group, so the program has it already; what a
 * process sent was meant for the program, whose id the sender does not know. Once the program
 * itself has ended, the same signals end what it left running.
 */
static void pass_on(struct record *r, int sig, const siginfo_t *info)
{
	if (sig == SIGCHLD)
		return;
	if (r->tree.root_ended)
		r->told_to_end = true;
	else if (info->si_code <= 0) /* from kill, sigqueue or tgkill, not from the kernel */
		kill(r->tree.root, sig);
}

static void tell_who_is_left(struct record *r)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!r->root_end.tv_sec)
		r->root_end = now;
	if (r->said_waiting || r->quiet || now.tv_sec - r->root_end.tv_sec < 2 || !person_watching())
		return;
	r->said_waiting = true;
	note("the program has ended, but %d of its processes still run and are recorded; Ctrl-C ends them",
	     tree_count());
}

static void run(struct record *r)
{
	siginfo_t info;

	while (tree_reap(&r->tree)) {
		if (r->tree.root_ended) {
			/* kept where a later heddle finds it, should this one be killed */
			r->tree.control->root_status = (uint32_t)r->tree.root_status;
			tell_who_is_left(r);
			if (r->keeper)
				keeper_end(r->keeper);
		}
		if (r->told_to_end || __atomic_load_n(&r->tree.control->stop, __ATOMIC_ACQUIRE))
			tree_kill();
		int sig = tree_signal(&r->tree, &info, 100);
		if (sig)
			pass_on(r, sig, &info);
	}
}

/* ---- the end -------------------------------------------------------------------------------- */

/* How the program ended; unknown where it was heddle that ended it. */
static uint32_t end_of_program(const struct record *r)
{
	return r->tree.control->stop || r->tree.control->detached ? STATUS_UNKNOWN : (uint32_t)r->tree.root_status;
}

/* A trace that cannot be finished stays as it is: the next verb that opens it tries again. */
static bool finish(struct record *r)
{
	struct trace_problem problem;
	struct control *c = r->tree.control;
	char turns[PATH_ROOM + 16];

	turns_path(r, turns);
	if (r->turns)
		unlink(turns);
	reserve_give_back(&r->tree, 0);
	int packed = packer_finish(r->packer, &r->held_up, &problem);
	keeper_free(r->keeper);
	if (packed || ring_settle(r->dir, &problem) || meta_finish(&r->meta, end_of_program(r), c, &problem)) {
		if (c->stop)
			warn("%s", problem.text);
		else
			tree_stop(c, STOP_CANNOT, "%s", problem.text);
		warn("%s is not finished; the next heddle command that opens it tries again", r->dir);
		return false;
	}
	unlink(r->tree.control_path);
	return true;
}

/* Whoever watches: these are about the program, and no test log should be without them. */
static void tell_not_recorded(uint32_t what)
{
	if (what & SHARED_MEMORY)
		warn("processes of this recording share writable memory; the order in which they use it is not "
		     "recorded, and replay may diverge");
	if (what & OWN_ROOT)
		warn("the program asked for another root directory (chroot, pivot_root), which was refused: the "
		     "recording could not be reached from there; run heddle inside it instead");
	if (what & UNREADABLE)
		warn("the program started another one that you may execute, but not read, which was refused: heddle "
		     "loads programs itself, and must read them");
	if (what & OWN_FILTER)
		warn("the program asked for a seccomp filter, which is not in force under heddle, though it was told "
		     "that it is: calls that it would refuse were made");
}

static void report(const struct record *r)
{
	const char *home = home_directory();
	size_t n = strlen(home);
	bool at_home = !strncmp(r->dir, home, n) && r->dir[n] == '/';
	char futexes[PATH_ROOM];

	if (r->tree.control->detached)
		warn("the program went on unrecorded to its end; what was recorded before is in %s", r->dir);
	if (r->quiet)
		return;
	tell_not_recorded(r->tree.control->not_recorded);
	if (r->held_up)
		note("the program was slowed down by --max-rate: it logs more than that");
	if (!r->verbose && !person_watching())
		return;
	note("recorded (%s) in %s; `heddle replay%s%s` runs it again", meta_text(&r->meta, "level"), r->dir,
	     r->output ? " " : "",
	     !r->output ? "" :
	     at_home	? r->dir + n + 1 :
			  r->output);
	if (futexes_text(&r->meta, futexes, sizeof futexes))
		warn("the program synchronises threads through futex calls of its own (%s); their order is not "
		     "recorded, and replay may diverge; build the program with heddle-cc",
		     futexes);
	if (r->tree.control->inexact)
		note("%u signals could not be recorded exactly; `heddle stat` says from which event on",
		     r->tree.control->inexact);
}

/* false: the user only wanted to know. */
static bool choose_order(struct record *r)
{
	if (!r->order)
		r->order = ORDER_DEFAULT;
	if (strcmp(r->order, "help") == 0) {
		for (unsigned i = 0; order_schemes[i]; i++)
			printf("%-20s %s\n%-20s   %s\n", order_schemes[i]->name, order_schemes[i]->summary, "",
			       order_schemes[i]->guarantee);
		return false;
	}
	if (!order_find(r->order))
		usage("there is no order '%s'; `heddle record --order=help` lists them", r->order);
	return true;
}

static void choose_on_full(struct record *r)
{
	if (r->on_full && strcmp(r->on_full, "stop") && strcmp(r->on_full, "detach"))
		usage("--on-full wants stop or detach");
	r->detach = r->on_full && !strcmp(r->on_full, "detach");
}

/* "64M" */
static uint64_t bytes_of(const char *option, const char *text)
{
	char *end;
	double number = strtod(text, &end);
	static const char units[] = "kMGT";
	const char *unit = *end ? strchr(units, *end) : NULL;

	for (const char *u = units; unit && u <= unit; u++)
		number *= 1024;
	if (end == text || (*end && (!unit || end[1])) || !(number >= 1 << 20) || number > 1e15)
		usage("--%s wants a number of bytes from 1M on, as in --%s=64M", option, option);
	return (uint64_t)number;
}

static void choose_ring(struct record *r)
{
	if (!r->ring)
		return;
	r->ring_size = bytes_of("ring", r->ring);
	if (strcmp(r->order, "region"))
		usage("--ring goes with --order=region alone");
	if (r->detach || r->paranoid)
		usage("--ring goes neither with --on-full=detach nor with --paranoid");
	checkpoint_need_no_keys("record without --ring");
}

static void choose_mask(struct record *r)
{
	if (r->mask && strlen(r->mask) >= MASK_ROOM)
		usage("--mask-env: these are too many names");
	if (r->mask && (r->checksum || r->paranoid))
		usage("--mask-env goes neither with --checksum nor with --paranoid: the program's memory holds the "
		      "values, "
		      "and that of a replay does not");
}

static void choose_every(const struct record *r, bool dynamic)
{
	if (r->every && r->no_atomics)
		usage("--every-access and --no-atomics exclude each other: atomic instructions are accesses, too");
	if (r->every && !dynamic)
		usage("--every-access: %s is linked statically, and where libc ends in it cannot be told; link it "
		      "dynamically, or build it with heddle-cc",
		      r->program);
}

static int run_record(int argc, char **argv)
{
	static struct record r;
	const struct option_row options[] = {
		{ "output", 'o', OPTION_TEXT, &r.output },
		{ "no-patch", 0, OPTION_FLAG, &r.no_patch },
		{ "no-atomics", 0, OPTION_FLAG, &r.no_atomics },
		{ "every-access", 0, OPTION_FLAG, &r.every },
		{ "checksum", 0, OPTION_FLAG, &r.checksum },
		{ "order", 0, OPTION_TEXT, &r.order },
		{ "verify", 0, OPTION_FLAG, &r.verify },
		{ "verbose", 'v', OPTION_FLAG, &r.verbose },
		{ "quiet", 'q', OPTION_FLAG, &r.quiet },
		{ "chaos", 0, OPTION_MAYBE_NUMBER, &r.chaos },
		{ "paranoid", 0, OPTION_FLAG, &r.paranoid },
		{ "turns", 0, OPTION_TEXT, &r.turns },
		{ "on-full", 0, OPTION_TEXT, &r.on_full },
		{ "mask-env", 0, OPTION_MAYBE_TEXT, &r.mask },
		{ "ring", 0, OPTION_TEXT, &r.ring },
		{ "max-rate", 0, OPTION_TEXT, &r.max_rate },
		OPTIONS_END,
	};

	argc = read_options(argc, argv, options, true);
	choose_on_full(&r);
	choose_mask(&r);
	if (!choose_order(&r))
		return 0;
	choose_ring(&r);
	r.rate = r.max_rate ? bytes_of("max-rate", r.max_rate) : 0;
	if (!argc)
		usage("which program? `heddle record PROGRAM ARGUMENTS...`");
	choose_every(&r, find_program(argv[0], r.program));
	prepare(&r, argv);
	start(&r, argc, argv);
	run(&r);
	bool whole = finish(&r);
	if (r.tree.control->stop) {
		tree_print_stop(r.tree.control);
		if (whole)
			note("what was recorded before that is in %s", r.dir);
		return EXIT_CANNOT;
	}
	if (!r.meta.list.nstreams)
		die("the loader ended (%s) before the program began, and nothing was recorded; loader and heddle "
		    "may be of different versions: install them again",
		    status_text(r.tree.root_status));
	report(&r);
	exit_like(&r.tree, r.tree.root_status);
}

const struct command command_record = { "record", run_record, "run a program and record it", help };
