/*
 * Which accesses can meet in memory? A line ends with the name of what it accesses; names that begin alike up to a dot may
 * be told apart or not, all others must be told apart, and the same name must be the same element. tests/compiler/elements.py.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pair {
	long x, y;
};
struct cast {
	long x, y;
};
struct member {
	int x, y;
};
struct from {
	long x, y;
};
struct in_array {
	int a[4];
	int b;
};
union both {
	int i;
	float f;
};

static struct pair *pairs;
static struct cast *casts;
static struct member *members;
static struct from source, target;
static struct in_array *arrays;
static union both *unions;
static long counter;
static char buffer[64];

__attribute__((noinline)) static void add(int *to)
{
	++*to; // member
}

__attribute__((noinline)) static void clear(long *to)
{
	to[0] = to[1] = 0; // cast
}

__attribute__((noinline)) static void set_x(struct pair *p, long x)
{
	p->x = x; // pair.x
}

__attribute__((noinline)) static void set_y(struct pair *p, long y)
{
	p->y = y; // pair.y
}

static void *run(void *arg)
{
	pairs[1].x++;	  // pair.x
	pairs[2].y += 2;  // pair.y
	casts[1].x++;	  // cast
	casts[2].y++;	  // cast
	members[1].x++;	  // member
	members[2].y++;	  // member
	arrays[1].b++;	  // array
	arrays[1].a[2]++; // array
	unions[1].i++;	  // union
	unions[1].f += 1; // union
	source.x++;	  // copied
	target.y++;	  // copied
	counter++;	  // counter
	buffer[1]++;	  // kernel
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	pairs = malloc((unsigned)argc * sizeof *pairs); /* not set as a whole: all fields would be one */
	for (int i = 0; i < argc; i++) {
		set_x(&pairs[i], i + argc);
		set_y(&pairs[i], i - argc);
	}
	casts = calloc(4, sizeof *casts);
	members = calloc(4, sizeof *members);
	arrays = calloc(4, sizeof *arrays);
	unions = calloc(4, sizeof *unions);
	pthread_create(&t, NULL, run, NULL);
	add(&members[3].x);
	clear((long *)&casts[3]);
	memcpy(&target, &source, sizeof target);
	if (read(0, buffer, sizeof buffer) < 0)
		return 1;
	pthread_join(t, NULL);
	return !argv;
}
