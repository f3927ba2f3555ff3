/*
 * Which facts matter for a question: those about an unknown that the question is about, and about unknowns that these
 * are about, and so on. What is left over is about other unknowns only; it can be asked for itself whether it is true.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/numbers.h"

enum { MOST_LOOKED_AT = 2000 };

static struct unknowns {
	uint32_t first, count;
	bool too_many; /* to look at all of them: it matters */
} * all;	       /* of a fact */
static uint32_t all_count, all_room;
static uint32_t *members;
static uint32_t member_count, member_room;
static struct map known, names; /* facts and unknowns: number + 1 */
static uint32_t *marks, mark_room, mark;

static void *grow(void *rows, uint32_t *room, size_t size)
{
	uint32_t was = *room;

	*room = was ? was * 2 : 256;
	rows = realloc(rows, *room * size);
	if (!rows)
		compiler_die("out of memory");
	memset((char *)rows + was * size, 0, (*room - was) * size);
	return rows;
}

static void add_member(Z3_func_decl f)
{
	Z3_context z = terms_context();
	uint32_t *n = map_enter(&names, (uintptr_t)Z3_get_ast_id(z, Z3_func_decl_to_ast(z, f)) + 1);

	if (!*n)
		*n = (uint32_t)names.count;
	if (member_count == member_room)
		members = grow(members, &member_room, sizeof *members);
	members[member_count++] = *n - 1;
}

static void look_at(Z3_ast t, unsigned *left)
{
	Z3_context z = terms_context();

	if (!*left || Z3_get_ast_kind(z, t) != Z3_APP_AST)
		return;
	--*left;
	Z3_app app = Z3_to_app(z, t);
	if (Z3_get_decl_kind(z, Z3_get_app_decl(z, app)) == Z3_OP_UNINTERPRETED)
		add_member(Z3_get_app_decl(z, app));
	for (unsigned i = 0; i < Z3_get_app_num_args(z, app); i++)
		look_at(Z3_get_app_arg(z, app, i), left);
}

static const struct unknowns *unknowns_of(Z3_ast fact)
{
	uint32_t *n = map_enter(&known, (uintptr_t)Z3_get_ast_id(terms_context(), fact) + 1);
	unsigned left = MOST_LOOKED_AT;

	if (*n)
		return &all[*n - 1];
	if (all_count == all_room)
		all = grow(all, &all_room, sizeof *all);
	struct unknowns *u = &all[all_count++];
	*n = all_count;
	u->first = member_count;
	look_at(fact, &left);
	u->count = member_count - u->first;
	u->too_many = !left;
	return u;
}

static void mark_all(const struct unknowns *u)
{
	for (uint32_t i = 0; i < u->count; i++)
		marks[members[u->first + i]] = mark;
}

static bool matters(const struct unknowns *u)
{
	for (uint32_t i = 0; i < u->count; i++)
		if (marks[members[u->first + i]] == mark)
			return true;
	return u->too_many || !u->count;
}

static int compare(const void *a, const void *b)
{
	unsigned x = Z3_get_ast_id(terms_context(), *(const Z3_ast *)a),
		 y = Z3_get_ast_id(terms_context(), *(const Z3_ast *)b);

	return (x > y) - (x < y);
}

size_t relevant_facts(Z3_ast *facts, size_t count, Z3_ast question)
{
	size_t found = 0, before = SIZE_MAX;

	unknowns_of(question);
	for (size_t i = 0; i < count; i++)
		unknowns_of(facts[i]);
	while (mark_room < names.count + 1)
		marks = grow(marks, &mark_room, sizeof *marks);
	mark++;
	mark_all(unknowns_of(question));
	/* Those that matter come to the front, until there are no more. */
	while (found != before) {
		before = found;
		for (size_t i = found; i < count; i++)
			if (matters(unknowns_of(facts[i]))) {
				Z3_ast fact = facts[i];
				facts[i] = facts[found];
				facts[found++] = fact;
				mark_all(unknowns_of(fact));
			}
	}
	/* In an order that does not depend on what else there was. */
	qsort(facts, found, sizeof *facts, compare);
	return found;
}

void relevant_end(void)
{
	free(all);
	free(members);
	free(marks);
	all = NULL;
	members = marks = NULL;
	all_count = all_room = member_count = member_room = mark_room = mark = 0;
	map_free(&known);
	map_free(&names);
}
