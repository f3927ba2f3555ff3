/*
 * Water: n-squared molecular dynamics. Each thread works out the forces of its molecules on the half of all others that
 * follows, gathers them in an array of its own, and adds them to the shared one under a lock for each group of
 * molecules. A reduction of the energies under one lock. Free of races; but sums of fractions come out differently in
 * their last digits with the order in which the locks were taken, so that the motion, printed exactly, differs from run
 * to run.
 *
 * The result is right if momentum and energy are kept.
 */
#include "kernels.h"
#include <math.h>
#include <string.h>

enum { MOLECULES_MAX = 4096, GROUP = 8, STEPS = 4 };
static const double TICK = 1e-4, CUTOFF2 = 6.25;

struct vector {
	double x, y, z;
};

static unsigned n, side;
static double edge;
static struct vector place[MOLECULES_MAX], speed[MOLECULES_MAX], force[MOLECULES_MAX];
static struct vector *gathered[THREADS_MAX];
static pthread_mutex_t group_lock[MOLECULES_MAX / GROUP + 1];
static pthread_mutex_t energy_lock = PTHREAD_MUTEX_INITIALIZER;
static double potential, kinetic, at_first;
static unsigned long steps_done;

/* A cubic lattice, each molecule with a small speed of its own. */
static void place_all(void)
{
	struct vector sum = { 0, 0, 0 };

	for (side = 1; side * side * side < n; side++)
		;
	edge = side * 1.2;
	for (unsigned i = 0; i < n; i++) {
		place[i] = (struct vector){ (i % side) * 1.2, (i / side % side) * 1.2, (i / side / side) * 1.2 };
		speed[i] = (struct vector){ number(3 * i), number(3 * i + 1), number(3 * i + 2) };
		sum.x += speed[i].x, sum.y += speed[i].y, sum.z += speed[i].z;
	}
	for (unsigned i = 0; i < n; i++)
		speed[i].x -= sum.x / n, speed[i].y -= sum.y / n, speed[i].z -= sum.z / n;
}

/* The box is periodic: the nearest image counts. */
static double nearest(double d)
{
	if (d > edge / 2)
		return d - edge;
	return d < -edge / 2 ? d + edge : d;
}

static void add(struct vector *to, struct vector v, double factor)
{
	to->x += v.x * factor;
	to->y += v.y * factor;
	to->z += v.z * factor;
}

/* Lennard-Jones, shifted to nothing at the cutoff. Returns the energy of the pair. */
static double pair(struct vector *mine, unsigned i, unsigned j)
{
	struct vector d = { nearest(place[i].x - place[j].x), nearest(place[i].y - place[j].y),
			    nearest(place[i].z - place[j].z) };
	double r2 = d.x * d.x + d.y * d.y + d.z * d.z, r6, c6 = 1 / (CUTOFF2 * CUTOFF2 * CUTOFF2);

	if (r2 >= CUTOFF2)
		return 0;
	r6 = 1 / (r2 * r2 * r2);
	add(&mine[i], d, 24 * (2 * r6 * r6 - r6) / r2);
	add(&mine[j], d, -24 * (2 * r6 * r6 - r6) / r2);
	return 4 * (r6 * r6 - r6) - 4 * (c6 * c6 - c6);
}

static double pairs_of(struct vector *mine, unsigned i)
{
	double energy = 0;

	for (unsigned k = 1; k <= n / 2; k++) {
		/* With an even number the molecule opposite would be met from both sides. */
		if (2 * k == n && i >= k)
			continue;
		energy += pair(mine, i, (i + k) % n);
	}
	return energy;
}

/* What this thread gathered goes to all, from its own molecules on, so that threads seldom wait for one another. */
static void give(unsigned first, const struct vector *mine)
{
	unsigned groups = (n + GROUP - 1) / GROUP;

	for (unsigned g = 0; g < groups; g++) {
		unsigned group = (first / GROUP + g) % groups;
		pthread_mutex_lock(&group_lock[group]);
		for (unsigned i = group * GROUP; i < (group + 1) * GROUP && i < n; i++)
			add(&force[i], mine[i], 1);
		pthread_mutex_unlock(&group_lock[group]);
	}
}

static double move(unsigned first, unsigned last)
{
	double energy = 0;

	for (unsigned i = first; i < last; i++) {
		struct vector half = speed[i];
		add(&half, force[i], TICK / 2);
		energy += (half.x * half.x + half.y * half.y + half.z * half.z) / 2;
		add(&speed[i], force[i], TICK);
		add(&place[i], speed[i], TICK);
		place[i].x -= edge * floor(place[i].x / edge);
		place[i].y -= edge * floor(place[i].y / edge);
		place[i].z -= edge * floor(place[i].z / edge);
	}
	return energy;
}

static void step(unsigned me, unsigned first, unsigned last)
{
	struct vector *mine = gathered[me];
	double energy = 0;

	memset(mine, 0, n * sizeof *mine);
	memset(force + first, 0, (last - first) * sizeof *force);
	if (me == 0)
		potential = kinetic = 0;
	meet();
	for (unsigned i = first; i < last; i++)
		energy += pairs_of(mine, i);
	give(first, mine);
	meet();
	double motion = move(first, last);
	pthread_mutex_lock(&energy_lock);
	potential += energy;
	kinetic += motion;
	pthread_mutex_unlock(&energy_lock);
	meet();
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, first, last;

	share(me, n, &first, &last);
	for (unsigned s = 0; s < rounds * STEPS; s++) {
		step(me, first, last);
		if (me == 0 && steps_done++ == 0)
			at_first = potential + kinetic;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct vector sum = { 0, 0, 0 };

	options(argc, argv);
	n = scaled(900) < 8 ? 8 : scaled(900) > MOLECULES_MAX ? MOLECULES_MAX : scaled(900);
	for (unsigned g = 0; g <= MOLECULES_MAX / GROUP; g++)
		pthread_mutex_init(&group_lock[g], NULL);
	for (unsigned t = 0; t < threads; t++)
		gathered[t] = allocate(n * sizeof(struct vector));
	place_all();
	start(work);
	for (unsigned i = 0; i < n; i++)
		add(&sum, speed[i], 1);
	double lost = fabs(sum.x) + fabs(sum.y) + fabs(sum.z), drift = fabs(potential + kinetic - at_first) / n;
	printf("water: %u molecules, %lu steps, energy %.17g\n", n, steps_done, potential + kinetic);
	if (lost > 1e-6 || drift > 1e-3) {
		printf("water: WRONG: momentum %g, energy drift %g\n", lost, drift);
		return 1;
	}
	return 0;
}
