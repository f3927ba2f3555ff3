/*
 * Raytracer: spheres over a floor, with shadows and mirrors. The picture is cut into tiles; each thread has a queue of
 * them, and steals from the others' when its own is empty. All count rays in one variable without a lock, as SPLASH's
 * raytracer does: a race that loses counts. The picture is the same in each run; the number of rays, who drew how many
 * tiles, and who stole, differ.
 *
 * The result is right if each pixel was drawn once, and a part of them comes out the same when drawn again.
 */
#include "kernels.h"
#include <math.h>

enum { SPHERES = 24, TILE = 8, BOUNCES = 4, SIDE_MAX = 1024, TILES_MAX = (SIDE_MAX / TILE) * (SIDE_MAX / TILE) };

struct vector {
	double x, y, z;
};
struct sphere {
	struct vector middle;
	double radius, mirror, shade;
};

static struct sphere spheres[SPHERES];
static unsigned side, tiles;
static float *picture;
static unsigned char *drawn; /* how often each pixel was */

/* The owner takes from the end, thieves from the front. */
static struct tiles {
	pthread_mutex_t lock;
	unsigned first, last, *tile;
} queues[THREADS_MAX];
static unsigned long rays; /* counted by all without a lock */
static unsigned done[THREADS_MAX], stolen[THREADS_MAX];

static struct vector plus(struct vector a, struct vector b, double factor)
{
	return (struct vector){ a.x + b.x * factor, a.y + b.y * factor, a.z + b.z * factor };
}

static double dot(struct vector a, struct vector b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector unit(struct vector v)
{
	return plus((struct vector){ 0, 0, 0 }, v, 1 / sqrt(dot(v, v)));
}

static void scene(void)
{
	for (unsigned i = 0; i < SPHERES; i++)
		spheres[i] =
			(struct sphere){ { number(5 * i) * 8, number(5 * i + 1) * 2 + 1, number(5 * i + 2) * 8 + 8 },
					 0.4 + fabs(number(5 * i + 3)),
					 i % 3 ? 0.6 : 0,
					 0.5 + number(5 * i + 4) };
}

/* The distance to a sphere, less than `nearest`; or that. */
static double meets(const struct sphere *s, struct vector from, struct vector to, double nearest)
{
	struct vector d = plus(s->middle, from, -1);
	double along = dot(d, to), off = dot(d, d) - along * along, root;

	if (off > s->radius * s->radius)
		return nearest;
	root = sqrt(s->radius * s->radius - off);
	if (along - root > 1e-6)
		return along - root < nearest ? along - root : nearest;
	return along + root > 1e-6 && along + root < nearest ? along + root : nearest;
}

static const struct sphere *first_met(struct vector from, struct vector to, double *distance)
{
	const struct sphere *found = NULL;

	for (unsigned i = 0; i < SPHERES; i++) {
		double d = meets(&spheres[i], from, to, *distance);
		if (d < *distance) {
			*distance = d;
			found = &spheres[i];
		}
	}
	return found;
}

static double lit(struct vector at, struct vector normal)
{
	struct vector light = unit((struct vector){ 0.5, 0.8, -0.6 });
	double far = 1e9, slope = dot(normal, light);

	if (slope <= 0 || first_met(at, light, &far))
		return 0.1;
	return 0.1 + 0.9 * slope;
}

static double trace(struct vector from, struct vector to, unsigned bounces, unsigned *count)
{
	double distance = to.y < -1e-9 ? (from.y + 2) / -to.y : 1e9, shade, mirror;
	const struct sphere *sphere = first_met(from, to, &distance);
	struct vector at = plus(from, to, distance), normal = { 0, 1, 0 };

	++*count;
	if (!sphere && distance >= 1e9)
		return 0.3 + 0.5 * fabs(to.y);
	if (sphere) {
		normal = unit(plus(at, sphere->middle, -1));
		shade = sphere->shade;
		mirror = sphere->mirror;
	} else {
		shade = ((long)floor(at.x) + (long)floor(at.z)) % 2 ? 0.9 : 0.2;
		mirror = 0.1;
	}
	shade *= lit(at, normal);
	if (mirror > 0 && bounces)
		shade = (1 - mirror) * shade +
			mirror * trace(at, plus(to, normal, -2 * dot(to, normal)), bounces - 1, count);
	return shade;
}

static float pixel(unsigned x, unsigned y, unsigned *count)
{
	struct vector to = { (double)x / side - 0.5, 0.5 - (double)y / side, 1 };

	return (float)trace((struct vector){ 0, 1, -3 }, unit(to), BOUNCES, count);
}

static void draw(unsigned tile)
{
	unsigned across = side / TILE, x = tile % across * TILE, y = tile / across * TILE;

	for (unsigned j = y; j < y + TILE; j++) {
		unsigned count = 0;
		for (unsigned i = x; i < x + TILE; i++) {
			picture[j * side + i] = pixel(i, j, &count);
			drawn[j * side + i]++;
		}
		LOOK_AGAIN();
		rays += count; /* the race */
	}
}

static bool take(struct tiles *queue, bool own, unsigned *tile)
{
	bool found;

	pthread_mutex_lock(&queue->lock);
	found = queue->first < queue->last;
	if (found)
		*tile = queue->tile[own ? --queue->last : queue->first++];
	pthread_mutex_unlock(&queue->lock);
	return found;
}

static bool take_any(unsigned me, unsigned *tile)
{
	if (take(&queues[me], true, tile))
		return true;
	for (unsigned i = 1; i < threads; i++)
		if (take(&queues[(me + i) % threads], false, tile)) {
			stolen[me]++;
			return true;
		}
	return false;
}

static void deal(unsigned me)
{
	struct tiles *queue = &queues[me];
	unsigned first, last;

	share(me, tiles, &first, &last);
	queue->first = queue->last = 0;
	for (unsigned t = first; t < last; t++)
		queue->tile[queue->last++] = t;
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, tile;

	for (unsigned r = 0; r < rounds; r++) {
		deal(me);
		meet();
		while (take_any(me, &tile)) {
			draw(tile);
			done[me]++;
		}
		meet();
	}
	return NULL;
}

static unsigned check(uint64_t *sum)
{
	unsigned wrong = 0, count = 0;

	for (unsigned i = 0; i < side * side; i++) {
		wrong += drawn[i] != (unsigned char)rounds;
		if (i % 61 == 0)
			wrong += picture[i] != pixel(i % side, i / side, &count);
		*sum = *sum * 31 + (uint64_t)(picture[i] * 65536);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	unsigned wrong;
	uint64_t sum = 0;

	options(argc, argv);
	side = (unsigned)(160 * sqrt(percent / 100.0)) / TILE * TILE;
	side = side < TILE ? TILE : side > SIDE_MAX ? SIDE_MAX : side;
	tiles = (side / TILE) * (side / TILE);
	picture = allocate(side * side * sizeof *picture);
	drawn = allocate(side * side);
	for (unsigned i = 0; i < side * side; i++)
		picture[i] = 0, drawn[i] = 0;
	for (unsigned t = 0; t < threads; t++) {
		pthread_mutex_init(&queues[t].lock, NULL);
		queues[t].tile = allocate(tiles * sizeof(unsigned));
	}
	scene();
	start(work);
	for (unsigned t = 0; t < threads; t++)
		printf("raytrace: thread %u drew %u tiles, %u of them stolen\n", t, done[t], stolen[t]);
	wrong = rounds ? check(&sum) : 0;
	printf("raytrace: %lu rays, picture %016llx\n", rays, (unsigned long long)sum);
	if (wrong)
		printf("raytrace: WRONG: %u pixels\n", wrong);
	return wrong != 0;
}
