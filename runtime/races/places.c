/*
 * Where threads are at certain accesses. That an access matters is often known only when another one is made: heddle
 * then lets the replay run once more, with the list of those accesses in the file `points`, and each thread that comes
 * to one of them leaves its registers and a piece of its stack in `places`.
 */
#include "runtime/races/races.h"
#include <linux/fcntl.h>
#include <linux/mman.h>

static const struct point *points;
static uint64_t count;

void places_start(void)
{
	TEXT(path, PATH_ROOM + 16);
	text_add(&path, "%s/points", control->work_dir);
	long fd = file_open(TEXT_OF(path), O_RDONLY, 0);
	long size = is_error(fd) ? fd : SYS3(__NR_lseek, fd, 0, 2);
	if (is_error(fd) || size < 0)
		cannot("%s cannot be read: error %d", TEXT_OF(path), -size);
	struct point *all = order_memory((size_t)size + 1);
	if (file_read(fd, all, (size_t)size, 0) != size)
		cannot("%s cannot be read", TEXT_OF(path));
	file_close(fd);
	points = all;
	count = (uint64_t)size / sizeof *points;
}

static void leave(const struct thread *t, const struct point *point)
{
	static uint32_t lock;
	static struct place place;
	order_lock(&lock);
	place_fill(&place, t);
	TEXT(path, PATH_ROOM + 16);
	text_add(&path, "%s/places", control->work_dir);
	long fd = file_open(TEXT_OF(path), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (is_error(fd) || SYS3(__NR_write, fd, point, sizeof *point) != (long)sizeof *point ||
	    SYS3(__NR_write, fd, &place, sizeof place) != (long)sizeof place)
		cannot("%s cannot be written", TEXT_OF(path));
	file_close(fd);
	order_unlock(&lock);
}

/* They are few. An access of several granules comes here once for each part, which are accesses of their own. */
void places_look(struct thread *t)
{
	uint64_t event = t->self ? t->self->events / 2 : 0;
	for (uint64_t i = 0; i < count; i++)
		if (points[i].event == event && points[i].slot == t->slot && points[i].image == image_number)
			leave(t, &points[i]);
}
