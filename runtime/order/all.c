/*
 * The list of schemes. A new one is a file here, a declaration and a line.
 */
#include "order.h"

extern const struct order_scheme order_region, order_global, order_global_2clocks, order_lamport, order_crew,
	order_leap, order_leap_field;
extern const struct order_scheme order_stride, order_light, order_light_ww, order_aggreplay, order_aggreplay_published,
	order_tplay, order_tplay_published;

/* clang-format off */
const struct order_scheme *const order_schemes[] = {
	&order_region,
	&order_global,
	&order_global_2clocks,
	&order_lamport,
	&order_crew,
	&order_leap,
	&order_leap_field,
	&order_stride,
	&order_light,
	&order_light_ww,
	&order_aggreplay,
	&order_aggreplay_published,
	&order_tplay,
	&order_tplay_published,
	0,
};
/* clang-format on */

const struct order_scheme *order_used;

/* Where `prefix` ends in `text`, or 0. */
static const char *after(const char *text, const char *prefix)
{
	while (*prefix && *text == *prefix)
		text++, prefix++;
	return *prefix ? 0 : text;
}

static bool same(const char *a, const char *b)
{
	const char *rest = after(a, b);

	return rest && !*rest;
}

const struct order_scheme *order_find(const char *name)
{
	const char *traced = after(name, "traced:");

	for (unsigned i = 0; order_schemes[i]; i++)
		if (same(order_schemes[i]->name, traced ? traced : name))
			return traced ? order_traced(order_schemes[i]) : order_schemes[i];
	return 0;
}
