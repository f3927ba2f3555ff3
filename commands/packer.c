/*
 * The thread that empties rings while a program is recorded.
 *
 * New rings are found by looking into p<N> for every image number that was given
 * out. An image is looked at no more once all its rings are done: a thread's ring
 * exists before the ring of the thread that started it can be done, so a look that
 * begins after all known rings were done would see a new one.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "commands.h"

struct ring_slot {
	struct trace_ring *ring; /* NULL once it is in the log */
	unsigned slot;
};

struct image {
	unsigned number;
	struct ring_slot *rings;
	size_t count;
	/* An image whose folder is not there yet (or never will be: a failed fork) is looked for
	   less and less often, up to once a second. */
	unsigned missing, skip;
};

struct packer {
	const char *dir;
	struct control *control;
	struct trace_packer *work;
	struct image *images; /* those still to be looked at */
	size_t count;
	unsigned next; /* image numbers below were seen */
	uint32_t end;  /* the tree has ended */
	bool failed;
	struct trace_problem problem;
	pthread_t thread;
};

static void *grow(void *array, size_t n, size_t size)
{
	array = realloc(array, n * size);
	if (!array)
		abort();
	return array;
}

static int fail(struct packer *p)
{
	p->failed = true;
	if (p->problem.error == ENOSPC || p->problem.error == EDQUOT)
		tree_stop(p->control, STOP_CANNOT,
			  "%s\nThe trace's disk is full; the program was ended. Free some space, or record to another "
			  "disk with -o.\n",
			  p->problem.text);
	else
		tree_stop(p->control, STOP_CANNOT, "%s\nThe program was ended.\n", p->problem.text);
	return -1;
}

/* ---- finding rings --------------------------------------------------------------------- */

static void see_new_images(struct packer *p)
{
	unsigned next = __atomic_load_n(&p->control->next_image, __ATOMIC_RELAXED);

	for (; p->next < next; p->next++) {
		p->images = grow(p->images, p->count + 1, sizeof *p->images);
		p->images[p->count++] = (struct image){ .number = p->next };
	}
}

static bool known(const struct image *image, unsigned slot)
{
	for (size_t i = 0; i < image->count; i++)
		if (image->rings[i].slot == slot && image->rings[i].ring)
			return true;
	return false;
}

static int add_ring(struct packer *p, struct image *image, unsigned slot)
{
	struct trace_ring *ring;
	int ready = trace_ring_open(&ring, p->dir, image->number, slot, &p->problem);

	if (ready <= 0)
		return ready;
	image->rings = grow(image->rings, image->count + 1, sizeof *image->rings);
	image->rings[image->count++] = (struct ring_slot){ .ring = ring, .slot = slot };
	return 1;
}

/* Returns how many rings are in the folder that are not done with, -1 on failure. */
static int look_for_rings(struct packer *p, struct image *image)
{
	char path[PATH_ROOM + 32];
	struct dirent *item;
	unsigned slot;
	int left = 0;

	if (image->skip) {
		image->skip--;
		return 1;
	}
	snprintf(path, sizeof path, "%s/p%u", p->dir, image->number);
	DIR *names = opendir(path);
	if (!names) {
		image->missing += image->missing < 20;
		image->skip = image->missing;
		return 1;
	}
	while (left >= 0 && (item = readdir(names)))
		if (trace_slot_of(item->d_name, ".ring", &slot)) {
			left++;
			if (!known(image, slot) && add_ring(p, image, slot) < 0)
				left = -1;
		}
	closedir(names);
	return left;
}

/*
 * zstd's levels. While the program runs, the packer competes with it for the cores: the fast levels below 0 cost half the
 * time of level 1 on file contents, and the entries themselves still shrink to a hundredth.
 */
enum { WHILE_RUNNING = -5, AT_THE_END = 1 };

/* ---- packing ------------------------------------------------------------------------------- */

static int pack_one(struct packer *p, struct ring_slot *slot)
{
	if (!trace_ring_wants(slot->ring))
		return 0;
	if (!trace_ring_done(slot->ring))
		return trace_ring_pack(slot->ring, p->work, WHILE_RUNNING, &p->problem);
	if (trace_ring_finish(slot->ring, p->work, WHILE_RUNNING, &p->problem))
		return -1;
	trace_ring_close(slot->ring);
	slot->ring = NULL;
	return 0;
}

/* 1: this image is over. The rings come first, then the look: see the top of this file. */
static int pack_image(struct packer *p, struct image *image)
{
	bool all_done = image->count > 0;

	for (size_t i = 0; i < image->count; i++) {
		if (image->rings[i].ring && pack_one(p, &image->rings[i]))
			return -1;
		all_done &= !image->rings[i].ring;
	}
	int left = look_for_rings(p, image);
	return left < 0 ? -1 : all_done && !left;
}

static int pack_all(struct packer *p)
{
	size_t kept = 0;

	see_new_images(p);
	for (size_t i = 0; i < p->count; i++) {
		int over = pack_image(p, &p->images[i]);
		if (over < 0)
			return -1;
		if (over)
			free(p->images[i].rings);
		else
			p->images[kept++] = p->images[i];
	}
	p->count = kept;
	return 0;
}

static void *run(void *with)
{
	struct packer *p = with;
	struct timespec limit = { .tv_nsec = 50000000 };

	while (!__atomic_load_n(&p->end, __ATOMIC_ACQUIRE)) {
		uint32_t work = __atomic_load_n(&p->control->work, __ATOMIC_ACQUIRE); /* before the look */
		if (pack_all(p)) {
			fail(p);
			break;
		}
		syscall(SYS_futex, &p->control->work, FUTEX_WAIT, work, &limit, NULL, 0);
	}
	return NULL;
}

/* ---- start and end ---------------------------------------------------------------------------- */

struct packer *packer_start(const char *dir, struct control *control)
{
	struct packer *p = calloc(1, sizeof *p);

	if (!p || !(p->work = trace_packer_new()))
		die("not enough memory for the packer");
	p->dir = dir;
	p->control = control;
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

/* Rings that the thread knows need not be compared with their logs again. */
static int finish_known(struct packer *p, struct trace_problem *problem)
{
	int result = 0;

	for (size_t i = 0; i < p->count; i++) {
		for (size_t j = 0; j < p->images[i].count; j++) {
			struct trace_ring *ring = p->images[i].rings[j].ring;
			if (!ring)
				continue;
			if (!result)
				result = trace_ring_finish(ring, p->work, AT_THE_END, problem);
			trace_ring_close(ring);
		}
		free(p->images[i].rings);
	}
	free(p->images);
	return result;
}

int packer_finish(struct packer *p, struct trace_problem *problem)
{
	wake_thread(p);
	pthread_join(p->thread, NULL);
	int result = finish_known(p, problem);
	if (!result)
		result = trace_finish_rings(p->dir, p->work, AT_THE_END, problem);
	trace_packer_free(p->work);
	free(p);
	return result;
}
