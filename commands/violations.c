/*
 * What an order has logged, told by `heddle stat`: how many entries of each kind, and the atomicity violations that it
 * has seen while it recorded (tplay: a transaction that others came into), with their source lines. An entry of these
 * has the addresses of the two sites.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "meta.h"
#include "commands/sites.h"
#include "runtime/order/order.h"
#include "trace/numbers.h"

#define SHOWN 20

struct violation {
	unsigned image;
	uint64_t here, there; /* the access that violated its thread's transaction; the one it came after */
	uint64_t count;
};

static struct violation *list; /* each pair of places once */
static size_t count, room;
static uint64_t all;
static struct {
	const char *name;
	uint64_t count;
} kinds[8]; /* of entries */

static void count_entry(const char *name, uint64_t more)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!kinds[i].name || !strcmp(kinds[i].name, name)) {
			kinds[i].name = name;
			kinds[i].count += more;
			return;
		}
}

static void add(unsigned image, uint64_t here, uint64_t there)
{
	all++;
	for (size_t i = 0; i < count; i++)
		if (list[i].image == image && list[i].here == here && list[i].there == there) {
			list[i].count++;
			return;
		}
	if (count == room) {
		room = room ? 2 * room : 64;
		list = realloc(list, room * sizeof *list);
		if (!list)
			die("not enough memory");
	}
	list[count++] = (struct violation){ image, here, there, 1 };
}

/* Entries are whole within a piece. */
void violations_see(const struct order_scheme *scheme, unsigned image, const struct entry *e)
{
	const uint8_t *at = (const uint8_t *)(trace_args(e) + 1), *end = at + e->result;
	uint64_t numbers[15] = { 0 }, sites[2], more;

	while (scheme && at < end) {
		unsigned n = number_get(&at, end) & 15;
		for (unsigned i = 0; i < n; i++)
			numbers[i] = number_get(&at, end);
		more = 1;
		const char *name = scheme->entries ? scheme->entries(numbers, n, &more) : "entries";
		count_entry(name, more);
		if (scheme->violation && scheme->violation(numbers, n, sites))
			add(image, sites[0], sites[1]);
	}
}

static int by_count(const void *a, const void *b)
{
	const struct violation *x = a, *y = b;

	return x->count > y->count ? -1 : x->count < y->count;
}

static const char *place(struct where *w, uint64_t site, char *text, size_t size)
{
	char path[PATH_ROOM];
	uint64_t address;

	snprintf(text, size, site ? "a place that is not known" : SITES_NONE);
	if (site && where_file(w, site, path, sizeof path, &address))
		sites_place(path, address, text, size);
	return text;
}

static struct where *where_of(const struct meta *meta, struct where *w, size_t i)
{
	if (i && list[i].image == list[i - 1].image)
		return w;
	where_close(w);
	return where_open(meta, list[i].image, 0, UINT64_MAX);
}

void violations_print(const struct meta *meta)
{
	struct where *w = NULL;
	char here[1024], there[1024];

	if (!count)
		return;
	qsort(list, count, sizeof *list, by_count);
	printf("\n     %" PRIu64 " violations of atomicity, at %zu pairs of places\n", all, count);
	for (size_t i = 0; i < count && i < SHOWN; i++) {
		w = where_of(meta, w, i);
		printf("  %10" PRIu64 "  %s, after %s\n", list[i].count, place(w, list[i].here, here, sizeof here),
		       place(w, list[i].there, there, sizeof there));
	}
	if (count > SHOWN)
		printf("              and %zu more pairs; --json has all\n", count - SHOWN);
	where_close(w);
}

json_t *violations_json(const struct meta *meta)
{
	struct where *w = NULL;
	json_t *array = json_array();
	char here[1024], there[1024];

	if (count)
		qsort(list, count, sizeof *list, by_count);
	for (size_t i = 0; i < count; i++) {
		w = where_of(meta, w, i);
		place(w, list[i].here, here, sizeof here);
		place(w, list[i].there, there, sizeof there);
		json_array_append_new(array, json_pack("{sI si so so}", "count", (json_int_t)list[i].count, "image",
						       (int)list[i].image, "at", text_to_json(here, strlen(here)),
						       "after", text_to_json(there, strlen(there))));
	}
	where_close(w);
	return array;
}

void order_entries_print(const struct meta *meta)
{
	if (kinds[0].name)
		printf("\n     logged by --order=%s:", meta->order);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && kinds[i].name; i++)
		printf("%s %" PRIu64 " %s", i ? "," : "", kinds[i].count, kinds[i].name);
	if (kinds[0].name)
		putchar('\n');
}

json_t *order_entries_json(void)
{
	json_t *o = json_object();

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && kinds[i].name; i++)
		json_object_set_new(o, kinds[i].name, json_integer((json_int_t)kinds[i].count));
	return o;
}
