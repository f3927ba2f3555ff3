/*
 * What is known of one place as one thread comes to it: the conditions on the way, the address, and all facts that these are made from.
 * A place is in many pairs, and most of what the solver is asked is about one of the two alone: that is asked once.
 */
#include <stdlib.h>
#include "compiler/races/numbers.h"

struct known_view {
	struct view view; /* first */
	LLVMBasicBlockRef block;
	LLVMValueRef base, length;
	const struct frame *f;
	Z3_ast *facts;
	size_t fact_count;
	struct product products[MOST_PRODUCTS];
	unsigned product_count;
	struct known_view *next; /* of the same base */
};
static struct known_view **views; /* by number */
static uint32_t view_count, view_room;
static struct map by_base; /* the first one's number + 1 */

static struct known_view *new_view(void)
{
	if (view_count == view_room) {
		view_room = view_room ? view_room * 2 : 64;
		views = realloc(views, view_room * sizeof *views);
	}
	struct known_view *v = views ? calloc(1, sizeof *v) : NULL;
	if (!v)
		compiler_die("out of memory");
	views[view_count++] = v;
	return v;
}

static void look(struct known_view *v)
{
	terms_begin();
	terms_conditions(v->block, v->f);
	v->view.at = terms_of(v->base, v->f);
	v->view.length = v->length ? terms_of(v->length, v->f) : NULL;
	v->fact_count = solver_facts(&v->facts);
	v->product_count = numbers_products(v->products);
	terms_end();
}

const struct view *views_of(LLVMValueRef inst, LLVMValueRef base, LLVMValueRef length, const struct frame *f)
{
	LLVMBasicBlockRef block = LLVMGetInstructionParent(inst);
	uint32_t *first = map_enter(&by_base, (uintptr_t)base);

	for (struct known_view *v = *first ? views[*first - 1] : NULL; v; v = v->next)
		if (v->block == block && v->length == length && v->f == f)
			return &v->view;
	struct known_view *v = new_view();
	v->block = block;
	v->base = base;
	v->length = length;
	v->f = f;
	v->next = *first ? views[*first - 1] : NULL;
	*first = view_count;
	look(v);
	return &v->view;
}

void views_suppose(const struct view *v, const struct view *w)
{
	const struct known_view *two[] = { (const struct known_view *)v, (const struct known_view *)w };

	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < two[k]->fact_count; i++)
			terms_assert(two[k]->facts[i]);
	numbers_relate(two[0]->products, two[0]->product_count, two[1]->products, two[1]->product_count);
}

void views_end(void)
{
	while (view_count) {
		struct known_view *v = views[--view_count];
		free(v->facts);
		free(v);
	}
	free(views);
	views = NULL;
	view_room = 0;
	map_free(&by_base);
}
