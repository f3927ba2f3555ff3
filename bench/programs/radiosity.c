/*
 * Radiosity: how light spreads between the walls of a box. A task is the interaction of two patches; one that is too
 * coarse is cut into finer ones, as many as it takes, which nobody knows before. Tasks wait in a queue for each thread,
 * and idle threads look into all of them. The parts of a patch are made by whoever needs them first: looked at without
 * the lock, made with it, a benign race. Sums come out differently in their last digits, and the number of tasks of
 * each thread, from run to run.
 *
 * The result is right if what one patch gives is what others get, and the sum is that of one thread.
 */
#include "kernels.h"
#include <math.h>
#include <string.h>

enum { WALLS = 6, LEVELS = 5, PATCHES_MAX = 1 << 16, TASKS_MAX = 1 << 16, LOCKS = 64 };

struct vector {
	double x, y, z;
};
struct patch {
	struct vector middle, normal, u, v; /* u, v: half of its edges */
	double area, light, got;
	int parts; /* the first of its four; 0: none so far */
	unsigned level;
};
struct task {
	int from, to;
};

static struct patch *patches;
static int patches_used = 1;
static pthread_mutex_t patch_locks[LOCKS], patches_lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue {
	pthread_mutex_t lock;
	unsigned count;
	struct task *tasks;
} queues[THREADS_MAX];
static int unfinished; /* tasks that are in a queue or being done; atomic */
static double coarse;  /* the most that an interaction may carry undivided */
static unsigned long done[THREADS_MAX], divided[THREADS_MAX];
static double given[THREADS_MAX];

static struct vector plus(struct vector a, struct vector b, double factor)
{
	return (struct vector){ a.x + b.x * factor, a.y + b.y * factor, a.z + b.z * factor };
}

static double dot(struct vector a, struct vector b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

static void box(void)
{
	static const struct vector axis[3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };

	patches_used = 1;
	for (unsigned w = 0; w < WALLS; w++) {
		struct patch *p = &patches[patches_used++];
		double side = w % 2 ? 1 : -1;
		*p = (struct patch){ plus((struct vector){ 0, 0, 0 }, axis[w / 2], side),
				     plus((struct vector){ 0, 0, 0 }, axis[w / 2], -side),
				     axis[(w / 2 + 1) % 3],
				     axis[(w / 2 + 2) % 3],
				     4,
				     w == 3 ? 10 : 0.3 + 0.1 * w,
				     0,
				     0,
				     0 };
	}
}

static int make_parts(const struct patch *whole)
{
	int first;

	pthread_mutex_lock(&patches_lock);
	first = patches_used;
	patches_used += 4;
	pthread_mutex_unlock(&patches_lock);
	if (first + 4 > PATCHES_MAX) {
		fprintf(stderr, "radiosity: too many patches\n");
		exit(1);
	}
	for (int i = 0; i < 4; i++) {
		struct patch *part = &patches[first + i];
		struct vector middle = plus(whole->middle, whole->u, i % 2 ? 0.5 : -0.5);
		*part = *whole;
		part->middle = plus(middle, whole->v, i / 2 ? 0.5 : -0.5);
		part->u = plus((struct vector){ 0, 0, 0 }, whole->u, 0.5);
		part->v = plus((struct vector){ 0, 0, 0 }, whole->v, 0.5);
		part->area = whole->area / 4;
		part->got = 0;
		part->parts = 0;
		part->level = whole->level + 1;
	}
	return first;
}

/* The parts of a patch: looked at without the lock, and made with it. */
static int parts_of(int p)
{
	int parts = patches[p].parts;

	LOOK_AGAIN();
	if (parts)
		return parts;
	pthread_mutex_lock(&patch_locks[p % LOCKS]);
	parts = patches[p].parts;
	if (!parts) {
		parts = make_parts(&patches[p]);
		LOOK_AGAIN();
		__atomic_store_n(&patches[p].parts, parts, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&patch_locks[p % LOCKS]);
	return parts;
}

static void put(unsigned me, struct task task)
{
	struct queue *queue = &queues[me];

	__atomic_add_fetch(&unfinished, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&queue->lock);
	if (queue->count == TASKS_MAX) {
		fprintf(stderr, "radiosity: too many tasks\n");
		exit(1);
	}
	queue->tasks[queue->count++] = task;
	pthread_mutex_unlock(&queue->lock);
}

static bool get(unsigned me, struct task *task)
{
	bool found = false;

	for (unsigned i = 0; i < threads && !found; i++) {
		struct queue *queue = &queues[(me + i) % threads];
		pthread_mutex_lock(&queue->lock);
		found = queue->count > 0;
		if (found)
			*task = queue->tasks[--queue->count];
		pthread_mutex_unlock(&queue->lock);
	}
	return found;
}

/* The part of the light of a that gets to b, as if all of it came from their middles. */
static double form_factor(const struct patch *a, const struct patch *b)
{
	struct vector d = plus(b->middle, a->middle, -1);
	double r2 = dot(d, d), out = dot(d, a->normal), in = -dot(d, b->normal);

	return out > 0 && in > 0 ? out * in * b->area / (M_PI * r2 * r2 + b->area * r2) : 0;
}

static void carry(unsigned me, int from, int to)
{
	double light = patches[from].light * patches[from].area * form_factor(&patches[from], &patches[to]);

	given[me] += light;
	pthread_mutex_lock(&patch_locks[to % LOCKS]);
	patches[to].got += light;
	pthread_mutex_unlock(&patch_locks[to % LOCKS]);
}

static void do_task(unsigned me, struct task task)
{
	const struct patch *a = &patches[task.from], *b = &patches[task.to];
	bool cut_from = a->area >= b->area;
	int parts;

	done[me]++;
	if ((cut_from ? a : b)->level >= LEVELS || a->light * a->area * form_factor(a, b) <= coarse) {
		carry(me, task.from, task.to);
		return;
	}
	divided[me]++;
	parts = parts_of(cut_from ? task.from : task.to);
	for (int i = 0; i < 4; i++)
		put(me, (struct task){ cut_from ? parts + i : task.from, cut_from ? task.to : parts + i });
}

static void gather(unsigned me)
{
	struct task task;
	unsigned turns = 0;

	while (__atomic_load_n(&unfinished, __ATOMIC_ACQUIRE)) {
		if (!get(me, &task)) {
			spin(&turns);
			continue;
		}
		do_task(me, task);
		__atomic_sub_fetch(&unfinished, 1, __ATOMIC_RELEASE);
	}
}

static void deal(void)
{
	box();
	for (unsigned t = 0; t < threads; t++)
		given[t] = 0;
	for (int a = 1; a <= WALLS; a++)
		for (int b = 1; b <= WALLS; b++)
			if (a != b)
				put((unsigned)(a * WALLS + b) % threads, (struct task){ a, b });
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument;

	for (unsigned r = 0; r < rounds; r++) {
		if (me == 0)
			deal();
		meet();
		gather(me);
		meet();
	}
	return NULL;
}

/* The same without tasks. */
static double alone(int from, int to)
{
	const struct patch *a = &patches[from], *b = &patches[to];
	bool cut_from = a->area >= b->area;
	double light = a->light * a->area * form_factor(a, b), sum = 0;
	int parts;

	if ((cut_from ? a : b)->level >= LEVELS || light <= coarse)
		return light;
	parts = parts_of(cut_from ? from : to);
	for (int i = 0; i < 4; i++)
		sum += alone(cut_from ? parts + i : from, cut_from ? to : parts + i);
	return sum;
}

int main(int argc, char **argv)
{
	double gave = 0, got = 0, should = 0;

	options(argc, argv);
	coarse = 0.006 * 100 / percent;
	patches = allocate(PATCHES_MAX * sizeof *patches);
	for (unsigned i = 0; i < LOCKS; i++)
		pthread_mutex_init(&patch_locks[i], NULL);
	for (unsigned t = 0; t < threads; t++) {
		pthread_mutex_init(&queues[t].lock, NULL);
		queues[t].tasks = allocate(TASKS_MAX * sizeof(struct task));
	}
	start(work);
	for (unsigned t = 0; t < threads; t++) {
		printf("radiosity: thread %u did %lu tasks, cut %lu\n", t, done[t], divided[t]);
		gave += given[t];
	}
	for (int p = 1; p < patches_used; p++)
		got += patches[p].got;
	printf("radiosity: %d patches, light %.17g\n", patches_used - 1, got);
	for (int a = 1; rounds && a <= WALLS; a++)
		for (int b = 1; b <= WALLS; b++)
			should += a == b ? 0 : alone(a, b);
	if (rounds && (fabs(gave - got) > 1e-9 * got || fabs(should - got) > 1e-9 * got)) {
		printf("radiosity: WRONG: gave %.12g, got %.12g, should be %.12g\n", gave, got, should);
		return 1;
	}
	return 0;
}
