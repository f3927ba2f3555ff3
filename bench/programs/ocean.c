/*
 * Ocean: currents in a basin that the wind drives. In each step the vorticity moves with the currents (a stencil over
 * two grids into a third), and then the stream function is relaxed towards it, red points and black ones in turn. Each
 * thread has its rows; neighbours are read over the border. How much moved, and how strong the currents are, is added
 * up after each step.
 *
 * The result is right if every point of the colour that came last is what its neighbours and the vorticity say, the
 * vorticity is what was computed for it, the borders are still, and the sums that the threads made are those of the
 * grid.
 */
#include "kernels.h"
#include <math.h>

enum { SWEEPS = 10 };
static const double STEP = 0.05, BETA = 0.02, FRICTION = 0.1, DRAG = 0.01, WIND = 0.001;
static unsigned n; /* points of a side, with the borders */
static double *psi, *zeta, *next;
static struct {
	double moved, energy;
	double pad[6]; /* a cache line each */
} sums[THREADS_MAX];

static double *row(double *grid, unsigned i)
{
	return grid + (size_t)i * n;
}

/* Points of one colour to what their neighbours and the vorticity say. */
static double sweep(unsigned first, unsigned last, unsigned colour)
{
	double sum = 0;

	for (unsigned i = first; i < last; i++) {
		double *at = row(psi, i), *above = row(psi, i - 1), *below = row(psi, i + 1), *vorticity = row(zeta, i);
		for (unsigned j = 1 + (i + colour) % 2; j < n - 1; j += 2) {
			double mean = (above[j] + below[j] + at[j - 1] + at[j + 1] - vorticity[j]) / 4;
			sum += fabs(mean - at[j]);
			at[j] = mean;
		}
	}
	return sum;
}

/* The vorticity a step later, into `next`. */
static void advance(unsigned first, unsigned last)
{
	for (unsigned i = first; i < last; i++) {
		const double *p = row(psi, i), *p_up = row(psi, i - 1), *p_down = row(psi, i + 1);
		const double *z = row(zeta, i), *z_up = row(zeta, i - 1), *z_down = row(zeta, i + 1);
		double *to = row(next, i), wind = WIND * sin(M_PI * i / (n - 1));
		for (unsigned j = 1; j < n - 1; j++) {
			double east = p[j + 1] - p[j - 1], south = p_down[j] - p_up[j];
			double carried = (east * (z_down[j] - z_up[j]) - south * (z[j + 1] - z[j - 1])) / 4;
			double spread = z_up[j] + z_down[j] + z[j - 1] + z[j + 1] - 4 * z[j];
			to[j] = z[j] + STEP * (FRICTION * spread + wind - carried - BETA * east / 2 - DRAG * z[j]);
		}
	}
}

static void put_back(unsigned first, unsigned last)
{
	for (unsigned i = first; i < last; i++) {
		double *to = row(zeta, i);
		const double *from = row(next, i);
		for (unsigned j = 1; j < n - 1; j++)
			to[j] = from[j];
	}
}

static double energy(unsigned first, unsigned last)
{
	double sum = 0;

	for (unsigned i = first; i < last; i++) {
		const double *p = row(psi, i), *below = row(psi, i + 1);
		for (unsigned j = 1; j < n - 1; j++)
			sum += (below[j] - p[j]) * (below[j] - p[j]) + (p[j + 1] - p[j]) * (p[j + 1] - p[j]);
	}
	return sum;
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, first, last;

	share(me, n - 2, &first, &last);
	first++, last++;
	for (unsigned r = 0; r < rounds; r++) {
		advance(first, last);
		meet();
		put_back(first, last);
		meet();
		double moved = 0;
		for (unsigned s = 0; s < SWEEPS; s++) {
			moved += sweep(first, last, 0);
			meet();
			moved += sweep(first, last, 1);
			meet();
		}
		sums[me].moved = moved;
		sums[me].energy = energy(first, last);
		meet();
	}
	return NULL;
}

/* The largest difference between what is there and what was to come out. */
static double misfit(void)
{
	double worst = 0;

	for (unsigned i = 1; i < n - 1; i++)
		for (unsigned j = 1; j < n - 1; j++) {
			const double *p = row(psi, i) + j, *up = row(psi, i - 1) + j, *down = row(psi, i + 1) + j;
			double curl = *up + *down + p[-1] + p[1] - 4 * *p, vorticity = row(zeta, i)[j];
			if ((i + 1) % 2 == (j - 1) % 2)
				worst = fmax(worst, fabs(curl - vorticity));
			worst = fmax(worst, fabs(vorticity - row(next, i)[j]));
		}
	return worst;
}

static bool is_still_at_borders(void)
{
	bool still = true;

	for (unsigned i = 0; i < n; i++)
		still &= row(psi, 0)[i] == 0 && row(psi, n - 1)[i] == 0 && row(psi, i)[0] == 0 &&
			 row(psi, i)[n - 1] == 0;
	return still;
}

int main(int argc, char **argv)
{
	double moved = 0, strength = 0;

	options(argc, argv);
	n = 2 + (unsigned)(512 * sqrt(percent / 100.0));
	size_t size = (size_t)n * n * sizeof(double);
	psi = allocate(size);
	zeta = allocate(size);
	next = allocate(size);
	for (size_t i = 0; i < (size_t)n * n; i++) {
		bool border = i < n || i >= (size_t)n * (n - 1) || i % n == 0 || i % n == n - 1;
		psi[i] = next[i] = 0;
		zeta[i] = border ? 0 : number(i) * 1e-3;
	}
	start(work);
	for (unsigned i = 0; i < threads; i++) {
		moved += sums[i].moved;
		strength += sums[i].energy;
	}
	double whole = energy(1, n - 1);
	bool right = !rounds || (misfit() < 1e-9 && is_still_at_borders() && fabs(strength - whole) <= 1e-9 * whole);
	printf("ocean: moved by %.9f, energy %.9g%s\n", moved, strength, right ? "" : ", WRONG");
	return !right;
}
