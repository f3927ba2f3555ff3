/*
 * Is this trace whole? Nothing that a file says is believed here: not a size, not
 * a name, not that a file exists.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "trace.h"

/* ---- one entry ---------------------------------------------------------------------- */

#define SIGNAL_FLAGS (SIGNAL_BEFORE | SIGNAL_INEXACT | SIGNAL_FATAL)

/* The name of a saved file is a plain one: who puts it behind a directory's gets a file in it. */
static bool is_file_key(const struct block *b)
{
	const char *key = (const char *)(b + 1);

	return b->len > 1 && memchr(key, 0, b->len) == key + b->len - 1 && *key != '.' && !strchr(key, '/');
}

/* The blocks from `at` must fill the entry exactly. `at` and e->size are multiples of 8. */
static const char *blocks_flaw(const struct entry *e, uint32_t at)
{
	for (bool first = true; at < e->size; first = false) {
		const struct block *b = (const void *)((const char *)e + at);
		if (e->size - at < sizeof *b)
			return "a block's header reaches beyond its entry";
		if (b->kind == BLOCK_NONE || b->kind >= BLOCK_KINDS)
			return "a block of unknown kind";
		if (b->zero)
			return "a block with its zero field set";
		if ((b->kind == BLOCK_START) != (first && e->kind == ENTRY_START))
			return "ENTRY_START and BLOCK_START are not together";
		if (b->kind == BLOCK_START && b->len != sizeof(struct start_info))
			return "start information of a wrong size";
		at += sizeof *b;
		uint64_t data = ((uint64_t)trace_block_data(b) + 7) & ~7ull;
		if (data > e->size - at)
			return "a block reaches beyond its entry";
		if (b->kind == BLOCK_FILE && !is_file_key(b))
			return "the name of a saved file that cannot be one";
		at += (uint32_t)data;
	}
	return NULL;
}

static const char *order_flaw(const struct entry *e, uint32_t at)
{
	if (e->flags != 1)
		return "a piece of an order log without its position";
	return e->result < 0 || ((uint64_t)e->result + 7) / 8 * 8 != e->size - at ?
		       "a piece of an order log of another size" :
		       NULL;
}

/* Who reads them takes these for granted. */
static const uint8_t least_args[ENTRY_KINDS] = {
	[ENTRY_EDGE] = 2,   [ENTRY_FUTEX] = 2,	[ENTRY_SYNC] = 1,    [ENTRY_LAST] = 1,
	[ENTRY_VERIFY] = 1, [ENTRY_THREAD] = 1, [ENTRY_COUNTER] = 1,
};

static const char *kind_flaw(const struct entry *e, const struct trace_state *state)
{
	bool signal = e->kind == ENTRY_SIGNAL || e->kind == ENTRY_FAULT;

	if (e->kind == ENTRY_NONE || e->kind >= ENTRY_KINDS)
		return "unknown kind";
	if (ENTRY_ARGS(e->flags) < least_args[e->kind])
		return "too few numbers";
	if (signal && (e->nr < 1 || e->nr > 64))
		return "no such signal";
	if (!signal && e->flags & SIGNAL_FLAGS & ~(e->kind == ENTRY_SYSCALL ? ENTRY_CHANGES : 0u))
		return "a signal's flags, but not a signal";
	if (e->flags & ENTRY_CONTINUED && !signal && e->kind != ENTRY_SYSCALL && e->kind != ENTRY_START &&
	    e->kind != ENTRY_MORE && e->kind != ENTRY_PAGES)
		return "continued, but not a system call";
	if ((e->kind == ENTRY_MORE || e->kind == ENTRY_CUT) != state->continued)
		return state->continued ? "the rest of the entry before is missing" : "it continues nothing";
	/* a forked image begins in the slot of the thread that forked */
	if (e->kind == ENTRY_START ? state->begun : state->first_slot && !state->begun && e->kind != ENTRY_THREAD)
		return e->kind == ENTRY_START ? "a second start" : "the stream does not begin with ENTRY_START";
	if (e->kind == ENTRY_VFORK_END && !state->vforks)
		return "end of a vfork that did not begin";
	return NULL;
}

/* ---- what was shown ------------------------------------------------------------------ */

/* An entry that is continued counts with its last part: else it is cut off when the stream is unpacked. */
static const char *note_shown(const struct entry *e, struct trace_state *state)
{
	struct trace_shown *shown = state->shown;

	for (const struct block *b = NULL; (b = trace_next_block(e, b));)
		if (b->kind == BLOCK_SHOWN)
			state->place = b->addr + 1;
	if (!state->place || state->continued)
		return NULL;
	uint64_t place = state->place - 1;
	state->place = 0;
	if (place >= shown->bound)
		return "a write shown at an impossible place";
	if (place / 64 >= shown->words) {
		size_t words = place / 32 + 64;
		uint64_t *seen = realloc(shown->seen, words * 8);
		if (!seen)
			return "no memory for a list of what was shown";
		memset(seen + shown->words, 0, (words - shown->words) * 8);
		shown->seen = seen;
		shown->words = words;
	}
	shown->seen[place / 64] |= 1ull << place % 64;
	if (place >= shown->end)
		shown->end = place + 1;
	return NULL;
}

size_t trace_shown_missing(const struct trace_shown *shown, uint64_t from, uint64_t *missing, size_t room)
{
	size_t n = 0;

	for (uint64_t place = from; place < shown->end; place++)
		if (!(shown->seen[place / 64] >> place % 64 & 1) && n++ < room)
			missing[n - 1] = place;
	return n;
}

/* ---- one entry, in its stream ------------------------------------------------------------ */

const char *trace_entry_flaw(const struct entry *e, size_t room, struct trace_state *state)
{
	if (room < sizeof *e || e->size > room)
		return "it reaches beyond its chunk";
	if (e->size < sizeof *e || e->size % 8 || e->size > ENTRY_MAX)
		return "impossible size";
	if (ENTRY_ARGS(e->flags) > 6)
		return "more than six arguments";
	uint32_t at = (uint32_t)sizeof *e + 8 * ENTRY_ARGS(e->flags) + (e->flags & ENTRY_TICKETS ? 16 : 0);
	if (at > e->size)
		return "too small for its arguments";
	if (e->kind == ENTRY_START && at == e->size)
		return "a start without information";
	const char *flaw = kind_flaw(e, state);
	if (!flaw)
		flaw = e->kind == ENTRY_ORDER ? order_flaw(e, at) : blocks_flaw(e, at);
	state->begun = true;
	state->order += e->kind == ENTRY_ORDER ? e->size : 0;
	state->continued = trace_is_continued(e);
	if (!flaw && state->shown && (e->kind == ENTRY_SYSCALL || e->kind == ENTRY_MORE))
		flaw = note_shown(e, state);
	if (e->kind == ENTRY_VFORK)
		state->vforks++;
	else if (e->kind == ENTRY_VFORK_END && state->vforks)
		state->vforks--;
	return flaw;
}

/* ---- the directory -------------------------------------------------------------------- */

static int check_names(const char *dir, const struct trace_list *found, const struct trace_list *expected,
		       struct trace_problem *problem)
{
	char path[PATH_ROOM + 400];

	for (size_t i = 0; i < found->nstreams || i < expected->nstreams; i++) {
		const struct trace_stream *f = i < found->nstreams ? &found->streams[i] : NULL;
		const struct trace_stream *e = i < expected->nstreams ? &expected->streams[i] : NULL;
		if (f && e && f->image == e->image && f->slot == e->slot)
			continue;
		bool missing = e && (!f || e->image < f->image || (e->image == f->image && e->slot < f->slot));
		trace_path(path, dir, missing ? e->image : f->image, missing ? e->slot : f->slot);
		return trace_damaged(problem, path, 0, missing ? "missing" : "not listed in meta.json");
	}
	for (size_t i = 0; i < found->nfiles || i < expected->nfiles; i++) {
		const char *f = i < found->nfiles ? found->files[i].name : NULL;
		const char *e = i < expected->nfiles ? expected->files[i].name : NULL;
		int order = !f ? 1 : !e ? -1 : strcmp(f, e);
		if (!order)
			continue;
		snprintf(path, sizeof path, "%s/files/%s", dir, order > 0 ? e : f);
		return trace_damaged(problem, path, 0, order > 0 ? "missing" : "not listed in meta.json");
	}
	return 0;
}

static int check_file(const char *dir, const struct trace_file *expected, struct trace_problem *problem)
{
	char path[PATH_ROOM + 400];
	uint64_t size, hash;

	snprintf(path, sizeof path, "%s/files/%s", dir, expected->name);
	if (trace_hash_file(path, &size, &hash, problem))
		return -1;
	if (size != expected->size)
		return trace_damaged(problem, path, size, "ends here; meta.json says %" PRIu64 " bytes",
				     expected->size);
	if (hash != expected->hash)
		return trace_damaged(problem, path, 0, "its contents do not fit their checksum");
	return 0;
}

static int check_stream(const char *dir, struct trace_stream *s, const char *raw_dir, trace_progress progress,
			struct trace_shown *shown, struct trace_problem *problem)
{
	char path[PATH_ROOM + 64];

	if (!raw_dir || s->late)
		return trace_unpack(dir, s, NULL, progress, shown, problem);
	snprintf(path, sizeof path, "%s/p%u.t%u.raw", raw_dir, s->image, s->slot);
	return trace_unpack(dir, s, path, progress, shown, problem);
}

#define PLACES_MAX (1ull << 34)

/* Each place was taken by an entry, or by a process that was killed before it had written one. */
static uint64_t bound_of_places(const struct trace_list *list)
{
	uint64_t bound = MISSING_MAX;

	for (size_t i = 0; i < list->nstreams; i++)
		bound += list->streams[i].events;
	return bound < PLACES_MAX ? bound : PLACES_MAX;
}

int trace_check(const char *dir, const struct trace_list *expected, const char *raw_dir, trace_progress progress,
		struct trace_shown *shown, struct trace_problem *problem)
{
	struct trace_list found;

	if (trace_list_read(&found, dir, problem))
		return -1;
	int result = check_names(dir, &found, expected, problem);
	trace_list_free(&found);
	if (shown)
		shown->bound = bound_of_places(expected);
	for (size_t i = 0; !result && i < expected->nfiles; i++)
		result = check_file(dir, &expected->files[i], problem);
	for (size_t i = 0; !result && i < expected->nstreams; i++)
		result = check_stream(dir, &expected->streams[i], raw_dir, progress, shown, problem);
	return result;
}
