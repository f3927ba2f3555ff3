/*
 * traced:NAME: any other scheme, with every call told in one line, before and after. Nobody adds prints to a scheme.
 *
 * What it records is what NAME records, so a trace made with traced:NAME replays with --order=NAME, and the other way
 * round. Lines of different threads come as they are said; within a call the scheme may have waited.
 */
#include "order.h"

static struct order_scheme traced;
static const struct order_scheme *inner;
static char name[64] = "traced:";

/* ---- text without libc -------------------------------------------------------------------------------------- */

struct text {
	unsigned n;
	char at[160];
};

static void add(struct text *text, const char *s)
{
	while (*s && text->n + 1 < sizeof text->at)
		text->at[text->n++] = *s++;
	text->at[text->n] = 0;
}

static void add_number(struct text *text, uint64_t value, unsigned base)
{
	char digits[24], *d = digits + sizeof digits;

	*--d = 0;
	do
		*--d = "0123456789abcdef"[value % base];
	while (value /= base);
	add(text, d);
}

static struct text begun(const struct order_thread *t, const char *call)
{
	struct text text = { 0 };

	add(&text, "event ");
	add_number(&text, t->event, 10);
	add(&text, " ");
	add(&text, call);
	return text;
}

/* " r 8 at 0x1000" */
static void add_access(struct text *text, uint64_t addr, uint64_t size, unsigned kind)
{
	add(text, kind == ACCESS_READS ? " r " : kind == ACCESS_WRITES ? " w " : " rw ");
	add_number(text, size, 10);
	add(text, " at 0x");
	add_number(text, addr, 16);
}

static void say(struct order_thread *t, const char *call)
{
	struct text text = begun(t, call);

	order_say(t, text.at);
}

static void say_access(struct order_thread *t, const char *call, const struct access *a)
{
	struct text text = begun(t, call);

	add_access(&text, a->addr, a->size, a->kind);
	order_say(t, text.at);
}

/* What the call has logged or taken. */
static void say_entries(struct order_thread *t, uint64_t before)
{
	if (t->entries == before)
		return;
	struct text text = begun(t, "  entries: ");
	add_number(&text, t->entries - before, 10);
	order_say(t, text.at);
}

/* ---- the calls ------------------------------------------------------------------------------------------------ */

/* record and replay differ only in whom they call. */
#define CALLS(mode)                                                                                 \
	static void mode##_create(struct order_thread *t, struct order_thread *child)               \
	{                                                                                           \
		say(t, "create");                                                                   \
		inner->mode.create(t, child);                                                       \
	}                                                                                           \
	static void mode##_begin(struct order_thread *t)                                            \
	{                                                                                           \
		say(t, "begin");                                                                    \
		inner->mode.begin(t);                                                               \
	}                                                                                           \
	static void mode##_end(struct order_thread *t)                                              \
	{                                                                                           \
		say(t, "end");                                                                      \
		inner->mode.end(t);                                                                 \
	}                                                                                           \
	static void mode##_before(struct order_thread *t, struct access *a)                         \
	{                                                                                           \
		uint64_t entries = t->entries;                                                      \
		say_access(t, "before", a);                                                         \
		inner->mode.before(t, a);                                                           \
		say_entries(t, entries);                                                            \
	}                                                                                           \
	static void mode##_after(struct order_thread *t, struct access *a, bool done)               \
	{                                                                                           \
		say_access(t, done ? "after" : "after a fault", a);                                 \
		inner->mode.after(t, a, done);                                                      \
	}                                                                                           \
	static bool mode##_access(struct order_thread *t, struct access *a)                         \
	{                                                                                           \
		uint64_t entries = t->entries;                                                      \
		say_access(t, "access", a);                                                         \
		bool done = inner->mode.access(t, a);                                               \
		say_entries(t, entries);                                                            \
		return done;                                                                        \
	}                                                                                           \
	static bool mode##_span(struct order_thread *t, struct access_span *s)                      \
	{                                                                                           \
		uint64_t entries = t->entries;                                                      \
		struct text text = begun(t, "span");                                                \
		add_access(&text, s->addr, s->size, s->kind);                                       \
		order_say(t, text.at);                                                              \
		bool done = inner->mode.span(t, s);                                                 \
		say_entries(t, entries);                                                            \
		return done;                                                                        \
	}                                                                                           \
	static void mode##_acquire(struct order_thread *t, uint64_t object)                         \
	{                                                                                           \
		uint64_t entries = t->entries;                                                      \
		say(t, "acquire");                                                                  \
		inner->mode.acquire(t, object);                                                     \
		say_entries(t, entries);                                                            \
	}                                                                                           \
	static void mode##_release(struct order_thread *t, uint64_t object)                         \
	{                                                                                           \
		uint64_t entries = t->entries;                                                      \
		say(t, "release");                                                                  \
		inner->mode.release(t, object);                                                     \
		say_entries(t, entries);                                                            \
	}                                                                                           \
	static void mode##_pause(struct order_thread *t, enum order_pause why)                      \
	{                                                                                           \
		say(t, "pause");                                                                    \
		inner->mode.pause(t, why);                                                          \
	}                                                                                           \
	static void mode##_hold(struct order_thread *t, uint64_t addr, uint64_t size, uint8_t kind) \
	{                                                                                           \
		uint64_t entries = t->entries;                                                      \
		struct text text = begun(t, "hold");                                                \
		add_access(&text, addr, size, kind);                                                \
		order_say(t, text.at);                                                              \
		inner->mode.hold(t, addr, size, kind);                                              \
		say_entries(t, entries);                                                            \
	}                                                                                           \
	static void mode##_drop(struct order_thread *t, bool done)                                  \
	{                                                                                           \
		say(t, done ? "drop" : "drop after a fault");                                       \
		inner->mode.drop(t, done);                                                          \
	}                                                                                           \
	static void mode##_forked(struct order_thread *t)                                           \
	{                                                                                           \
		say(t, "forked");                                                                   \
		inner->mode.forked(t);                                                              \
	}                                                                                           \
	/* An optional call stays empty if it is. */                                                \
	static void mode##_fill(struct order_ops *ops)                                              \
	{                                                                                           \
		*ops = inner->mode;                                                                 \
		ops->create = ops->create ? mode##_create : 0;                                      \
		ops->begin = ops->begin ? mode##_begin : 0;                                         \
		ops->end = ops->end ? mode##_end : 0;                                               \
		ops->before = ops->before ? mode##_before : 0;                                      \
		ops->after = ops->after ? mode##_after : 0;                                         \
		ops->access = ops->access ? mode##_access : 0;                                      \
		ops->span = ops->span ? mode##_span : 0;                                            \
		ops->quick = 0; /* else most accesses would not be told */                          \
		ops->pause = ops->pause ? mode##_pause : 0;                                         \
		ops->hold = ops->hold ? mode##_hold : 0;                                            \
		ops->drop = ops->drop ? mode##_drop : 0;                                            \
		ops->forked = ops->forked ? mode##_forked : 0;                                      \
		ops->acquire = ops->acquire ? mode##_acquire : 0;                                   \
		ops->release = ops->release ? mode##_release : 0;                                   \
	}
CALLS(record)
CALLS(replay)

const struct order_scheme *order_traced(const struct order_scheme *scheme)
{
	unsigned n = 7;

	inner = scheme;
	traced = *scheme;
	for (const char *s = scheme->name; *s && n + 1 < sizeof name; s++)
		name[n++] = *s;
	name[n] = 0;
	traced.name = name;
	record_fill(&traced.record);
	replay_fill(&traced.replay);
	return &traced;
}
