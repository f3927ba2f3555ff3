/*
 * Barnes-Hut: bodies that attract one another, far ones together. The tree is shared and all threads build it at once:
 * they walk down without a lock, lock only the cell that they change, and look again whether it is still as it was. The
 * walk is a benign race: an old pointer costs a second look. Centres of mass and forces are shared out by a counter.
 * The shape of the tree is the same in each run; the numbers of its cells, and who walked how far, are not.
 *
 * The result is right if the root weighs as much as all bodies, and forces are near to those of the direct sum.
 */
#include "kernels.h"
#include <math.h>
#include <string.h>

enum { BODIES_MAX = 1 << 16, CELLS_MAX = 4 * BODIES_MAX, LOCKS = 64, CHUNK = 32, DEPTH_MAX = 60 };
static const double THETA = 0.6, SOFT = 1e-4, TICK = 1e-3;

struct body {
	double place[3], speed[3], force[3], mass;
};

/* A child is 0 for nothing, i + 1 for body i, -c for cell c; cell 0 is the root and nobody's child. */
struct cell {
	int child[8];
	double centre[3], half, mass, middle[3];
};

static unsigned n;
static struct body *bodies;
static struct cell *cells;
static int cells_used;
static pthread_mutex_t locks[LOCKS], counter_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned next_chunk;
static unsigned late[THREADS_MAX]; /* how often the tree had changed between look and lock */
static unsigned long visited[THREADS_MAX];

static int new_cell(const double centre[3], double half)
{
	int c;

	pthread_mutex_lock(&counter_lock);
	c = cells_used++;
	pthread_mutex_unlock(&counter_lock);
	if (c >= CELLS_MAX) {
		fprintf(stderr, "barnes: too many cells\n");
		exit(1);
	}
	memset(&cells[c], 0, sizeof cells[c]);
	memcpy(cells[c].centre, centre, sizeof cells[c].centre);
	cells[c].half = half;
	return c;
}

static unsigned octant(const struct cell *cell, const double place[3])
{
	return (place[0] >= cell->centre[0]) | (place[1] >= cell->centre[1]) << 1 | (place[2] >= cell->centre[2]) << 2;
}

static int new_child(int parent, unsigned o)
{
	const struct cell *cell = &cells[parent];
	double centre[3];

	for (unsigned k = 0; k < 3; k++)
		centre[k] = cell->centre[k] + (o >> k & 1 ? cell->half : -cell->half) / 2;
	return new_cell(centre, cell->half / 2);
}

/* Put body b into `cell`, whose octant o holds `old`: alone, or with the body that is there, as deep as it takes to
   part them. What is new is put together first, and seen by others only with the last store. */
static int together(int cell, unsigned o, int old, unsigned b, unsigned depth)
{
	int below;
	unsigned mine, other;

	if (!old || depth > DEPTH_MAX)
		return (int)b + 1;
	below = new_child(cell, o);
	mine = octant(&cells[below], bodies[b].place);
	other = octant(&cells[below], bodies[old - 1].place);
	if (mine == other) {
		cells[below].child[mine] = together(below, mine, old, b, depth + 1);
	} else {
		cells[below].child[mine] = (int)b + 1;
		cells[below].child[other] = old;
	}
	return -below;
}

static void insert(unsigned me, unsigned b)
{
	int at = 0;

	for (unsigned depth = 0;; depth++) {
		unsigned o = octant(&cells[at], bodies[b].place);
		int child = cells[at].child[o]; /* without the lock */
		bool changed;

		LOOK_AGAIN();
		if (child < 0) {
			at = -child;
			continue;
		}
		pthread_mutex_lock(&locks[at % LOCKS]);
		changed = cells[at].child[o] != child;
		if (!changed)
			__atomic_store_n(&cells[at].child[o], together(at, o, child, b, depth), __ATOMIC_RELEASE);
		pthread_mutex_unlock(&locks[at % LOCKS]);
		if (!changed)
			return;
		late[me]++;
	}
}

/* The next bodies that nobody has taken. */
static bool take(unsigned *first, unsigned *last)
{
	pthread_mutex_lock(&counter_lock);
	*first = next_chunk;
	next_chunk += CHUNK;
	pthread_mutex_unlock(&counter_lock);
	*last = *first + CHUNK < n ? *first + CHUNK : n;
	return *first < n;
}

static void weigh(int c)
{
	struct cell *cell = &cells[c];

	cell->mass = cell->middle[0] = cell->middle[1] = cell->middle[2] = 0;
	for (unsigned o = 0; o < 8; o++) {
		int child = cell->child[o];
		const double *place;
		double mass;

		if (!child)
			continue;
		if (child < 0 && c)
			weigh(-child); /* those of the root are done: see weigh_all */
		place = child < 0 ? cells[-child].middle : bodies[child - 1].place;
		mass = child < 0 ? cells[-child].mass : bodies[child - 1].mass;
		cell->mass += mass;
		for (unsigned k = 0; k < 3; k++)
			cell->middle[k] += mass * place[k];
	}
	for (unsigned k = 0; k < 3; k++)
		cell->middle[k] /= cell->mass;
}

static void weigh_all(unsigned me)
{
	for (unsigned o = me; o < 8; o += threads)
		if (cells[0].child[o] < 0)
			weigh(-cells[0].child[o]);
	meet();
	if (me == 0)
		weigh(0);
	meet();
}

static void attract(double force[3], const double from[3], const double to[3], double mass)
{
	double d[3] = { to[0] - from[0], to[1] - from[1], to[2] - from[2] };
	double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFT, pull = mass / (r2 * sqrt(r2));

	for (unsigned k = 0; k < 3; k++)
		force[k] += d[k] * pull;
}

static void walk(unsigned me, struct body *body, int c)
{
	const struct cell *cell = &cells[c];

	visited[me]++;
	for (unsigned o = 0; o < 8; o++) {
		int child = cell->child[o];
		const struct cell *below = &cells[child < 0 ? -child : 0];
		double r2 = 0;

		if (child > 0 && &bodies[child - 1] != body)
			attract(body->force, body->place, bodies[child - 1].place, bodies[child - 1].mass);
		if (child >= 0)
			continue;
		for (unsigned k = 0; k < 3; k++)
			r2 += (below->middle[k] - body->place[k]) * (below->middle[k] - body->place[k]);
		if (4 * below->half * below->half < THETA * THETA * r2)
			attract(body->force, body->place, below->middle, below->mass);
		else
			walk(me, body, -child);
	}
}

static void begin_tree(void)
{
	static const double zero[3];
	double most = 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < 3; k++)
			most = fmax(most, fabs(bodies[i].place[k]));
	cells_used = 0;
	new_cell(zero, most * 1.001);
}

static void forces(unsigned me)
{
	for (unsigned first, last; take(&first, &last);)
		for (unsigned i = first; i < last; i++) {
			memset(bodies[i].force, 0, sizeof bodies[i].force);
			walk(me, &bodies[i], 0);
		}
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, first, last;

	share(me, n, &first, &last);
	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned i = first; i < last && r; i++)
			for (unsigned k = 0; k < 3; k++) {
				bodies[i].speed[k] += bodies[i].force[k] * TICK;
				bodies[i].place[k] += bodies[i].speed[k] * TICK;
			}
		meet();
		if (me == 0) {
			begin_tree();
			next_chunk = 0;
		}
		meet();
		for (unsigned i = me; i < n; i += threads)
			insert(me, i);
		meet();
		weigh_all(me);
		forces(me);
		meet();
	}
	return NULL;
}

/* How far forces are from the direct sum, for one body of every `every`: root of the mean squares, over that of the
   forces. */
static double error(unsigned every)
{
	double off = 0, size = 0;

	for (unsigned i = 0; i < n; i += every) {
		double exact[3] = { 0, 0, 0 };
		for (unsigned j = 0; j < n; j++)
			if (j != i)
				attract(exact, bodies[i].place, bodies[j].place, bodies[j].mass);
		for (unsigned k = 0; k < 3; k++) {
			off += (exact[k] - bodies[i].force[k]) * (exact[k] - bodies[i].force[k]);
			size += exact[k] * exact[k];
		}
	}
	return sqrt(off / size);
}

/* number() of one place and of the next are related; squares of places are less so. */
static double scattered(uint64_t i)
{
	return number(i * i * 977 + i * 331);
}

int main(int argc, char **argv)
{
	double sum = 0, check = 0;

	options(argc, argv);
	n = scaled(6000) < 16 ? 16 : scaled(6000);
	bodies = allocate(n * sizeof *bodies);
	cells = allocate((size_t)CELLS_MAX * sizeof *cells);
	memset(bodies, 0, n * sizeof *bodies);
	for (unsigned i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < 3; k++)
			bodies[i].place[k] = scattered(7 * i + k) * (1 + 3 * fabs(scattered(7 * i + 5)));
		bodies[i].mass = (1 + scattered(7 * i + 6)) / n;
		sum += bodies[i].mass;
	}
	start(work);
	for (unsigned t = 0; t < threads; t++)
		printf("barnes: thread %u visited %lu cells, %u times too late\n", t, visited[t], late[t]);
	for (unsigned i = 0; i < n; i++)
		check += bodies[i].force[0] + bodies[i].force[1] * 2 + bodies[i].force[2] * 3;
	printf("barnes: forces %.12g\n", check);
	if (rounds && (fabs(cells[0].mass - sum) > 1e-9 || error(n / 16) > 0.05)) {
		printf("barnes: WRONG: mass %g of %g, error %g\n", cells[0].mass, sum, error(n / 16));
		return 1;
	}
	return 0;
}
