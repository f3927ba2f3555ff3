/*
 * A race is told once for each pair of places in the source: appended to the file `races` in replay's work directory,
 * as a struct race, for `heddle replay` to print. Names and lines are in the program's own memory: its sites.
 */
#include "runtime/races/races.h"
#include <linux/fcntl.h>

/* ---- sets of locks, each with a number --------------------------------------------------------------------------- */

#define SETS 4096
static struct lockset {
	uint32_t count;
	uint64_t locks[RACER_LOCKS];
} sets[SETS];
static uint32_t set_count = 1, sets_lock;

uint32_t lockset_of(const uint64_t *held, uint32_t count)
{
	uint32_t i = 0;
	if (!count)
		return 0;
	order_lock(&sets_lock);
	for (i = 1; i < set_count; i++)
		if (sets[i].count == count && !memcmp(sets[i].locks, held, count * sizeof *held))
			break;
	if (i == set_count && i < SETS) {
		sets[i].count = count;
		memcpy(sets[i].locks, held, count * sizeof *held);
		set_count++;
	}
	order_unlock(&sets_lock);
	return i < SETS ? i : 0;
}

/* ---- pairs of places --------------------------------------------------------------------------------------------- */

#define PAIRS 4096
static struct pair {
	const struct hook_site *a, *b;
} pairs[PAIRS];
static uint32_t pair_count, pairs_lock;

/* Sites of one line, column and kind are one place: an inlined function has many. */
static bool same_place(const struct hook_site *a, const struct hook_site *b)
{
	if (a == b || !a || !b)
		return a == b;
	const char *file_a = (const char *)&a->file + a->file, *file_b = (const char *)&b->file + b->file;
	return a->line && a->line == b->line && a->column == b->column && a->kind == b->kind && !strcmp(file_a, file_b);
}

static bool is_new(const struct hook_site *a, const struct hook_site *b)
{
	for (uint32_t i = 0; i < pair_count; i++)
		if ((same_place(pairs[i].a, a) && same_place(pairs[i].b, b)) ||
		    (same_place(pairs[i].a, b) && same_place(pairs[i].b, a)))
			return false;
	if (pair_count == PAIRS)
		return false;
	pairs[pair_count++] = (struct pair){ a, b };
	return true;
}

static void copy_text(char *to, size_t room, const int32_t *offset)
{
	const char *from = *offset ? (const char *)offset + *offset : "";
	size_t n = MIN(strlen(from), room - 1);
	memcpy(to, from, n);
	to[n] = 0;
}

static void fill_side(struct race_side *s, const struct record *x)
{
	*s = (struct race_side){ .slot = x->slot,
				 .writes = !!(x->flags & RECORD_WRITES),
				 .reads = x->flags & RECORD_READS,
				 .size = x->size,
				 .event = x->event,
				 .value = x->value };
	s->atomic = !!(x->flags & RECORD_ATOMIC);
	if (x->site) {
		s->known = 1;
		s->line = x->site->line;
		s->column = x->site->column;
		s->kind = x->site->kind;
		copy_text(s->file, sizeof s->file, &x->site->file);
		copy_text(s->function, sizeof s->function, &x->site->function);
	}
	for (uint32_t i = 0; i < MIN(sets[x->lockset].count, RACE_LOCKS); i++)
		s->locks[i] = sets[x->lockset].locks[i];
}

void races_found(const struct record *before, const struct record *now, uint64_t addr)
{
	static struct race race;
	order_lock(&pairs_lock);
	if (!is_new(before->site, now->site)) {
		order_unlock(&pairs_lock);
		return;
	}
	race = (struct race){ .image = image_number,
			      .addr = addr + (uint64_t)__builtin_ctz(before->bytes & now->bytes),
			      .full = pair_count == PAIRS };
	fill_side(&race.side[0], before);
	fill_side(&race.side[1], now);
	TEXT(path, PATH_ROOM + 16);
	text_add(&path, "%s/races", control->work_dir);
	long fd = file_open(TEXT_OF(path), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (is_error(fd) || SYS3(__NR_write, fd, &race, sizeof race) != (long)sizeof race)
		cannot("--races: %s cannot be written", TEXT_OF(path));
	file_close(fd);
	order_unlock(&pairs_lock);
}
