/*
 * The thread that makes rings for recorded threads, and empties them.
 *
 * A few rings always lie ready in control.spare: whoever starts a thread or a process takes one, writes its name into
 * it and wakes us. Heddle makes them, and not the recorded process, whose limit on file sizes is its own. Rings that
 * nobody has in sight any more are used again: making and removing a file costs more than a short process logs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "commands.h"

#define META_RESERVE \
	(256u << 10) /* meta.json's final form: some arguments, an environment, a list of streams and files */

struct packer {
	const char *dir;
	const struct tree *tree;
	struct control *control;
	struct trace_packer *work;
	struct trace_ring **rings; /* all but the idle ones */
	size_t count;
	struct trace_ring *idle[RING_SPARES]; /* left by their threads, to be used again */
	unsigned idle_count;
	unsigned made;	       /* rings so far: the next one's number */
	unsigned spares;       /* that we try to keep ready */
	uint32_t end;	       /* the tree has ended */
	struct keeper *keeper; /* or NULL */
	double rate;	       /* bytes of logs for each second; 0: no limit */
	double credit;	       /* bytes that may be written now; less than 0: too many were */
	uint64_t seen;	       /* bytes when we last looked, and when that was */
	struct timespec looked;
	size_t turn;	  /* at which ring the next pass begins */
	bool held;	  /* a thread had to wait for that */
	uint64_t reserve; /* see reserve_space(); grows with the rings if the program may go on without us */
	struct trace_problem problem;
	pthread_t thread;
};

static bool is_full(const struct packer *p)
{
	return p->problem.error == ENOSPC || p->problem.error == EDQUOT;
}

static void stop(struct packer *p)
{
	if (is_full(p))
		tree_stop(p->control, STOP_CANNOT,
			  "%s\nThe trace's disk is full; the program was ended. Free some space, or record to another "
			  "disk with -o.\n",
			  p->problem.text);
	else
		tree_stop(p->control, STOP_CANNOT, "%s\nThe program was ended.\n", p->problem.text);
}

/* ---- the reserve ------------------------------------------------------------------------ */

int reserve_space(const struct tree *tree, uint64_t size)
{
	/* a file system without fallocate just has no reserve */
	return fallocate(tree->control_fd, 0, CONTROL_SIZE, (off_t)size) && errno == ENOSPC ? -1 : 0;
}

void reserve_give_back(const struct tree *tree, uint64_t keep)
{
	if (ftruncate(tree->control_fd, (off_t)(CONTROL_SIZE + keep)))
		return; /* then there is less room, and the packer says so */
}

/* Room for what all rings can hold, even if it does not shrink. */
static int grow_reserve(struct packer *p)
{
	uint64_t wanted = META_RESERVE + (p->count + 1) * RING_SIZE;

	if (!p->control->may_detach || wanted <= p->reserve)
		return 0;
	if (reserve_space(p->tree, wanted))
		return trace_failed(&p->problem, p->tree->control_path, "keep some room in reserve");
	p->reserve = wanted;
	return 0;
}

/* ---- spare rings ----------------------------------------------------------------------- */

static struct trace_ring *make_ring(struct packer *p)
{
	p->made++;
	if (p->control->detached)
		return trace_ring_make_nameless(&p->problem);
	if (grow_reserve(p))
		return NULL;
	return trace_ring_make(p->dir, p->made - 1, p->control->may_detach, &p->problem);
}

static int add_ring(struct packer *p, uint32_t *place)
{
	p->rings = realloc(p->rings, (p->count + 1) * sizeof *p->rings);
	if (!p->rings)
		abort();
	struct trace_ring *ring = p->idle_count ? p->idle[--p->idle_count] : make_ring(p);
	if (!ring)
		return -1;
	p->rings[p->count++] = ring;
	if (p->keeper)
		trace_ring_follow(ring, keeper_directory(p->keeper));
	__atomic_store_n(place, 1 + trace_ring_number(ring), __ATOMIC_RELEASE); /* the ring is ready before */
	return 0;
}

/* Where the room of each ring on the disk is taken at once, few lie idle. */
static unsigned most_spares(const struct packer *p)
{
	return p->control->may_detach ? 2 : RING_SPARES;
}

/* A first ring for the program itself, and more once somebody asks for a second. If all were taken since the last look,
   there should have been more. */
static int refill(struct packer *p)
{
	uint32_t *spare = p->control->spare;
	unsigned taken = 0;

	if (p->made == 1 && !__atomic_load_n(&p->control->ring_wanted, __ATOMIC_ACQUIRE))
		return 0;
	for (unsigned i = 0; i < p->spares; i++)
		taken += !__atomic_load_n(&spare[i], __ATOMIC_RELAXED);
	if (p->made && taken == p->spares && p->spares < most_spares(p))
		p->spares *= 2;
	for (unsigned i = 0; i < p->spares; i++)
		if (!__atomic_load_n(&spare[i], __ATOMIC_RELAXED) && add_ring(p, &spare[i]))
			return -1;
	/* who waits stores 1, looks once more, then waits while it is 1 */
	if (__atomic_exchange_n(&p->control->ring_wanted, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &p->control->ring_wanted, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return 0;
}

/* ---- packing ------------------------------------------------------------------------------- */

/* The process has become another program: none of its threads is left. */
static void end_image(struct packer *p, const struct trace_ring *over)
{
	for (size_t i = 0; i < p->count; i++) {
		struct trace_ring *ring = p->rings[i];
		if (ring && ring != over && (p->control->detached || trace_ring_ready(ring, &p->problem) > 0) &&
		    trace_ring_image(ring) == trace_ring_image(over))
			trace_ring_set_left(ring);
	}
}

/*
 * --max-rate: a second's worth may be saved up and written at once. Beyond that rings stay as they are, and threads
 * whose rings are full wait, as they do for a slow disk. Rings that are done are packed all the same: somebody may wait
 * for their threads' end.
 */
static bool is_ahead(struct packer *p)
{
	struct timespec now;
	uint64_t written = trace_packer_written(p->work);

	if (!p->rate)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	double seconds = (double)(now.tv_sec - p->looked.tv_sec) + (double)(now.tv_nsec - p->looked.tv_nsec) / 1e9;
	p->credit += p->rate * seconds - (double)(written - p->seen);
	if (p->credit > p->rate)
		p->credit = p->rate;
	p->seen = written;
	p->looked = now;
	return p->credit < 0;
}

/* Not now. */
static bool is_put_off(struct packer *p, const struct trace_ring *ring)
{
	if (p->keeper && keeper_is_full(p->keeper))
		return true;
	bool ahead = is_ahead(p);
	p->held |= ahead && trace_ring_waited_for(ring);
	return ahead;
}

/* Is there something to do with it? In a program that goes on unrecorded nothing is packed. */
static int look(struct packer *p, struct trace_ring *ring)
{
	if (p->control->detached) {
		trace_ring_drop(ring);
		return trace_ring_done(ring) != RING_IN_USE;
	}
	int ready = trace_ring_ready(ring, &p->problem);
	return ready <= 0 ? ready : trace_ring_wants(ring);
}

/* Becomes NULL once it is in the log. */
static int pack_one(struct packer *p, struct trace_ring **place)
{
	struct trace_ring *ring = *place;
	int wants = look(p, ring);

	if (wants <= 0)
		return wants;
	enum ring_done done = trace_ring_done(ring);
	if (!done && is_put_off(p, ring))
		return 0;
	if (!done)
		return trace_ring_pack(ring, p->work, WHILE_RUNNING, &p->problem);
	if (done == RING_IMAGE_OVER)
		end_image(p, ring);
	if (!p->control->detached && trace_ring_finish(ring, p->work, WHILE_RUNNING, &p->problem))
		return -1;
	*place = NULL;
	if (p->idle_count < most_spares(p) && trace_ring_reuse(ring)) {
		p->idle[p->idle_count++] = ring;
		return 0;
	}
	int result = trace_ring_remove(ring, &p->problem);
	trace_ring_close(ring);
	return result;
}

static int pack_all(struct packer *p)
{
	int result = refill(p);
	size_t kept = 0;

	p->turn++; /* --max-rate may be used up by the first */
	for (size_t i = 0; i < p->count && !result; i++)
		result = pack_one(p, &p->rings[(p->turn + i) % p->count]);
	for (size_t i = 0; i < p->count; i++)
		if (p->rings[i])
			p->rings[kept++] = p->rings[i];
	p->count = kept;
	if (!result && p->keeper)
		result = keeper_look(p->keeper, p->rings, p->count, p->work, &p->problem);
	return result;
}

/* ---- without us: --on-full=detach ---------------------------------------------------------- */

/* Spares are files of the trace: whoever needs a ring from now on gets one in memory. */
static void take_back_spares(struct packer *p)
{
	struct trace_problem problem;

	for (unsigned i = 0; i < RING_SPARES; i++) {
		uint32_t number = __atomic_exchange_n(&p->control->spare[i], 0, __ATOMIC_ACQUIRE);
		for (size_t k = 0; number && k < p->count; k++)
			if (trace_ring_number(p->rings[k]) == number - 1) {
				trace_ring_remove(p->rings[k], &problem);
				trace_ring_close(p->rings[k]);
				p->rings[k] = p->rings[--p->count];
				break;
			}
	}
	while (p->idle_count) {
		trace_ring_remove(p->idle[--p->idle_count], &problem);
		trace_ring_close(p->idle[p->idle_count]);
	}
}

/* Everybody stands still: as if all had been killed at this moment, the trace is whole up to here. */
static int end_trace(struct packer *p)
{
	reserve_give_back(p->tree, META_RESERVE);
	for (size_t i = 0; i < p->count; i++)
		if (trace_ring_ready(p->rings[i], &p->problem) < 0 ||
		    trace_ring_finish(p->rings[i], p->work, AT_THE_END, &p->problem))
			return -1;
	return 0;
}

static int detach(struct packer *p)
{
	struct tree_still still;
	struct rlimit files;

	warn("%s", p->problem.text);
	tree_stand_still(&still);
	if (end_trace(p)) {
		/* they are ended as they stand: no stream may tell of what another, finished already, has not */
		free(still.pids);
		return -1;
	}
	take_back_spares(p);
	for (size_t i = 0; i < p->count; i++)
		trace_ring_drop(p->rings[i]);
	/* release: nobody goes on as detached before the last look at the rings */
	__atomic_store_n(&p->control->detached, 1, __ATOMIC_RELEASE);
	/* rings in memory need descriptors, and the program has a limit of its own by now */
	if (!getrlimit(RLIMIT_NOFILE, &files))
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){ files.rlim_max, files.rlim_max });
	warn("%s; the recording ends here, and the program goes on unrecorded (--on-full=detach)",
	     is_full(p) ? "the trace's disk is full" : "the trace cannot be written");
	tree_go_on(&still);
	syscall(SYS_futex, &p->control->detached, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return 0;
}

/* A recorded process could not write a file of the trace. */
static int look_for_wish(struct packer *p)
{
	uint32_t error = __atomic_load_n(&p->control->detach_wanted, __ATOMIC_ACQUIRE);

	if (!error || p->control->detached)
		return 0;
	errno = (int)error;
	return trace_failed(&p->problem, p->dir, "write a file of this trace");
}

static void *run(void *with)
{
	struct packer *p = with;
	struct timespec limit = { .tv_nsec = 50000000 };

	while (!__atomic_load_n(&p->end, __ATOMIC_ACQUIRE)) {
		uint32_t work = __atomic_load_n(&p->control->work, __ATOMIC_ACQUIRE); /* before the look */
		if ((look_for_wish(p) || pack_all(p)) &&
		    (!p->control->may_detach || p->control->detached || detach(p))) {
			stop(p);
			break;
		}
		syscall(SYS_futex, &p->control->work, FUTEX_WAIT, work, &limit, NULL, 0);
	}
	return NULL;
}

/* ---- start and end ---------------------------------------------------------------------------- */

struct packer *packer_start(const char *dir, const struct tree *tree, struct keeper *keeper, uint64_t rate)
{
	struct packer *p = calloc(1, sizeof *p);

	if (!p || !(p->work = trace_packer_new()))
		die("not enough memory for the packer");
	p->dir = dir;
	p->tree = tree;
	p->control = tree->control;
	p->spares = 1;
	p->keeper = keeper;
	p->rate = p->credit = (double)rate;
	clock_gettime(CLOCK_MONOTONIC, &p->looked);
	int error = pthread_create(&p->thread, NULL, run, p);
	if (error)
		die("the packer's thread does not start: %s", strerror(error));
	return p;
}

static void wake_thread(struct packer *p)
{
	__atomic_store_n(&p->end, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&p->control->work, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &p->control->work, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int finish_one(struct packer *p, struct trace_ring *ring, struct trace_problem *problem)
{
	int result = 0;

	if (!p->control->detached)
		result = trace_ring_ready(ring, problem) < 0 || trace_ring_finish(ring, p->work, AT_THE_END, problem) ?
				 -1 :
				 0;
	if (!result)
		result = trace_ring_remove(ring, problem);
	trace_ring_close(ring);
	return result;
}

static int finish_all(struct packer *p, struct trace_problem *problem)
{
	int result = 0;

	for (size_t i = 0; i < p->count && !result; i++)
		result = finish_one(p, p->rings[i], problem);
	for (unsigned i = 0; i < p->idle_count && !result; i++)
		result = finish_one(p, p->idle[i], problem);
	free(p->rings);
	return result;
}

int packer_finish(struct packer *p, bool *held_up, struct trace_problem *problem)
{
	wake_thread(p);
	pthread_join(p->thread, NULL);
	*held_up = p->held;
	int result = finish_all(p, problem);
	trace_packer_free(p->work);
	free(p);
	return result;
}
