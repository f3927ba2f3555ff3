/*
 * The nodes of a timeline: from the trace (system calls, signals, beginnings) and from the story that a replay told
 * (trace/watched.h), put together by the numbers of the trace's entries.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "commands/sites.h"
#include "runtime/memory/map.h"
#include "runtime/syscalls/describe.h"
#include "timeline.h"
#include "trace/watched.h"

#define TEXT_MOST  120
#define TEXTS_MOST 300000 /* different ones; then a call is only named */

struct node *timeline_add(struct lane *lane, const struct node *node)
{
	if (lane->count == lane->room) {
		lane->room = lane->room ? 2 * lane->room : 256;
		if (!(lane->nodes = realloc(lane->nodes, lane->room * sizeof *lane->nodes)))
			die("not enough memory");
	}
	lane->nodes[lane->count] = *node;
	return &lane->nodes[lane->count++];
}

struct lane *timeline_lane(struct timeline *t, unsigned image, unsigned slot)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->lanes[i].image == image && t->lanes[i].slot == slot)
			return &t->lanes[i];
	return NULL;
}

/* ---- places and names -------------------------------------------------------------------------------------------- */

#define CACHE 65536
struct reader {
	struct timeline *t;
	struct lane *lane;
	struct where *where;
	const struct story_event *story, *story_end; /* what is left of the window at hand */
	char *windows;
	size_t size, window;
	struct node last; /* how far the thread is */
	struct source *sources;
	size_t nsources;
	struct {
		uint64_t addr;
		uint32_t number;
	} cache[CACHE], named[CACHE]; /* places and objects of one image, by address */
};

static bool is_ours(struct reader *r, uint64_t pc)
{
	return pc >= MAP_OURS_BASE || !strcmp(where_object(r->where, pc), "libheddle.so");
}

/* Its number; 0: of heddle, or not known. */
static uint32_t place_of(struct reader *r, uint64_t pc)
{
	size_t at = (pc * 0x9e3779b97f4a7c15ull) >> 48;
	char text[PATH_ROOM];

	if (r->cache[at].addr == pc)
		return r->cache[at].number;
	bool known = !is_ours(r, pc) && where_describe(r->where, pc, text, sizeof text);
	r->cache[at].addr = pc;
	return r->cache[at].number = known ? texts_number(&r->t->places, text) : 0;
}

static uint32_t site_place(struct reader *r, uint64_t site)
{
	size_t at = (site * 0x9e3779b97f4a7c15ull) >> 48;
	char path[PATH_ROOM], text[1024];
	uint64_t address;

	if (!site)
		return 0;
	if (r->cache[at].addr == site)
		return r->cache[at].number;
	snprintf(text, sizeof text, "?");
	if (where_file(r->where, site, path, sizeof path, &address))
		sites_place(path, address, text, sizeof text);
	r->cache[at].addr = site;
	return r->cache[at].number = texts_number(&r->t->places, text);
}

static uint32_t stack_of_site(struct reader *r, uint64_t site)
{
	char text[16] = "";
	uint32_t place = site_place(r, site);

	if (place)
		snprintf(text, sizeof text, "%u", place);
	return texts_number(&r->t->stacks, text);
}

/* Up to " (": the function. */
static bool same_function(const struct timeline *t, uint32_t a, uint32_t b)
{
	const char *x = t->places.all[a], *y = t->places.all[b];
	size_t n = strcspn(x, "(+");

	return n == strcspn(y, "(+") && !strncmp(x, y, n);
}

/* The second may be what the link register held: a return address within the same function is none. */
static uint32_t stack_of(struct reader *r, const struct story_event *e)
{
	char text[STORY_FRAMES * 12] = "";
	uint32_t before = 0;
	size_t n = 0;

	for (unsigned i = 0; i < STORY_FRAMES && e->frames[i]; i++) {
		uint32_t place = place_of(r, i ? e->frames[i] - 1 : e->frames[i]);
		if (!place || (i == 1 && before && same_function(r->t, place, before)))
			continue;
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%u", n ? "," : "", place);
		before = place;
	}
	return texts_number(&r->t->stacks, text);
}

/* A variable or lock, by its symbol. */
static uint32_t object_of(struct reader *r, uint64_t addr)
{
	size_t at = (addr * 0x9e3779b97f4a7c15ull) >> 48;
	char text[PATH_ROOM], *plus;

	if (r->named[at].addr == addr)
		return r->named[at].number;
	where_describe(r->where, addr, text, sizeof text);
	if ((plus = strstr(text, "+0")) && !plus[2])
		*plus = 0;
	r->named[at].addr = addr;
	return r->named[at].number = texts_number(&r->t->objects, text);
}

/* ---- the story --------------------------------------------------------------------------------------------------- */

static const struct story_event *next_story(struct reader *r)
{
	while (!r->story || r->story == r->story_end || !r->story->kind) {
		if (r->window * STORY_WINDOW >= r->size)
			return NULL;
		r->story = (const void *)(r->windows + r->window++ * STORY_WINDOW);
		r->story_end = r->story + STORY_WINDOW / sizeof *r->story;
	}
	return r->story;
}

static const struct {
	uint8_t kind;
	const char *text;
} ops[STORY_OPS] = {
	[STORY_mutex_lock] = { NODE_GETS, "lock" },
	[STORY_mutex_unlock] = { NODE_GIVES, "unlock" },
	[STORY_rwlock_lock] = { NODE_GETS, "lock (reader-writer)" },
	[STORY_rwlock_unlock] = { NODE_GIVES, "unlock (reader-writer)" },
	[STORY_spin_lock] = { NODE_GETS, "spin lock" },
	[STORY_spin_unlock] = { NODE_GIVES, "spin unlock" },
	[STORY_cond_enter] = { NODE_WAITS, "wait for condition" },
	[STORY_cond_wake] = { NODE_WAITS, "signal condition" },
	[STORY_cond_leave] = { NODE_WAITS, "woken from condition" },
	[STORY_barrier_arrive] = { NODE_WAITS, "at barrier" },
	[STORY_barrier_leave] = { NODE_WAITS, "leaves barrier" },
	[STORY_sem_take] = { NODE_WAITS, "takes semaphore" },
	[STORY_sem_give] = { NODE_WAITS, "gives semaphore" },
	[STORY_once_begin] = { NODE_WAITS, "once begins" },
	[STORY_once_end] = { NODE_WAITS, "once ends" },
	[STORY_guard_acquire] = { NODE_WAITS, "static begins" },
	[STORY_guard_release] = { NODE_WAITS, "static ends" },
	[STORY_thread_joined] = { NODE_WAITS, "joins thread" },
};

static void add_op(struct reader *r, const struct story_event *e)
{
	struct node n = r->last;
	char text[80];

	n.kind = ops[e->what].kind;
	snprintf(text, sizeof text, "%s", ops[e->what].text ? ops[e->what].text : "op");
	if (e->value > 0 && strerrorname_np((int)e->value))
		snprintf(text + strlen(text), sizeof text - strlen(text), " = %s", strerrorname_np((int)e->value));
	if (e->value > 0 && n.kind != NODE_WAITS)
		n.kind = NODE_WAITS; /* it did not get the lock */
	n.text = texts_number(&r->t->texts, text);
	n.stack = stack_of(r, e);
	snprintf(text, sizeof text, "thread %" PRIu64, e->object);
	n.object = e->what == STORY_thread_joined ? texts_number(&r->t->objects, text) : object_of(r, e->object);
	if (e->from) {
		struct lane *from = timeline_lane(r->t, r->lane->image, e->from - 1);
		n.from_lane = from ? (uint32_t)(from - r->t->lanes) + 1 : 0;
		n.from_at = e->from_at;
	}
	timeline_add(r->lane, &n);
}

static uint32_t access_text(struct reader *r, unsigned what, bool known, uint64_t value)
{
	static const char *const texts[] = { "touches", "reads", "writes", "reads and writes" };
	char text[80];

	int n = snprintf(text, sizeof text, "%s%s", what & STORY_ATOMIC ? "atomically " : "",
			 texts[what & (STORY_READS | STORY_WRITES)]);
	if (known && r->t->texts.count < TEXTS_MOST)
		snprintf(text + n, sizeof text - (size_t)n, value > 0xffffff ? " %#" PRIx64 : " %" PRIu64, value);
	return texts_number(&r->t->texts, text);
}

static void add_access(struct reader *r, const struct story_event *e)
{
	struct lane *from = timeline_lane(r->t, r->lane->image, e->from - 1);
	struct node n = r->last;

	n.kind = e->what & STORY_UNORDERED ? NODE_RACE : NODE_ACCESS;
	n.does = e->what & (STORY_READS | STORY_WRITES | STORY_ATOMIC);
	n.text = access_text(r, e->what, e->size, (uint64_t)e->value);
	n.object = object_of(r, e->object);
	n.stack = stack_of_site(r, e->site);
	if (from) {
		n.from_lane = (uint32_t)(from - r->t->lanes) + 1;
		n.from_at = e->from_at;
		n.by_access = 1;
		if (!(r->nsources & (r->nsources - 1)))
			r->sources = realloc(r->sources, (r->nsources ? 2 * r->nsources : 1) * sizeof *r->sources);
		if (!r->sources)
			die("not enough memory");
		r->sources[r->nsources++] =
			(struct source){ .lane = n.from_lane - 1,
					 .access = e->from_at,
					 .text = access_text(r, e->from_what, e->size, e->from_value),
					 .object = n.object,
					 .stack = stack_of_site(r, e->from_site),
					 .does = e->from_what & 7 };
	}
	timeline_add(r->lane, &n);
}

/* All that was told before entry `event` of the trace, up to the call that is this entry. */
static void add_story(struct reader *r, uint64_t event, const struct entry *call, uint32_t *stack)
{
	for (const struct story_event *e; (e = next_story(r)) && e->event <= event; r->story++) {
		r->last.op = e->op;
		r->last.access = e->access;
		if (e->kind == STORY_OP && e->what < STORY_OPS)
			add_op(r, e);
		else if (e->kind == STORY_ACCESS)
			add_access(r, e);
		else if (e->kind == STORY_CALL && call && e->object == call->nr) {
			*stack = stack_of(r, e);
			r->story++;
			return;
		}
	}
}

/* ---- the trace --------------------------------------------------------------------------------------------------- */

static uint32_t entry_text(struct timeline *t, const struct entry *e)
{
	const struct sys_row *row = e->kind == ENTRY_SYSCALL ? sys_find(e->nr) : NULL;

	if (t->texts.count > TEXTS_MOST)
		return texts_number(&t->texts, row && row->name ? row->name : "an entry");
	char *text = dump_line(e), *cut = strstr(text, "  [");
	size_t n = cut ? (size_t)(cut - text) : strlen(text);
	if (n > TEXT_MOST)
		n = TEXT_MOST;
	while (n && (text[n - 1] == '-' || text[n - 1] == ' '))
		n--;
	text[n] = 0;
	uint32_t number = texts_number(&t->texts, text + strspn(text, "- "));
	free(text);
	return number;
}

static bool is_thread_creation(const struct entry *e)
{
	return e->nr == SYS_clone && e->result > 0 && ENTRY_ARGS(e->flags) && trace_args(e)[0] & CLONE_THREAD;
}

static void creates(struct reader *r, struct node *n, const struct entry *e)
{
	for (const struct block *b = NULL; (b = trace_next_block(e, b));)
		if (b->kind == BLOCK_CHILD) {
			struct lane *child = timeline_lane(r->t, r->lane->image, (unsigned)b->addr);
			n->from_at = child ? (uint64_t)(child - r->t->lanes) : 0;
			n->creates = child ? (uint32_t)e->result : 0;
		}
}

/* Where the program has jumped to nowhere: the last place of the thread that is known. */
static uint32_t place_of_fault(struct reader *r, const struct entry *e)
{
	uint32_t place = e->kind == ENTRY_FAULT && ENTRY_ARGS(e->flags) ? place_of(r, trace_args(e)[0]) : 0;
	char text[16];

	for (size_t i = r->lane->count; !place && i; i--)
		if (r->lane->nodes[i - 1].stack)
			return r->lane->nodes[i - 1].stack;
	snprintf(text, sizeof text, "%u", place);
	return place ? texts_number(&r->t->stacks, text) : 0;
}

static void add_entry(struct reader *r, uint64_t event, const struct entry *e)
{
	uint32_t stack = 0;

	add_story(r, event, e->kind == ENTRY_SYSCALL ? e : NULL, &stack);
	struct node n = r->last;
	n.stack = stack;
	switch (e->kind) {
	case ENTRY_SYSCALL:
		n.kind = NODE_CALL;
		if (is_thread_creation(e))
			creates(r, &n, e);
		break;
	case ENTRY_SIGNAL:
	case ENTRY_FAULT:
		n.kind = e->flags & SIGNAL_FATAL ? NODE_CRASH : NODE_SIGNAL;
		n.stack = place_of_fault(r, e);
		break;
	case ENTRY_START: n.kind = NODE_BEGINS; break;
	case ENTRY_THREAD:
		n.kind = NODE_BEGINS;
		n.begins = (uint32_t)e->result;
		break;
	default: return;
	}
	n.text = entry_text(r->t, e);
	timeline_add(r->lane, &n);
}

static void read_lane(struct reader *r, const char *dir)
{
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;
	char name[64];
	int more;

	snprintf(name, sizeof name, "story.p%u.t%u", r->lane->image, r->lane->slot);
	r->windows = rerun_read(dir, name, &r->size);
	r->window = 0;
	r->story = r->story_end = NULL;
	memset(&r->last, 0, sizeof r->last);
	if (trace_reader_open(&reader, r->t->meta->dir, r->lane->image, r->lane->slot, &problem))
		die("%s", problem.text);
	while ((more = trace_read(&reader, &e, &problem)) > 0)
		add_entry(r, reader.event, e);
	trace_reader_close(&reader);
	if (more < 0)
		die("%s", problem.text);
	add_story(r, UINT64_MAX, NULL, NULL);
	free(r->windows);
}

void timeline_read_from(struct timeline *t, const struct meta *meta, const char *dir)
{
	struct reader *r = calloc(1, sizeof *r);

	*t = (struct timeline){ .meta = meta, .count = meta->list.nstreams };
	t->lanes = calloc(t->count + 1, sizeof *t->lanes);
	if (!r || !t->lanes)
		die("not enough memory");
	for (size_t i = 0; i < t->count; i++)
		t->lanes[i] = (struct lane){ .image = meta->list.streams[i].image, .slot = meta->list.streams[i].slot };
	for (struct texts *all[] = { &t->texts, &t->objects, &t->places, &t->stacks }, **x = all; x < all + 4; x++)
		texts_number(*x, "");
	r->t = t;
	for (size_t i = 0; i < t->count; i++) {
		r->lane = &t->lanes[i];
		if (!i || r->lane->image != t->lanes[i - 1].image) {
			where_close(r->where);
			r->where = where_open(meta, r->lane->image, 0, UINT64_MAX);
			memset(r->cache, 0, sizeof r->cache);
			memset(r->named, 0, sizeof r->named);
		}
		read_lane(r, dir);
	}
	where_close(r->where);
	timeline_link(t, r->sources, r->nsources);
	free(r->sources);
	free(r);
}

void timeline_read(struct timeline *t, const struct meta *meta)
{
	char dir[PATH_ROOM];

	rerun_prepare(dir);
	rerun(meta, "story", dir);
	timeline_read_from(t, meta, dir);
	rerun_done();
}

void timeline_free(struct timeline *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->lanes[i].nodes);
	free(t->lanes);
	texts_free(&t->texts);
	texts_free(&t->objects);
	texts_free(&t->places);
	texts_free(&t->stacks);
}
