/* Putting text together and taking numbers apart. */
#include "runtime/base/base.h"
#include <stdarg.h>

static void add_char(struct text *t, char c)
{
	if (t->at < t->end) {
		*t->at++ = c;
		*t->at = 0;
	}
}

static void add_string(struct text *t, const char *s)
{
	while (*s)
		add_char(t, *s++);
}

static void add_number(struct text *t, uint64_t v, unsigned base)
{
	char digits[24];
	int n = 0;
	do
		digits[n++] = "0123456789abcdef"[v % base];
	while (v /= base);
	while (n)
		add_char(t, digits[--n]);
}

void text_add_list(struct text *t, const char *format, va_list ap);
void text_add_list(struct text *t, const char *format, va_list ap)
{
	for (const char *f = format; *f; f++) {
		if (*f != '%') {
			add_char(t, *f);
			continue;
		}
		switch (*++f) {
		case 's': add_string(t, va_arg(ap, const char *)); break;
		case 'd': {
			long v = va_arg(ap, long);
			if (v < 0)
				add_char(t, '-');
			add_number(t, v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
			break;
		}
		case 'u': add_number(t, va_arg(ap, unsigned long), 10); break;
		case 'x':
			add_string(t, "0x");
			add_number(t, va_arg(ap, unsigned long), 16);
			break;
		case 'c': add_char(t, (char)va_arg(ap, int)); break;
		default: add_char(t, *f);
		}
	}
}

void text_add(struct text *t, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	text_add_list(t, format, ap);
	va_end(ap);
}

uint64_t parse_number(const char **s)
{
	uint64_t v = 0;
	while (**s >= '0' && **s <= '9')
		v = v * 10 + (uint64_t)(*(*s)++ - '0');
	return v;
}
