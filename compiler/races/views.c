/*
 * What is known of one place as one thread comes to it: the conditions on the way, the address, and all facts that
 * these are made from. A place is in many pairs, and most of what the solver is asked is about one of the two alone:
 * that is asked once.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/numbers.h"

struct known_view {
	struct view view; /* first */
	LLVMBasicBlockRef block;
	LLVMValueRef base, length, taken; /* the lock */
	const struct frame *f;
	Z3_ast lock, lock_end;
	struct ticket tickets[MOST_TICKETS];
	unsigned ticket_count;
	Z3_ast *facts;
	size_t fact_count;
	struct product products[MOST_PRODUCTS];
	unsigned product_count;
	struct known_interval *known;
	unsigned known_count;
	struct known_view *next; /* of the same base */
};
enum { MOST_LOOKED_AT = 20000 };
static struct known_view **views; /* by number */
static uint32_t view_count, view_room;
static struct map by_base; /* the first one's number + 1 */

/* Not one that other views may know, too: those have names. */
static bool is_unknown(Z3_ast t)
{
	Z3_context z = terms_context();

	if (Z3_get_ast_kind(z, t) != Z3_APP_AST || Z3_get_app_num_args(z, Z3_to_app(z, t)))
		return false;
	Z3_func_decl f = Z3_get_app_decl(z, Z3_to_app(z, t));
	Z3_symbol name = Z3_get_decl_name(z, f);
	return Z3_get_decl_kind(z, f) == Z3_OP_UNINTERPRETED && Z3_get_symbol_kind(z, name) == Z3_STRING_SYMBOL &&
	       strchr(Z3_get_symbol_string(z, name), '!');
}

/* Looks at `left` terms at most: then it occurs, perhaps. */
static bool occurs(Z3_ast what, Z3_ast in, unsigned *left)
{
	Z3_context z = terms_context();

	if (!*left || Z3_is_eq_ast(z, what, in))
		return true;
	--*left;
	if (Z3_get_ast_kind(z, in) != Z3_APP_AST)
		return false;
	for (unsigned i = 0; i < Z3_get_app_num_args(z, Z3_to_app(z, in)); i++)
		if (occurs(what, Z3_get_app_arg(z, Z3_to_app(z, in), i), left))
			return true;
	return false;
}

/* An address to which something is added that no fact is about, such as a pointer that was loaded. */
static bool is_anywhere(const struct known_view *v)
{
	Z3_context z = terms_context();
	Z3_ast at = Z3_simplify(z, v->view.at);
	bool sum = Z3_get_ast_kind(z, at) == Z3_APP_AST &&
		   Z3_get_decl_kind(z, Z3_get_app_decl(z, Z3_to_app(z, at))) == Z3_OP_ADD;
	unsigned count = sum ? Z3_get_app_num_args(z, Z3_to_app(z, at)) : 1, left = MOST_LOOKED_AT;

	for (unsigned n = 0; n < count; n++) {
		Z3_ast t = sum ? Z3_get_app_arg(z, Z3_to_app(z, at), n) : at;
		bool free = is_unknown(t) && !(v->lock && occurs(t, v->lock, &left));
		for (unsigned i = 0; i < v->ticket_count && free; i++)
			free = !occurs(t, v->tickets[i].t, &left);
		for (size_t i = 0; i < v->fact_count && free; i++)
			free = !occurs(t, v->facts[i], &left);
		for (unsigned i = 0; i < count && free; i++)
			free = i == n || !occurs(t, Z3_get_app_arg(z, Z3_to_app(z, at), i), &left);
		if (free)
			return true;
	}
	return false;
}

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

/* The number of the first view that is of the same block and frame. */
static uint32_t place_of(const struct known_view *v)
{
	uint32_t n = 0;

	while (views[n]->block != v->block || views[n]->f != v->f)
		n++;
	return n;
}

static void look(struct known_view *v)
{
	terms_begin(v->f->side);
	terms_conditions(v->block, v->f);
	v->view.at = terms_of(v->base, v->f);
	v->view.length = v->length ? terms_of(v->length, v->f) : NULL;
	if (v->taken) {
		Z3_context z = terms_context();
		Z3_ast bytes = Z3_mk_int64(z, (int64_t)taken_bytes(v->taken), Z3_mk_int_sort(z));
		v->lock = terms_of(v->taken, v->f);
		v->lock_end = Z3_mk_add(z, 2, (Z3_ast[]){ v->lock, bytes });
	}
	terms_ends(v->block, v->f);
	const struct ticket *tickets = tickets_noted(&v->ticket_count);
	memcpy(v->tickets, tickets, v->ticket_count * sizeof *tickets);
	v->fact_count = solver_facts(&v->facts);
	v->product_count = numbers_products(v->products);
	const struct known_interval *known = numbers_known(&v->known_count);
	v->known = calloc(v->known_count + 1, sizeof *v->known);
	if (!v->known)
		compiler_die("out of memory");
	memcpy(v->known, known, v->known_count * sizeof *known);
	v->view.anywhere = is_anywhere(v);
	terms_end();
}

const struct view *views_of(LLVMValueRef inst, LLVMValueRef base, LLVMValueRef length, const struct frame *f)
{
	LLVMBasicBlockRef block = LLVMGetInstructionParent(inst);
	LLVMValueRef taken = taken_at(inst);
	uint32_t *first = map_enter(&by_base, (uintptr_t)base);

	for (struct known_view *v = *first ? views[*first - 1] : NULL; v; v = v->next)
		if (v->block == block && v->length == length && v->taken == taken && v->f == f)
			return &v->view;
	struct known_view *v = new_view();
	v->block = block;
	v->base = base;
	v->length = length;
	v->taken = taken;
	v->f = f;
	v->next = *first ? views[*first - 1] : NULL;
	*first = view_count;
	v->view.place = place_of(v);
	look(v);
	return &v->view;
}

/* Their locks are two: one ends before the other begins. */
static void suppose_apart(const struct known_view *v, const struct known_view *w)
{
	Z3_context z = terms_context();

	terms_assert(
		Z3_mk_or(z, 2, (Z3_ast[]){ Z3_mk_le(z, v->lock_end, w->lock), Z3_mk_le(z, w->lock_end, v->lock) }));
}

void views_suppose(const struct view *v, const struct view *w)
{
	const struct known_view *two[] = { (const struct known_view *)v, (const struct known_view *)w };

	for (unsigned k = 0; k < 2; k++) {
		for (size_t i = 0; i < two[k]->fact_count; i++)
			terms_assert(two[k]->facts[i]);
		numbers_know(two[k]->known, two[k]->known_count);
	}
	tickets_differ(two[0]->tickets, two[0]->ticket_count, two[1]->tickets, two[1]->ticket_count);
	if (two[0]->lock && two[1]->lock) /* both are there at the same time */
		suppose_apart(two[0], two[1]);
	numbers_relate(two[0]->products, two[0]->product_count, two[1]->products, two[1]->product_count);
}

void views_end(void)
{
	while (view_count) {
		struct known_view *v = views[--view_count];
		free(v->facts);
		free(v->known);
		free(v);
	}
	free(views);
	views = NULL;
	view_room = 0;
	map_free(&by_base);
}
