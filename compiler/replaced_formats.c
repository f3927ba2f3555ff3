/*
 * What is left of printf and its kin when formats.c has made two calls of snprintf of one; and those with a va_list,
 * whose values the compiler does not know: they are taken from it here, one by one, and each has a call of snprintf,
 * which may run while memory is held. A format that numbers its values (%2$s) has them all taken before. A format
 * without strings goes to libc as it is, and so does one that is not understood (a letter that we do not know, more
 * than NUMBERED values with numbers).
 */
#define _GNU_SOURCE
#include "compiler/replaced.h"
#include <errno.h>
#include <limits.h>
#include <unistd.h>

char *__replaced_room(char *small, size_t room, int n);
size_t __replaced_limit(const char *text, int n);
int __replaced_printf(char *small, char *text, int length, int written);
int __replaced_fprintf(FILE *file, char *small, char *text, int length, int written);
int __replaced_sprintf(char *to, char *small, char *text, int length, int written);
int __replaced_asprintf(char **to, char *small, char *text, int length, int written);
int __replaced_printf_chk(int flag, char *small, char *text, int length, int written);
int __replaced_fprintf_chk(FILE *file, int flag, char *small, char *text, int length, int written);
int __replaced_sprintf_chk(char *to, int flag, size_t room, char *small, char *text, int length, int written);
int __replaced_asprintf_chk(char **to, int flag, char *small, char *text, int length, int written);
int __replaced_dprintf(int fd, char *small, char *text, int length, int written);
int __replaced_dprintf_chk(int fd, int flag, char *small, char *text, int length, int written);

int __replaced_vprintf(const char *format, va_list values);
int __replaced_vfprintf(FILE *file, const char *format, va_list values);
int __replaced_vsprintf(char *to, const char *format, va_list values);
LARGE int __replaced_vsnprintf(char *to, size_t room, const char *format, va_list values);
LARGE int __replaced_vasprintf(char **to, const char *format, va_list values);
LARGE int __replaced_vdprintf(int fd, const char *format, va_list values);
int __replaced___vprintf_chk(int flag, const char *format, va_list values);
LARGE int __replaced___vfprintf_chk(FILE *file, int flag, const char *format, va_list values);
LARGE int __replaced___vsprintf_chk(char *to, int flag, size_t room, const char *format, va_list values);
int __replaced___vsnprintf_chk(char *to, size_t most, int flag, size_t room, const char *format, va_list values);
int __replaced___vasprintf_chk(char **to, int flag, const char *format, va_list values);
int __replaced___vdprintf_chk(int fd, int flag, const char *format, va_list values);
int __theirs_vfprintf(FILE *file, const char *format, va_list values);
int __theirs_vsnprintf(char *to, size_t room, const char *format, va_list values);
int __theirs_vasprintf(char **to, const char *format, va_list values);
int __theirs_vdprintf(int fd, const char *format, va_list values);

/* ---- what formats.c leaves --------------------------------------------------------------------------------------- */

char *__replaced_room(char *small, size_t room, int n)
{
	return n < 0 ? NULL : small && (size_t)n < room ? small : malloc((size_t)n + 1);
}

size_t __replaced_limit(const char *text, int n)
{
	return text ? (size_t)n + 1 : 0;
}

/* Characters of the text; less than 0: there is none. */
static int in_text(const char *text, int length, int written)
{
	return !text ? -1 : written < length ? written : length;
}

int __replaced_fprintf(FILE *file, char *small, char *text, int length, int written)
{
	int n = in_text(text, length, written);

	if (n > 0 && __theirs_fwrite(text, 1, (size_t)n, file) != (size_t)n)
		n = -1;
	done_with(text, small);
	return n;
}

int __replaced_sprintf(char *to, char *small, char *text, int length, int written)
{
	int n = in_text(text, length, written);

	if (n >= 0)
		memcpy(to, text, (size_t)n + 1);
	done_with(text, small);
	return n;
}

int __replaced_asprintf(char **to, char *small, char *text, int length, int written)
{
	int n = in_text(text, length, written);

	if (n >= 0)
		*to = text;
	else
		done_with(text, small);
	return n;
}

int __replaced_printf(char *small, char *text, int length, int written)
{
	return __replaced_fprintf(stdout, small, text, length, written);
}

int __replaced_printf_chk(int flag, char *small, char *text, int length, int written)
{
	(void)flag;
	return __replaced_fprintf(stdout, small, text, length, written);
}

int __replaced_fprintf_chk(FILE *file, int flag, char *small, char *text, int length, int written)
{
	(void)flag;
	return __replaced_fprintf(file, small, text, length, written);
}

int __replaced_sprintf_chk(char *to, int flag, size_t room, char *small, char *text, int length, int written)
{
	(void)flag;
	if (in_text(text, length, written) >= 0 && (size_t)in_text(text, length, written) >= room)
		__chk_fail();
	return __replaced_sprintf(to, small, text, length, written);
}

int __replaced_asprintf_chk(char **to, int flag, char *small, char *text, int length, int written)
{
	(void)flag;
	return __replaced_asprintf(to, small, text, length, written);
}

int __replaced_dprintf(int fd, char *small, char *text, int length, int written)
{
	int n = in_text(text, length, written);

	for (int done = 0, now; done < n; done += now)
		if ((now = (int)write(fd, text + done, (size_t)(n - done))) < 0)
			n = -1;
	done_with(text, small);
	return n;
}

int __replaced_dprintf_chk(int fd, int flag, char *small, char *text, int length, int written)
{
	(void)flag;
	return __replaced_dprintf(fd, small, text, length, written);
}

/* ---- a conversion ------------------------------------------------------------------------------------------------ */

struct conversion {
	const char *flags, *size; /* where they begin, in the format */
	unsigned flag_count, size_count;
	int width, precision;			      /* STAR: it is a value; precision < 0: none */
	unsigned value, width_value, precision_value; /* which it is, from 1; 0: the next */
	char letter;
};
#define STAR	 INT_MIN
#define NUMBERED 64 /* values */

static int read_number(const char **p, unsigned *value)
{
	int n = 0;

	*value = 0;
	if (**p == '*')
		return ++*p, *value = value_number(p), STAR;
	while (**p >= '0' && **p <= '9' && n < INT_MAX / 10)
		n = n * 10 + *(*p)++ - '0';
	return n;
}

/* From behind the '%'. False: not understood. */
static bool read_conversion(const char **p, struct conversion *c)
{
	c->value = value_number(p);
	c->flags = *p;
	*p += c->flag_count = (unsigned)strspn(*p, "-+ #0'I");
	c->width = read_number(p, &c->width_value);
	c->precision_value = 0;
	c->precision = **p == '.' ? (++*p, read_number(p, &c->precision_value)) : -1;
	c->size = *p;
	*p += c->size_count = (unsigned)strspn(*p, "hlLqjzt");
	c->letter = **p;
	return c->letter && strchr("diouxXeEfFgGaAcCsSpnm%", *(*p)++) && c->flag_count < 8 && c->size_count < 3 &&
	       c->value <= NUMBERED && c->width_value <= NUMBERED && c->precision_value <= NUMBERED;
}

/* Are there strings among the values, and does read_conversion() understand the whole format? */
static bool has_strings(const char *format)
{
	struct conversion c;
	bool some = false;

	while ((format = strchr(format, '%'))) {
		format++;
		if (!read_conversion(&format, &c))
			return false;
		some |= c.letter == 's' || c.letter == 'S';
	}
	return some;
}

/* ---- the text under construction --------------------------------------------------------------------------------- */

struct text {
	char *at, *small; /* in the small room, or allocated */
	size_t length, room;
	bool failed;
};

static bool make_room(struct text *t, size_t n)
{
	if (t->length + n < t->room)
		return true;
	size_t room = 2 * (t->length + n) + 64;
	char *at = t->failed ? NULL : malloc(room);
	if (!at)
		return t->failed = true, false;
	memcpy(at, t->at, t->length);
	done_with(t->at, t->small);
	t->at = at;
	t->room = room;
	return true;
}

/* Twice if it does not fit. If another thread changes a string meanwhile, the text is cut at the first length. */
#define ADD(t, ...)                                                                             \
	do {                                                                                    \
		int n_ = snprintf((t)->at + (t)->length, (t)->room - (t)->length, __VA_ARGS__); \
		if (n_ >= 0 && (size_t)n_ < (t)->room - (t)->length) {                          \
			(t)->length += (size_t)n_;                                              \
		} else if (n_ < 0) {                                                            \
			(t)->failed = true;                                                     \
		} else if (make_room(t, (size_t)n_)) {                                          \
			int m_ = snprintf((t)->at + (t)->length, (size_t)n_ + 1, __VA_ARGS__);  \
			(t)->failed |= m_ < 0;                                                  \
			(t)->length += (size_t)(m_ < 0 ? 0 : m_ < n_ ? m_ : n_);                \
		}                                                                               \
	} while (0)

static void add_plain(struct text *t, const char *from, size_t n)
{
	if (!n || !make_room(t, n))
		return;
	memcpy(t->at + t->length, from, n);
	t->length += n;
}

/* Constants, so that the compiler knows that there is a string. */
static void add_string(struct text *t, const struct conversion *c, bool left, const void *string)
{
	bool wide = c->letter == 'S' || c->size_count;
	int width = c->width, most = c->precision;

	if (wide && left)
		ADD(t, "%-*.*ls", width, most, (const wchar_t *)string);
	else if (wide)
		ADD(t, "%*.*ls", width, most, (const wchar_t *)string);
	else if (left)
		ADD(t, "%-*.*s", width, most, (const char *)string);
	else
		ADD(t, "%*.*s", width, most, (const char *)string);
}

static void write_count(const struct conversion *c, void *to, size_t n)
{
	if (c->size_count == 2 && *c->size == 'h')
		*(signed char *)to = (signed char)n;
	else if (c->size_count && *c->size == 'h')
		*(short *)to = (short)n;
	else if (c->size_count)
		*(long *)to = (long)n;
	else
		*(int *)to = (int)n;
}

/* A conversion by itself, its width and precision in it as numbers. */
static void respell(const struct conversion *c, char spelled[64])
{
	int n = snprintf(spelled, 64, "%%%.*s", (int)c->flag_count, c->flags);

	if (c->width)
		n += snprintf(spelled + n, 64 - (size_t)n, "%d", c->width);
	if (c->precision >= 0)
		n += snprintf(spelled + n, 64 - (size_t)n, ".%d", c->precision);
	snprintf(spelled + n, 64 - (size_t)n, "%.*s%c", (int)c->size_count, c->size, c->letter);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

struct values {
	va_list list;
	enum kind { INT, WHOLE, DOUBLE, LARGE_DOUBLE } kinds[NUMBERED]; /* of those with numbers */
	union value {
		int small;
		long whole;
		void *pointer;
		double real;
		long double large;
	} numbered[NUMBERED];
};

static enum kind kind_of(const struct conversion *c)
{
	bool large = c->size_count && *c->size != 'h';

	if (strchr("eEfFgGaA", c->letter))
		return large && *c->size == 'L' ? LARGE_DOUBLE : DOUBLE;
	return strchr("sSpn", c->letter) || (large && c->letter != 'c') ? WHOLE : INT;
}

static union value take(struct values *v, unsigned number, enum kind kind)
{
	if (number)
		return v->numbered[number - 1];
	switch (kind) {
	case INT: return (union value){ .small = va_arg(v->list, int) };
	case WHOLE: return (union value){ .pointer = va_arg(v->list, void *) };
	case DOUBLE: return (union value){ .real = va_arg(v->list, double) };
	default: return (union value){ .large = va_arg(v->list, long double) };
	}
}

/* All values, if the format numbers them: they come in the order of their numbers, and each kind is found elsewhere in
   the list. */
static void take_numbered(struct values *v, const char *format)
{
	struct conversion c;
	unsigned most = 0;

	memset(v->kinds, 0, sizeof v->kinds);
	while ((format = strchr(format, '%')) && (format++, read_conversion(&format, &c))) {
		unsigned largest = c.value > c.width_value ? c.value : c.width_value;
		largest = largest > c.precision_value ? largest : c.precision_value;
		most = most > largest ? most : largest;
		if (c.value)
			v->kinds[c.value - 1] = kind_of(&c);
	}
	for (unsigned i = 0; i < most; i++)
		v->numbered[i] = take(v, 0, v->kinds[i]);
}

/* long, long long, intmax_t, size_t and ptrdiff_t are alike on our machines. */
static void add_number(struct text *t, const struct conversion *c, union value value)
{
	char spelled[64];

	respell(c, spelled);
	switch (kind_of(c)) {
	case INT: ADD(t, spelled, value.small); break;
	case WHOLE: ADD(t, spelled, value.whole); break;
	case DOUBLE: ADD(t, spelled, value.real); break;
	default: ADD(t, spelled, value.large);
	}
}

static void add_value(struct text *t, struct conversion *c, struct values *v, int error)
{
	bool left = memchr(c->flags, '-', c->flag_count);
	char spelled[64];

	if (c->width == STAR)
		c->width = take(v, c->width_value, INT).small;
	if (c->precision == STAR)
		c->precision = take(v, c->precision_value, INT).small;
	switch (c->letter) {
	case '%': add_plain(t, "%", 1); break;
	case 'n': write_count(c, take(v, c->value, WHOLE).pointer, t->length); break;
	case 's':
	case 'S': add_string(t, c, left, take(v, c->value, WHOLE).pointer); break;
	case 'm':
		respell(c, spelled);
		errno = error;
		ADD(t, spelled, 0);
		break;
	default: add_number(t, c, take(v, c->value, kind_of(c)));
	}
}

/* The text with a zero after it, or NULL; *n: its length. */
static char *finished(struct text *t, int *n)
{
	if (!t->failed && make_room(t, 0) && t->length <= INT_MAX) {
		t->at[t->length] = 0;
		*n = (int)t->length;
		return t->at;
	}
	done_with(t->at, t->small);
	*n = -1;
	return NULL;
}

/* False, with nothing done: libc may have it. */
LARGE static bool make_text(char **text, int *n, char *small, size_t room, const char *format, va_list values)
{
	char small_format[SMALL];
	struct text t = { .at = small, .small = small, .room = room };
	struct values v;
	struct conversion c;
	size_t length = strlen(format) + 1;
	char *copy = room_for(length, small_format);
	int error = errno;

	if (!copy)
		return false;
	memcpy(copy, format, length);
	copy[length - 1] = 0;
	bool ours = has_strings(copy);
	va_copy(v.list, values);
	if (ours)
		take_numbered(&v, copy);
	for (const char *p = copy, *next; ours && *p; p = next) {
		next = strchrnul(p, '%');
		add_plain(&t, p, (size_t)(next - p));
		if (*next && (++next, read_conversion(&next, &c)))
			add_value(&t, &c, &v, error);
	}
	va_end(v.list);
	done_with(copy, small_format);
	if (ours)
		*text = finished(&t, n);
	return ours;
}

/* ---- with a va_list ---------------------------------------------------------------------------------------------- */

int __replaced___vfprintf_chk(FILE *file, int flag, const char *format, va_list values)
{
	char small[SMALL], *text;
	int n;

	(void)flag;
	if (!make_text(&text, &n, small, SMALL, format, values))
		return __theirs_vfprintf(file, format, values);
	return __replaced_fprintf(file, small, text, n, n);
}

int __replaced_vfprintf(FILE *file, const char *format, va_list values)
{
	return __replaced___vfprintf_chk(file, 0, format, values);
}

int __replaced_vprintf(const char *format, va_list values)
{
	return __replaced___vfprintf_chk(stdout, 0, format, values);
}

int __replaced___vprintf_chk(int flag, const char *format, va_list values)
{
	return __replaced___vfprintf_chk(stdout, flag, format, values);
}

int __replaced_vsnprintf(char *to, size_t room, const char *format, va_list values)
{
	char small[SMALL], *text;
	int n;

	if (!make_text(&text, &n, small, SMALL, format, values))
		return __theirs_vsnprintf(to, room, format, values);
	if (text && room) {
		size_t fits = (size_t)n < room ? (size_t)n : room - 1;
		memcpy(to, text, fits);
		to[fits] = 0;
	}
	done_with(text, small);
	return n;
}

int __replaced___vsnprintf_chk(char *to, size_t most, int flag, size_t room, const char *format, va_list values)
{
	(void)flag;
	if (most > room)
		__chk_fail();
	return __replaced_vsnprintf(to, most, format, values);
}

/* Into a room of known size first: libc would be told that all memory behind `to` may be written. */
int __replaced___vsprintf_chk(char *to, int flag, size_t room, const char *format, va_list values)
{
	char small[SMALL], *text = small;
	int n;

	(void)flag;
	if (!make_text(&text, &n, small, SMALL, format, values)) {
		va_list again;
		va_copy(again, values);
		n = __theirs_vsnprintf(small, SMALL, format, again);
		va_end(again);
	}
	if (n >= 0 && (size_t)n >= room)
		__chk_fail();
	if (n >= 0 && text == small && n >= SMALL)
		return __theirs_vsnprintf(to, (size_t)n + 1, format, values);
	if (n >= 0)
		memcpy(to, text, (size_t)n + 1);
	done_with(text, small);
	return n;
}

int __replaced_vsprintf(char *to, const char *format, va_list values)
{
	return __replaced___vsprintf_chk(to, 0, SIZE_MAX, format, values);
}

int __replaced_vasprintf(char **to, const char *format, va_list values)
{
	char *text;
	int n;

	if (!make_text(&text, &n, NULL, 0, format, values))
		return __theirs_vasprintf(to, format, values);
	return __replaced_asprintf(to, NULL, text, n, n);
}

int __replaced___vasprintf_chk(char **to, int flag, const char *format, va_list values)
{
	(void)flag;
	return __replaced_vasprintf(to, format, values);
}

int __replaced_vdprintf(int fd, const char *format, va_list values)
{
	char small[SMALL], *text;
	int n;

	if (!make_text(&text, &n, small, SMALL, format, values))
		return __theirs_vdprintf(fd, format, values);
	return __replaced_dprintf(fd, small, text, n, n);
}

int __replaced___vdprintf_chk(int fd, int flag, const char *format, va_list values)
{
	(void)flag;
	return __replaced_vdprintf(fd, format, values);
}

/* ---- with values, and a format that the compiler does not know --------------------------------------------------- */

#define ANY(name, parameters, call)           \
	int __replaced_any_##name parameters; \
	int __replaced_any_##name parameters  \
	{                                     \
		va_list values;               \
		va_start(values, format);     \
		int n = __replaced_##call;    \
		va_end(values);               \
		return n;                     \
	}

ANY(printf, (const char *format, ...), vprintf(format, values))
ANY(fprintf, (FILE * file, const char *format, ...), vfprintf(file, format, values))
ANY(sprintf, (char *to, const char *format, ...), vsprintf(to, format, values))
ANY(snprintf, (char *to, size_t room, const char *format, ...), vsnprintf(to, room, format, values))
ANY(asprintf, (char **to, const char *format, ...), vasprintf(to, format, values))
ANY(dprintf, (int fd, const char *format, ...), vdprintf(fd, format, values))
ANY(__printf_chk, (int flag, const char *format, ...), __vprintf_chk(flag, format, values))
ANY(__fprintf_chk, (FILE * file, int flag, const char *format, ...), __vfprintf_chk(file, flag, format, values))
ANY(__sprintf_chk, (char *to, int flag, size_t room, const char *format, ...),
    __vsprintf_chk(to, flag, room, format, values))
ANY(__snprintf_chk, (char *to, size_t most, int flag, size_t room, const char *format, ...),
    __vsnprintf_chk(to, most, flag, room, format, values))
ANY(__asprintf_chk, (char **to, int flag, const char *format, ...), __vasprintf_chk(to, flag, format, values))
ANY(__dprintf_chk, (int fd, int flag, const char *format, ...), __vdprintf_chk(fd, flag, format, values))
