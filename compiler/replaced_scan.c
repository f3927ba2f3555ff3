/*
 * scanf and its kin. libc scans into memory that nobody else knows, and what it found is stored from here, by code with
 * hooks. The format is spelled anew for that: libc allocates strings (%ms), and says where each begins and ends in the
 * text (%n), since there may be zeros in it; numbers of values (%2$d) are left out, since we know where each goes. A
 * format that is not understood (%5lc, a letter that we do not know, more values than SLOTS) goes to libc as it is.
 */
#define _GNU_SOURCE
#include "compiler/replaced.h"
#include <wchar.h>

#define SLOTS	40 /* what libc is given */
#define VALUES	32 /* what the program gave */
#define SPELLED 1024

typedef int scan_function(void *from, const char *format, ...); /* from: a file, or a text */
typedef int list_function(void *from, const char *format, va_list values);

union slot {
	int count; /* %n; -1: not reached */
	void *pointer;
	uint64_t number;
	long double large;
};

struct wanted {
	void *to;
	enum { NUMBER, COUNT, ALLOCATED, STRING, WIDE } what;
	unsigned size;	/* NUMBER, COUNT: bytes */
	unsigned place; /* among the conversions that libc counts: it took place if the result is larger */
	unsigned slot;	/* STRING: its beginning, itself, its end */
	bool ended;	/* with a zero */
};

struct values {
	va_list list;
};

struct scan {
	bool gnu;	      /* %as allocates: before C99 had %a */
	void *values[VALUES]; /* as far as they were asked for */
	struct values *more;  /* where the next is; NULL: there is none */
	unsigned have, next, counted;
	struct wanted wanted[VALUES];
	unsigned wanted_count;
	union slot slots[SLOTS];
	unsigned slot_count;
	char spelled[SPELLED];
	size_t length;
};

/* ---- the format -------------------------------------------------------------------------------------------------- */

struct piece {
	const char *flags, *width, *size, *letter, *end; /* where each begins */
	bool allocates;
};

/* From behind the '%' and the value's number. False: not understood. */
static bool read_piece(const char *p, bool gnu, struct piece *c)
{
	c->flags = p;
	c->width = p += strspn(p, "*'I");
	p += strspn(p, "0123456789");
	c->allocates = *p == 'm' || (gnu && *p == 'a' && strchr("sS[", p[1]) && p[1]);
	c->size = p += c->allocates;
	c->letter = p += strspn(p, "hlLqjzt");
	if (!*p || !strchr("diouxXpaAeEfFgGcCsSn[%", *p))
		return false;
	if (*p++ == '[') {
		p += *p == '^';
		p += *p == ']';
		p = strchr(p, ']');
		if (!p)
			return false;
		p++;
	}
	c->end = p;
	return c->letter - c->size < 3;
}

static bool add_text(struct scan *s, const char *from, size_t n)
{
	if (s->length + n >= SPELLED)
		return false;
	memcpy(s->spelled + s->length, from, n);
	s->length += n;
	s->spelled[s->length] = 0;
	return true;
}

static bool add_word(struct scan *s, const char *word)
{
	return add_text(s, word, strlen(word));
}

static unsigned size_of(const struct piece *c)
{
	if (strchr("aAeEfFgG", *c->letter))
		return *c->size == 'L' || c->size[0] == 'q' ? sizeof(long double) : *c->size == 'l' ? 8 : 4;
	if (*c->letter == 'c')
		return 1;
	if (*c->letter == 'C')
		return sizeof(wchar_t);
	if (*c->letter == 'p')
		return sizeof(void *);
	return *c->size == 'h' ? (c->size[1] == 'h' ? 1 : 2) : c->size == c->letter ? 4 : 8;
}

static union slot *add_slot(struct scan *s, union slot first)
{
	s->slots[s->slot_count] = first;
	return &s->slots[s->slot_count++];
}

/* "%n%5ms%n": the size goes behind the m. Text before %s is left out by libc; here it must be, before its beginning is
   asked. */
static bool add_string(struct scan *s, const struct piece *c, struct wanted *w, bool wide)
{
	bool letter = *c->letter == 'c' || *c->letter == 'C';

	if (wide && letter)
		return false;
	w->what = wide ? WIDE : STRING;
	w->ended = !letter;
	w->slot = s->slot_count;
	add_slot(s, (union slot){ .count = -1 });
	add_slot(s, (union slot){ .pointer = NULL });
	add_slot(s, (union slot){ .count = -1 });
	return add_word(s, strchr("sS", *c->letter) ? " %n%" : "%n%") &&
	       add_text(s, c->flags, (size_t)(c->size - c->allocates - c->flags)) && add_word(s, "m") &&
	       add_text(s, c->size, (size_t)(c->end - c->size)) && add_word(s, "%n");
}

static bool add_value(struct scan *s, const struct piece *c, struct wanted *w)
{
	bool wide = *c->size == 'l' || *c->letter == 'S' || *c->letter == 'C';
	bool one = strchr("cC", *c->letter) && (c->width == c->size || (c->size == c->width + 1 && *c->width == '1'));

	if (strchr("sS[", *c->letter) || (strchr("cC", *c->letter) && !one))
		if (!c->allocates)
			return add_string(s, c, w, wide);
	w->what = c->allocates ? ALLOCATED : *c->letter == 'n' ? COUNT : NUMBER;
	w->size = one && wide ? sizeof(wchar_t) : size_of(c);
	w->slot = s->slot_count;
	union slot *slot = add_slot(s, (union slot){ .number = 0 });
	if (w->what == ALLOCATED)
		slot->pointer = slot; /* no string is there */
	if (w->what == COUNT)
		return slot->count = -1, add_word(s, "%n");
	return add_word(s, "%") && add_text(s, c->flags, (size_t)(c->size - c->allocates - c->flags)) &&
	       add_word(s, c->allocates ? "m" : "") && add_text(s, c->size, (size_t)(c->end - c->size));
}

static bool have_value(struct scan *s, unsigned number)
{
	while (s->more && s->have <= number && s->have < VALUES)
		s->values[s->have++] = va_arg(s->more->list, void *);
	return number < s->have;
}

static bool add_conversion(struct scan *s, const char **format)
{
	struct piece c;
	unsigned number = value_number(format);

	if (!read_piece(*format, s->gnu, &c))
		return false;
	*format = c.end;
	if (*c.letter == '%' || *c.flags == '*')
		return add_word(s, "%") && add_text(s, c.flags, (size_t)(c.end - c.flags));
	number = number ? number - 1 : s->next++;
	if (s->wanted_count == VALUES || s->slot_count + 3 > SLOTS || !have_value(s, number))
		return false;
	struct wanted *w = &s->wanted[s->wanted_count++];
	*w = (struct wanted){ .to = s->values[number], .place = s->counted };
	s->counted += *c.letter != 'n';
	return add_value(s, &c, w);
}

static bool spell(struct scan *s, const char *format)
{
	for (const char *next; *format; format = next) {
		next = strchrnul(format, '%');
		if (!add_text(s, format, (size_t)(next - format)) || (*next && (++next, !add_conversion(s, &next))))
			return false;
	}
	return true;
}

/* ---- what was found ---------------------------------------------------------------------------------------------- */

static void store_number(void *to, const union slot *from, unsigned size)
{
	switch (size) {
	case 1: *(char *)to = (char)from->number; break;
	case 2: *(uint16_t *)to = (uint16_t)from->number; break;
	case 4: *(uint32_t *)to = (uint32_t)from->number; break;
	case 8: *(uint64_t *)to = from->number; break;
	default: *(long double *)to = from->large;
	}
}

static void store_string(const struct wanted *w, const union slot *slot, bool found)
{
	char *text = slot[1].pointer;

	if (found && w->what == WIDE)
		memcpy(w->to, text, (wcslen((wchar_t *)text) + 1) * sizeof(wchar_t));
	else if (found)
		memcpy(w->to, text, (size_t)(slot[2].count - slot[0].count) + w->ended);
	free(text);
}

static void store(const struct wanted *w, const union slot *slot, bool found)
{
	switch (w->what) {
	case NUMBER:
		if (found)
			store_number(w->to, slot, w->size);
		break;
	case COUNT:
		if (slot->count >= 0)
			store_number(w->to, &(union slot){ .number = (uint64_t)slot->count }, w->size);
		break;
	case ALLOCATED: /* also when it failed: then libc leaves NULL, or what it has so far */
		if (slot->pointer != slot)
			*(void **)w->to = slot->pointer;
		break;
	default: store_string(w, slot, found);
	}
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

#define FOUR(a, n)  (a)[n], (a)[n + 1], (a)[n + 2], (a)[n + 3]
#define EIGHT(a, n) FOUR(a, n), FOUR(a, n + 4)

/* All that there may be: libc takes what the format names. */
static int call_theirs(scan_function *theirs, void *from, const char *format, void **v)
{
	return theirs(from, format, EIGHT(v, 0), EIGHT(v, 8), EIGHT(v, 16), EIGHT(v, 24), EIGHT(v, 32));
}

/* False, with nothing done: libc may have it. */
LARGE static bool scan(struct scan *s, scan_function *theirs, void *from, const char *format, int *n)
{
	char copy[SPELLED];
	void *rooms[SLOTS];
	size_t length = strnlen(format, SPELLED - 1);

	memcpy(copy, format, length); /* others may change it meanwhile */
	copy[length] = 0;
	if (length == SPELLED - 1 || !spell(s, copy))
		return false;
	for (unsigned i = 0; i < SLOTS; i++)
		rooms[i] = &s->slots[i];
	*n = call_theirs(theirs, from, s->spelled, rooms);
	for (unsigned i = 0; i < s->wanted_count; i++)
		store(&s->wanted[i], &s->slots[s->wanted[i].slot], *n > (int)s->wanted[i].place);
	return true;
}

/* What another thread does to the text while libc scans it would be in no order. */
static char *copy_of(const char *text, char small[SMALL])
{
	size_t length = strlen(text) + 1;
	char *copy = room_for(length, small);

	if (copy) {
		memcpy(copy, text, length);
		copy[length - 1] = 0;
	}
	return copy;
}

/* What scans.c makes of a call: the values are in an array. */
static int scan_values(scan_function *theirs, bool gnu, void *from, const char *format, void **values, unsigned count)
{
	struct scan s = { .gnu = gnu, .have = count };
	void *all[SLOTS] = { NULL };
	int n;

	for (unsigned i = 0; i < count; i++)
		s.values[i] = all[i] = values[i];
	return scan(&s, theirs, from, format, &n) ? n : call_theirs(theirs, from, format, all);
}

static int scan_text(scan_function *theirs, bool gnu, char *text, const char *format, void **values, unsigned count)
{
	char small[SMALL], *copy = copy_of(text, small);
	int n = scan_values(theirs, gnu, copy ? copy : text, format, values, count);

	done_with(copy, small);
	return n;
}

/* The same, with a va_list. */
static int scan_list(scan_function *theirs, list_function *plainly, bool gnu, void *from, const char *format,
		     va_list values)
{
	struct values more;
	struct scan s = { .gnu = gnu, .more = &more };
	int n;

	va_copy(more.list, values);
	if (!scan(&s, theirs, from, format, &n))
		n = plainly(from, format, values);
	va_end(more.list);
	return n;
}

static int scan_text_list(scan_function *theirs, list_function *plainly, bool gnu, char *text, const char *format,
			  va_list values)
{
	char small[SMALL], *copy = copy_of(text, small);
	int n = scan_list(theirs, plainly, gnu, copy ? copy : text, format, values);

	done_with(copy, small);
	return n;
}

#define FAMILY(of, gnu)                                                                                          \
	scan_function __theirs_##of##fscanf, __theirs_##of##sscanf;                                              \
	list_function __theirs_##of##vfscanf, __theirs_##of##vsscanf;                                            \
	int __replaced_##of##fscanf(FILE *file, const char *format, void **values, unsigned n);                  \
	int __replaced_##of##sscanf(char *text, const char *format, void **values, unsigned n);                  \
	int __replaced_##of##scanf(const char *format, void **values, unsigned n);                               \
	int __replaced_##of##vfscanf(FILE *file, const char *format, va_list values);                            \
	int __replaced_##of##vsscanf(char *text, const char *format, va_list values);                            \
	int __replaced_##of##vscanf(const char *format, va_list values);                                         \
	int __replaced_##of##fscanf(FILE *file, const char *format, void **values, unsigned n)                   \
	{                                                                                                        \
		return scan_values(__theirs_##of##fscanf, gnu, file, format, values, n);                         \
	}                                                                                                        \
	int __replaced_##of##sscanf(char *text, const char *format, void **values, unsigned n)                   \
	{                                                                                                        \
		return scan_text(__theirs_##of##sscanf, gnu, text, format, values, n);                           \
	}                                                                                                        \
	int __replaced_##of##scanf(const char *format, void **values, unsigned n)                                \
	{                                                                                                        \
		return __replaced_##of##fscanf(stdin, format, values, n);                                        \
	}                                                                                                        \
	int __replaced_##of##vfscanf(FILE *file, const char *format, va_list values)                             \
	{                                                                                                        \
		return scan_list(__theirs_##of##fscanf, __theirs_##of##vfscanf, gnu, file, format, values);      \
	}                                                                                                        \
	int __replaced_##of##vsscanf(char *text, const char *format, va_list values)                             \
	{                                                                                                        \
		return scan_text_list(__theirs_##of##sscanf, __theirs_##of##vsscanf, gnu, text, format, values); \
	}                                                                                                        \
	int __replaced_##of##vscanf(const char *format, va_list values)                                          \
	{                                                                                                        \
		return __replaced_##of##vfscanf(stdin, format, values);                                          \
	}

FAMILY(, true)
FAMILY(__isoc99_, false)
FAMILY(__isoc23_, false) /* 0b1 is a number */
