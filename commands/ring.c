/*
 * heddle record --ring: of a recording of any length the last part is kept, and a checkpoint at which its replay
 * begins.
 *
 * The recording is replayed behind the program, now and then, as far as it is known (`heddle replay --follow`, hidden):
 * that process begins at the newest checkpoint and leaves the next one. What comes before the oldest of the two is
 * dropped. So a checkpoint is always one of a process that replays, and nothing of it must be turned from recording to
 * replaying.
 *
 *   looked   the cut: limits of all threads, then a barrier on all processors, then their rings
 *   kept     bytes of streams since the older checkpoint; no more than the user has said, or the program waits
 *   fresh    bytes since the newer one; half of that, and the next is made
 *
 * Names: DIR/checkpoint.N. Number N - 1 is removed before logs are cut for N: so the lowest that is there can be begun
 * at, whenever heddle is killed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "commands.h"
#include "runtime/memory/map.h"

/* A thread may be in the middle of entries before its position: they are near. */
#define NEAR (2 * ENTRY_MAX)

#define PART "part.checkpoint" /* while it is written */

struct keeper {
	const char *dir;
	uint64_t size;
	struct tree *tree;
	char work[PATH_ROOM];
	unsigned newest;			     /* number of the newest checkpoint; 0: none */
	bool lacks;				     /* who followed had replayed all that is known; or nothing is */
	bool running, ended;			     /* somebody follows; the program has ended */
	uint64_t older[MAP_SLOTS], newer[MAP_SLOTS]; /* positions from which on streams are needed, by slot */
	uint64_t kept, kept_before;		     /* before the last checkpoint */
	unsigned in_vain;			     /* checkpoints in a row after which as much was kept */
	struct follow_tail tail;
};

/* The heddle that watches the program and the packer's thread may both end it. */
static bool is_over(const struct keeper *k)
{
	return __atomic_load_n(&k->ended, __ATOMIC_ACQUIRE);
}

static void set_over(struct keeper *k)
{
	__atomic_store_n(&k->ended, true, __ATOMIC_RELEASE);
}

struct keeper *keeper_new(const char *dir, uint64_t size, struct tree *tree)
{
	struct keeper *k = calloc(1, sizeof *k);

	if (!k)
		die("not enough memory");
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		die("--ring needs membarrier(MEMBARRIER_CMD_GLOBAL), which this kernel refuses: %s", strerror(errno));
	k->dir = dir;
	k->lacks = true;
	k->size = size;
	k->tree = tree;
	work_make(k->work);
	return k;
}

const char *keeper_directory(const struct keeper *k)
{
	return k->work;
}

bool keeper_is_full(const struct keeper *k)
{
	return k->kept > k->size && !is_over(k);
}

static void name_of(const struct keeper *k, unsigned number, char path[PATH_ROOM + 32])
{
	snprintf(path, PATH_ROOM + 32, "%s/" CHECKPOINT ".%u", k->dir, number);
}

/* ---- the cut -------------------------------------------------------------------------------------- */

static int write_tail(const struct keeper *k, unsigned slot, struct trace_problem *problem)
{
	char path[PATH_ROOM + 32];

	snprintf(path, sizeof path, "%s/p0.t%u.tail", k->work, slot);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int result = fd < 0 || write(fd, &k->tail, sizeof k->tail) != sizeof k->tail ?
			     trace_failed(problem, path, "write this file") :
			     0;
	if (fd >= 0)
		close(fd);
	return result;
}

/* A thread that writes its order log too fast is looked at again the next time: it stays where it was. */
static int look_at(struct keeper *k, struct trace_ring *ring, const struct follow_tail *limits,
		   struct trace_packer *work, struct trace_problem *problem)
{
	k->tail = *limits;
	if (trace_ring_room(ring, &k->tail))
		return 0;
	if (trace_ring_pack(ring, work, WHILE_RUNNING, problem))
		return -1;
	k->tail.size = trace_ring_packed(ring);
	return write_tail(k, trace_ring_slot(ring), problem);
}

static int look(struct keeper *k, struct trace_ring **rings, size_t count, struct trace_packer *work,
		struct trace_problem *problem)
{
	struct follow_tail *limits = calloc(count + 1, sizeof *limits);
	int result = 0;

	if (!limits)
		return trace_failed(problem, k->dir, "get memory");
	for (size_t i = 0; i < count; i++)
		if (trace_ring_ready(rings[i], problem) > 0)
			trace_ring_limits(rings[i], &limits[i]);
	/* What a thread stored before it counted is seen after this, on whatever processor it ran. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	for (size_t i = 0; i < count && !result; i++)
		if (trace_ring_ready(rings[i], problem) > 0)
			result = look_at(k, rings[i], &limits[i], work, problem);
	free(limits);
	return result;
}

/* ---- who follows ------------------------------------------------------------------------------------ */

static void become(const struct keeper *k, char **argv)
{
	setpgid(0, 0); /* Ctrl-C is the program's */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	tree_restore(k->tree);
	execv("/proc/self/exe", argv);
	_exit(EXIT_CANNOT);
}

static void follow(struct keeper *k)
{
	char from[PATH_ROOM + 64], save[PATH_ROOM + 64], work[PATH_ROOM + 64];
	char *argv[] = { "heddle", "replay", "--follow", save, work, (char *)k->dir, k->newest ? from : NULL, NULL };

	snprintf(from, sizeof from, "--from=%s/" CHECKPOINT ".%u", k->dir, k->newest);
	snprintf(save, sizeof save, "--save=%s/" PART, k->dir);
	snprintf(work, sizeof work, "--work-dir=%s", k->work);
	pid_t pid = fork();
	if (!pid)
		become(k, argv);
	if (pid > 0) {
		k->running = true;
		__atomic_store_n(&k->tree->helper, pid, __ATOMIC_RELEASE);
	}
}

/* ---- what is dropped ---------------------------------------------------------------------------------- */

static int read_positions(struct keeper *k, struct trace_problem *problem)
{
	char path[PATH_ROOM + 32];

	memcpy(k->older, k->newer, sizeof k->older);
	snprintf(path, sizeof path, "%s/positions", k->work);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, k->newer, sizeof k->newer) < 8)
		return trace_failed(problem, path, "read this file");
	close(fd);
	return 0;
}

/* Pages of the unpacked stream that nobody will read are given back. */
static void drop_raw(const struct keeper *k, unsigned slot)
{
	char path[PATH_ROOM + 32];

	snprintf(path, sizeof path, "%s/p0.t%u.raw", k->work, slot);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && k->newer[slot] > NEAR &&
	    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)(k->newer[slot] - NEAR)))
		errno = 0; /* then they stay */
	if (fd >= 0)
		close(fd);
}

static int take_checkpoint(struct keeper *k, struct trace_ring **rings, size_t count, struct trace_problem *problem)
{
	char from[PATH_ROOM + 32], to[PATH_ROOM + 32];

	k->newest++;
	snprintf(from, sizeof from, "%s/" PART, k->dir);
	name_of(k, k->newest, to);
	if (rename(from, to))
		return trace_failed(problem, to, "name this checkpoint");
	if (read_positions(k, problem))
		return -1;
	if (k->newest < 2)
		return 0;
	name_of(k, k->newest - 2, to);
	unlink(to);
	for (size_t i = 0; i < count; i++)
		if (trace_ring_ready(rings[i], problem) > 0) {
			unsigned slot = trace_ring_slot(rings[i]);
			uint64_t before = k->older[slot] < NEAR ? 0 : k->older[slot] - NEAR;
			if (trace_ring_cut(rings[i], before, problem))
				return -1;
			drop_raw(k, slot);
		}
	return 0;
}

/* ---- now and then --------------------------------------------------------------------------------------- */

#define IN_VAIN_MAX 50

/* Better a recording that is too long than none: the program is not to blame. */
static void give_up(struct keeper *k, const char *why)
{
	warn("%s; from now on --ring drops nothing, and %s grows", why, k->dir);
	set_over(k);
}

/* Who followed has ended: with a checkpoint, at the program's end, or because the recording cannot be replayed. */
static int take_end(struct keeper *k, struct trace_ring **rings, size_t count, struct trace_problem *problem)
{
	int status = k->tree->helper_status;

	k->running = false;
	__atomic_store_n(&k->tree->helper, 0, __ATOMIC_RELEASE);
	if (WIFEXITED(status) && WEXITSTATUS(status) == FOLLOWED_TO_END) {
		set_over(k);
		return 0;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) > FOLLOWED_PART) {
		give_up(k,
			"what was recorded so far cannot be replayed, so there is nothing at which a ring could begin");
		return 0;
	}
	k->lacks = WEXITSTATUS(status) == FOLLOWED;
	k->kept_before = k->kept;
	return take_checkpoint(k, rings, count, problem);
}

/* Bytes since the newer checkpoint. */
static uint64_t count_bytes(struct keeper *k, struct trace_ring **rings, size_t count, struct trace_problem *problem)
{
	uint64_t fresh = 0;

	k->kept = 0;
	for (size_t i = 0; i < count; i++)
		if (trace_ring_ready(rings[i], problem) > 0) {
			unsigned slot = trace_ring_slot(rings[i]);
			k->kept += trace_ring_packed(rings[i]) - k->older[slot];
			fresh += trace_ring_packed(rings[i]) - k->newer[slot];
		}
	return fresh;
}

int keeper_look(struct keeper *k, struct trace_ring **rings, size_t count, struct trace_packer *work,
		struct trace_problem *problem)
{
	if (is_over(k))
		return 0;
	bool has_ended = k->running && __atomic_load_n(&k->tree->helper, __ATOMIC_ACQUIRE) == -1;
	if (has_ended && take_end(k, rings, count, problem))
		return -1;
	uint64_t fresh = count_bytes(k, rings, count, problem);
	if (has_ended && k->lacks)
		k->in_vain = k->kept > k->size && k->kept >= k->kept_before ? k->in_vain + 1 : 0;
	if (k->in_vain > IN_VAIN_MAX)
		give_up(k, "a replay that follows the recording stands still");
	if (is_over(k) || k->running || (fresh < k->size / 2 && k->kept <= k->size))
		return 0;
	/* A look empties rings: what is full grows only if who follows has nothing left to do. */
	if ((k->lacks || !keeper_is_full(k)) && look(k, rings, count, work, problem))
		return -1;
	follow(k);
	return 0;
}

void keeper_end(struct keeper *k)
{
	pid_t pid = __atomic_load_n(&k->tree->helper, __ATOMIC_ACQUIRE);

	set_over(k);
	if (pid > 0) {
		tree_kill_below(pid);
		kill(pid, SIGKILL);
	}
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	keeper_end(k);
	pid_t pid = k->tree->helper;
	if (pid > 0)
		waitpid(pid, NULL, 0);
	remove_all(k->work);
	free(k);
}

/* ---- the end -------------------------------------------------------------------------------------------- */

/* Was anything dropped? */
static bool is_cut(const char *dir, const char *name)
{
	char path[PATH_ROOM + 300];
	struct trace_problem problem;
	struct trace_log log;
	unsigned image, slot;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (!trace_is_log(name, &image, &slot) || trace_log_open(&log, path, image, slot, &problem))
		return false;
	bool cut = log.cut;
	trace_log_close(&log);
	return cut;
}

int ring_settle(const char *dir, struct trace_problem *problem)
{
	char path[PATH_ROOM + 300], last[PATH_ROOM + 32];
	unsigned lowest = 0, number;
	bool cut = false;
	struct dirent *item;
	DIR *names = opendir(dir);

	while (names && (item = readdir(names))) {
		cut |= is_cut(dir, item->d_name);
		if (sscanf(item->d_name, CHECKPOINT ".%u", &number) == 1 && (!lowest || number < lowest))
			lowest = number;
	}
	if (!cut)
		lowest = 0; /* the whole recording is there, and begins at its beginning */
	if (names)
		rewinddir(names);
	while (names && (item = readdir(names))) {
		size_t n = strlen(item->d_name);
		snprintf(path, sizeof path, "%s/%s", dir, item->d_name);
		if ((sscanf(item->d_name, CHECKPOINT ".%u", &number) == 1 && number != lowest) ||
		    (n > 8 && !strcmp(item->d_name + n - 8, ".log.new")) || !strcmp(item->d_name, PART))
			unlink(path);
	}
	if (names)
		closedir(names);
	if (!lowest)
		return 0;
	snprintf(path, sizeof path, "%s/" CHECKPOINT ".%u", dir, lowest);
	snprintf(last, sizeof last, "%s/" CHECKPOINT, dir);
	return rename(path, last) ? trace_failed(problem, path, "name this checkpoint " CHECKPOINT) : 0;
}
