/* What the pass once got wrong, each in a few lines: what must come out is what clang's program prints. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Two loads follow one another, and the call behind them has both: what it looks for is in a group. */
struct parser {
	const char *text;
	int separator;
};
static struct parser parser = { "a:b", ':' };

__attribute__((noinline)) static const char *find(struct parser *p)
{
	return strchr(p->text, p->separator);
}

__attribute__((noinline)) static const char *find_among(struct parser *p, size_t n)
{
	return memchr(p->text, p->separator, n);
}

/* An argument by value that wants more than 16 bytes of alignment. */
struct wide {
	_Alignas(64) double d[8];
};
static struct wide shared = { { 1, 2, 3, 4, 5, 6, 7, 8 } };

__attribute__((noinline)) static double sum(struct wide w, int from)
{
	double s = (double)((uintptr_t)&w % 64);

	for (int i = 0; i < 8; i++)
		s = s * 3 + w.d[(i + from) % 8];
	return s;
}

__attribute__((noinline)) static double sums(struct wide *w, int from)
{
	return sum(*w, from) + sum(*w, from + 1);
}

/* A function that chooses another one, before the program begins, and what that calls. */
static int level = -1;

__attribute__((noinline)) static int find_level(void)
{
	for (volatile int i = 0; i < 3; i++)
		level = i;
	return level;
}

static int one(int x)
{
	return x + 1;
}

static int two(int x)
{
	return x + 2;
}

static int (*choose(void))(int)
{
	return find_level() > 1 ? two : one;
}

int chosen(int x) __attribute__((ifunc("choose")));

#ifdef __x86_64__
static unsigned long __seg_fs *const own = (unsigned long __seg_fs *)0;

__attribute__((noinline)) static unsigned long own_block(void)
{
	return own[0];
}
#else
static unsigned long own_block(void)
{
	return 1;
}
#endif

/* 16 bytes: which is greater, the upper half says first. */
typedef unsigned __int128 number;
static number cell;

static void show_number(const char *what, number before)
{
	printf("%s %llu:%llu was %llu:%llu\n", what, (unsigned long long)(cell >> 64), (unsigned long long)cell,
	       (unsigned long long)(before >> 64), (unsigned long long)before);
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%s %d\n", find(&parser), find_among(&parser, (size_t)argc + 2) == NULL);
	printf("%g\n", sums(&shared, argc));
	printf("%d %d %d\n", chosen(1), find_level(), own_block() != 0);
	cell = (number)1 << 64 | 5;
	show_number("max", __atomic_fetch_max(&cell, (number)9, __ATOMIC_SEQ_CST));
	show_number("max", __atomic_fetch_max((__int128 *)&cell, -((__int128)1 << 64), __ATOMIC_SEQ_CST));
	show_number("min", __atomic_fetch_min(&cell, (number)9 << 64 | 1, __ATOMIC_SEQ_CST));
	show_number("min", __atomic_fetch_min((__int128 *)&cell, -((__int128)7), __ATOMIC_SEQ_CST));
	return 0;
}
