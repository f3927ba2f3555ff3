/*
 * The solver of the points-to analysis (objects.h): wave propagation (Pereira and Berlin). Each round
 *
 *   1  finds the cycles of the copy graph and makes each one node,
 *   2  passes on what is new in each set, in topological order,
 *   3  looks at what is new behind loads, stores, moves and calls, which adds copies.
 *
 * What is stored through one place of an object may be read through every place that overlaps it. So a place has two
 * nodes: `in` collects what is stored through it, and `out` copies the `in` of all overlapping places. They never form
 * cycles, so a pointer to "anywhere in the object" does not make its members one.
 *
 * An object that is given away: what is stored in it is given away, too, and whatever is read from it may be the
 * unknown, unless it is constant.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/objects.h"

enum { MOST_PLACES = 48, POINTER = 8, MOST_WORDS = 1 << 17 };

enum complex { LOAD, STORE, STORE_PART, MOVE, CALL };

struct complex_row {
	enum complex kind;
	node other;
	uint32_t stride; /* STORE_PART: bytes */
	int64_t offset;
	LLVMValueRef call;
};

struct node_row {
	node parent;
	bool give, number;
	struct bits places, passed, looked; /* all; passed on along copies; seen by loads, stores, ... */
	node *to;
	uint32_t to_count, to_room;
	struct complex_row *rows;
	uint32_t row_count, row_room;
};

static struct node_row *nodes;
static uint32_t node_count, node_room;
static struct object *objects;
static uint32_t object_count, object_room;
static struct place *places;
static uint32_t place_count, place_room;
static bool changed;
/* When the sets grow too large, given objects are not told apart any more: the unknown stands for all of them. */
static bool coarse;
static struct bits given_places;
static uint32_t *newly_given;
static uint32_t newly_count, newly_room;

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Room for one more. */
#define GROW(array, count, room)                                              \
	do {                                                                  \
		if ((count) == (room)) {                                      \
			(room) = (room) ? (room)*2 : 16;                      \
			(array) = realloc((array), (room) * sizeof *(array)); \
			if (!(array))                                         \
				compiler_die("out of memory");                \
		}                                                             \
	} while (0)

node solve_node(void)
{
	GROW(nodes, node_count, node_room);
	nodes[node_count] = (struct node_row){ .parent = node_count };
	return node_count++;
}

static node find(node n)
{
	while (nodes[n].parent != n)
		n = nodes[n].parent = nodes[nodes[n].parent].parent;
	return n;
}

/* No other definition can take its place. */
static bool is_final(LLVMValueRef global)
{
	LLVMLinkage linkage = LLVMGetLinkage(global);

	return !LLVMIsDeclaration(global) && !LLVMIsExternallyInitialized(global) && linkage != LLVMWeakAnyLinkage &&
	       linkage != LLVMLinkOnceAnyLinkage;
}

uint32_t solve_object(enum object_kind kind, LLVMValueRef value)
{
	GROW(objects, object_count, object_room);
	bool constant = kind == OBJECT_GLOBAL && LLVMIsGlobalConstant(value) && is_final(value);
	objects[object_count] = (struct object){ .value = value, .kind = kind, .constant = constant };
	return object_count++;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

void solve_copy(node to, node from)
{
	if (!to || !from || (to = find(to)) == (from = find(from)))
		return;
	struct node_row *f = &nodes[from];
	uint32_t low = 0, high = f->to_count;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (f->to[middle] < to)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < f->to_count && f->to[low] == to)
		return;
	GROW(f->to, f->to_count, f->to_room);
	memmove(&f->to[low + 1], &f->to[low], (f->to_count - low) * sizeof *f->to);
	f->to[low] = to;
	f->to_count++;
	bits_add_all(&nodes[to].places, &f->passed);
	changed = true;
}

static void add_place(node n, uint32_t place)
{
	changed |= bits_add(&nodes[find(n)].places, place);
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Distance from a to b, going round at `round` (0: not at all). */
static bool touches(int64_t a, uint64_t size_a, int64_t b, uint64_t size_b, uint64_t round)
{
	if (!round)
		return a < b ? (uint64_t)(b - a) < size_a : (uint64_t)(a - b) < size_b;
	if (size_a >= round || size_b >= round)
		return true;
	int64_t r = (int64_t)round, ahead = ((b - a) % r + r) % r;
	return (uint64_t)ahead < size_a || (uint64_t)(r - ahead) % round < size_b;
}

bool solve_overlap(uint32_t a, uint64_t size_a, uint32_t b, uint64_t size_b)
{
	const struct place *p = &places[a], *q = &places[b];

	if (!size_a || !size_b) { /* from there to the end */
		if (p->stride || q->stride)
			return true;
		return (!size_a || p->offset + (int64_t)size_a > q->offset) &&
		       (!size_b || q->offset + (int64_t)size_b > p->offset);
	}
	return touches(p->offset, size_a, q->offset, size_b, gcd(p->stride, q->stride));
}

static void give_contents(uint32_t place)
{
	node in = places[place].in, out = places[place].out;

	nodes[find(in)].give = true;
	if (!objects[places[place].object].constant)
		add_place(out, UNKNOWN_PLACE);
	bits_add(&given_places, place);
	changed = true;
}

/* Bytes were stored at `part`: a pointer that is read over them may be any. What is copied whole (from anywhere in the
   object) is such a pointer only if the bytes were stored anywhere, too: else a number beside a pointer would spoil all
   its copies. */
static void spoil(uint32_t place, uint32_t part)
{
	if (places[part].part && (places[place].stride != 1 || places[part].stride == 1) &&
	    solve_overlap(place, POINTER, part, places[part].part))
		add_place(places[place].out, UNKNOWN_PLACE);
}

static void store_part(uint32_t place, uint32_t size)
{
	if (places[place].part >= size)
		return;
	places[place].part = size;
	for (uint32_t other = objects[places[place].object].first; other; other = places[other].next)
		spoil(other, place);
}

static void link_places(uint32_t place)
{
	for (uint32_t other = objects[places[place].object].first; other; other = places[other].next) {
		spoil(place, other);
		if (!solve_overlap(place, POINTER, other, POINTER))
			continue;
		solve_copy(places[place].out, places[other].in);
		solve_copy(places[other].out, places[place].in);
	}
}

static uint32_t find_place(uint32_t object, int64_t offset, uint64_t stride)
{
	for (uint32_t p = objects[object].first; p; p = places[p].next)
		if (places[p].offset == offset && places[p].stride == stride)
			return p;
	return 0;
}

static uint32_t place_at(uint32_t object, int64_t offset, uint64_t stride)
{
	if (object == UNKNOWN_OBJECT || (coarse && objects[object].given))
		return UNKNOWN_PLACE;
	if (stride) {
		offset %= (int64_t)stride;
		offset += offset < 0 ? (int64_t)stride : 0;
	}
	uint32_t place = find_place(object, offset, stride);
	bool many = objects[object].places >= MOST_PLACES || offset < 0 || stride > INT32_MAX;
	if (!place && many && stride != 1)
		return place_at(object, 0, 1);
	if (place)
		return place;
	node in = solve_node(), out = solve_node();
	GROW(places, place_count, place_room);
	place = place_count++;
	places[place] = (struct place){ object, objects[object].first, (uint32_t)stride, offset, in, out };
	objects[object].first = place;
	objects[object].places++;
	link_places(place);
	if (objects[object].given)
		give_contents(place);
	return place;
}

static void give_object(uint32_t object)
{
	if (objects[object].given)
		return;
	objects[object].given = true;
	changed = true;
	for (uint32_t p = objects[object].first; p; p = places[p].next)
		give_contents(p);
	if (objects[object].kind == OBJECT_FUNCTION) {
		GROW(newly_given, newly_count, newly_room);
		newly_given[newly_count++] = object;
	}
}

/* ---- constraints ------------------------------------------------------------------------------------------------- */

void solve_points(node n, uint32_t object, int64_t offset)
{
	if (n)
		add_place(n, place_at(object, offset, 0));
}

void solve_points_anywhere(node n)
{
	if (n)
		add_place(n, UNKNOWN_PLACE);
}

static void add_row(node at, struct complex_row row)
{
	struct node_row *n = &nodes[find(at)];

	GROW(n->rows, n->row_count, n->row_room);
	n->rows[n->row_count++] = row;
	n->looked.count = 0; /* the new row has seen nothing yet; the others do the same again, which changes nothing */
	changed = true;
}

void solve_move(node to, node from, int64_t offset, uint64_t stride)
{
	if (!to || !from)
		return;
	if (!offset && !stride)
		solve_copy(to, from);
	else
		add_row(from,
			(struct complex_row){ MOVE, to, stride > INT32_MAX ? 1 : (uint32_t)stride, offset, NULL });
}

void solve_load(node to, node address)
{
	if (to && address)
		add_row(address, (struct complex_row){ LOAD, to, 0, 0, NULL });
}

void solve_store(node address, node from)
{
	if (from && address)
		add_row(address, (struct complex_row){ STORE, from, 0, 0, NULL });
}

void solve_number(node n)
{
	if (n)
		nodes[find(n)].number = true;
}

void solve_store_part(node address, uint32_t size)
{
	if (address)
		add_row(address, (struct complex_row){ STORE_PART, 0, size, 0, NULL });
}

void solve_give(node n)
{
	if (n && !nodes[find(n)].give) {
		nodes[find(n)].give = true;
		changed = true;
	}
}

static struct {
	node a, b;
} * differences;
static uint32_t difference_count, difference_room;

void solve_difference(node a, node b)
{
	GROW(differences, difference_count, difference_room);
	differences[difference_count].a = a;
	differences[difference_count++].b = b;
}

void solve_call(node function, LLVMValueRef call)
{
	if (function)
		add_row(function, (struct complex_row){ CALL, 0, 0, 0, call });
}

/* ---- cycles: Tarjan's algorithm, without recursion --------------------------------------------------------------- */

static uint32_t *number, *low, *stack, *order; /* order: from the last to the first of the topological order */
static uint32_t stack_count, order_count, next_number;
static bool *on_stack;

static void join(node keep, node gone)
{
	struct node_row g = nodes[gone];

	nodes[gone] = (struct node_row){ .parent = keep };
	nodes[keep].give |= g.give;
	nodes[keep].number |= g.number;
	bits_add_all(&nodes[keep].places, &g.places);
	for (uint32_t i = 0; i < g.to_count; i++)
		solve_copy(g.to[i], keep);
	for (uint32_t i = 0; i < g.row_count; i++)
		add_row(keep, g.rows[i]);
	/* What only one of them has passed on must go to the others' targets: start again. */
	nodes[keep].passed.count = nodes[keep].looked.count = 0;
	bits_free(&g.places);
	bits_free(&g.passed);
	bits_free(&g.looked);
	free(g.to);
	free(g.rows);
}

struct frame {
	node n;
	uint32_t edge;
};

static void pop_component(node root)
{
	node other;

	order[order_count++] = root;
	while ((other = stack[--stack_count]) != root) {
		on_stack[other] = false;
		low[other] = root; /* joined later, when no frame looks at edges */
		number[other] = UINT32_MAX;
	}
	on_stack[root] = false;
}

static void visit(node start, struct frame *frames)
{
	uint32_t depth = 0;

	frames[depth++] = (struct frame){ start, 0 };
	while (depth) {
		struct frame *f = &frames[depth - 1];
		node n = f->n;
		if (!f->edge) {
			number[n] = low[n] = ++next_number;
			stack[stack_count++] = n;
			on_stack[n] = true;
		}
		bool down = false;
		while (f->edge < nodes[n].to_count && !down) {
			node to = find(nodes[n].to[f->edge++]);
			if (!number[to]) {
				frames[depth++] = (struct frame){ to, 0 };
				down = true;
			} else if (on_stack[to] && number[to] < low[n])
				low[n] = number[to];
		}
		if (down)
			continue;
		f->edge++; /* so that one without edges is not begun again */
		depth--;
		uint32_t mine = low[n];
		if (mine == number[n])
			pop_component(n);
		if (depth && mine < low[frames[depth - 1].n])
			low[frames[depth - 1].n] = mine;
	}
}

static void collapse_cycles(void)
{
	uint32_t count = node_count;
	struct frame *frames = malloc((count + 1) * sizeof *frames);

	number = calloc(count + 1, sizeof *number);
	low = calloc(count + 1, sizeof *low);
	stack = malloc((count + 1) * sizeof *stack);
	order = realloc(order, (count + 1) * sizeof *order);
	on_stack = calloc(count + 1, sizeof *on_stack);
	if (!frames || !number || !low || !stack || !order || !on_stack)
		compiler_die("out of memory");
	stack_count = order_count = next_number = 0;
	for (node n = 1; n < count; n++)
		if (nodes[n].parent == n && !number[n])
			visit(n, frames);
	for (node n = 1; n < count; n++)
		if (number[n] == UINT32_MAX && nodes[n].parent == n)
			join(find(low[n]), n);
	free(frames);
	free(number);
	free(low);
	free(stack);
	free(on_stack);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static void make_coarse(struct node_row *n, struct bits *rest)
{
	bits_difference(rest, &n->places, &given_places);
	if (bits_count(rest) == bits_count(&n->places))
		return;
	bits_add(rest, UNKNOWN_PLACE);
	struct bits swap = n->places;
	n->places = *rest;
	*rest = swap;
}

static void pass_on(void)
{
	struct bits fresh = { 0 };
	size_t words = 0;

	for (uint32_t i = order_count; i--;) {
		struct node_row *n = &nodes[order[i]];
		words += n->places.count;
		coarse |= words > MOST_WORDS;
		if (coarse)
			make_coarse(n, &fresh);
		bits_difference(&fresh, &n->places, &n->passed);
		if (!fresh.count)
			continue;
		changed = true;
		bits_add_all(&n->passed, &fresh);
		for (uint32_t e = 0; e < n->to_count; e++) {
			node to = find(n->to[e]);
			if (to != order[i])
				bits_add_all(&nodes[to].places, &fresh);
		}
	}
	bits_free(&fresh);
}

static void (*on_call)(LLVMValueRef call, LLVMValueRef function);

static void apply(struct complex_row row, uint32_t place)
{
	uint32_t object = places[place].object;

	switch (row.kind) {
	case LOAD: solve_copy(row.other, places[place].out); break;
	case STORE: solve_copy(places[place].in, row.other); break;
	case STORE_PART:
		if (object != UNKNOWN_OBJECT)
			store_part(place, row.stride);
		break;
	case CALL:
		if (object == UNKNOWN_OBJECT)
			on_call(row.call, NULL);
		else if (objects[object].kind == OBJECT_FUNCTION)
			on_call(row.call, objects[object].value);
		break;
	case MOVE: {
		uint64_t stride = gcd(places[place].stride, row.stride);
		add_place(row.other, place_at(object, places[place].offset + row.offset, stride));
	}
	}
}

static void look(node n, struct bits *fresh)
{
	bits_difference(fresh, &nodes[n].places, &nodes[n].looked);
	if (!fresh->count)
		return;
	changed = true;
	/* Rows that are added meanwhile empty `looked`, and come round again. */
	bits_add_all(&nodes[n].looked, fresh);
	uint32_t rows = nodes[n].row_count;
	BITS_EACH(fresh, place)
	{
		for (uint32_t r = 0; r < rows; r++)
			apply(nodes[n].rows[r], (uint32_t)place);
		if (nodes[n].give)
			give_object(places[place].object);
	}
}

/* Of a copy, since the set itself may grow meanwhile. */
static void give_all(node n, struct bits *copy)
{
	bits_difference(copy, &nodes[n].places, &(struct bits){ 0 });
	BITS_EACH(copy, place)
	{
		give_object(places[place].object);
	}
}

/* When all is known: a number that becomes a pointer, and comes from no pointer, is one that nobody has seen. */
static void find_lost(void)
{
	for (node n = 1; n < node_count; n++)
		if (nodes[n].parent == n && nodes[n].number && !bits_count(&nodes[n].places))
			add_place(n, UNKNOWN_PLACE);
}

static bool share_object(const struct bits *x, const struct bits *y)
{
	BITS_EACH(x, p)
	BITS_EACH(y, q)
	if (places[p].object == places[q].object)
		return true;
	return false;
}

/* When all is known: who knows one of two objects, and the way from it to the other, knows both. */
static void find_strangers(void)
{
	for (uint32_t i = 0; i < difference_count; i++) {
		node a = find(differences[i].a), b = find(differences[i].b);
		if (share_object(&nodes[a].places, &nodes[b].places))
			continue;
		solve_give(a);
		solve_give(b);
	}
}

void solve_run(void (*called)(LLVMValueRef, LLVMValueRef), void (*given)(LLVMValueRef))
{
	struct bits fresh = { 0 };

	on_call = called;
	for (changed = true; changed;) {
		collapse_cycles();
		changed = false;
		pass_on();
		for (node n = 1; n < node_count; n++) {
			if (nodes[n].parent != n)
				continue;
			if (nodes[n].row_count)
				look(n, &fresh);
			if (nodes[n].give)
				give_all(n, &fresh);
		}
		while (newly_count)
			given(objects[newly_given[--newly_count]].value);
		if (!changed)
			find_lost();
		if (!changed)
			find_strangers();
	}
	bits_free(&fresh);
}

/* ---- the beginning, the end, answers ----------------------------------------------------------------------------- */

void solve_begin(void)
{
	solve_end();
	solve_node(); /* NO_NODE */
	solve_object(OBJECT_UNKNOWN, NULL);
	objects[UNKNOWN_OBJECT].given = objects[UNKNOWN_OBJECT].shared = true;
	node in = solve_node(), out = solve_node();
	GROW(places, place_count, place_room);
	places[place_count++] = (struct place){ UNKNOWN_OBJECT, 0, 1, 0, in, out };
	nodes[in].give = true;
	add_place(out, UNKNOWN_PLACE);
}

void solve_end(void)
{
	for (node n = 0; n < node_count; n++) {
		bits_free(&nodes[n].places);
		bits_free(&nodes[n].passed);
		bits_free(&nodes[n].looked);
		free(nodes[n].to);
		free(nodes[n].rows);
	}
	free(nodes);
	free(objects);
	free(places);
	free(order);
	free(newly_given);
	free(differences);
	differences = NULL;
	difference_count = difference_room = 0;
	bits_free(&given_places);
	coarse = false;
	nodes = NULL;
	objects = NULL;
	places = NULL;
	order = newly_given = NULL;
	node_count = node_room = object_count = object_room = place_count = place_room = newly_count = newly_room = 0;
}

const struct bits *solve_places(node n)
{
	return &nodes[find(n)].places;
}

struct place *solve_place(uint32_t place)
{
	return &places[place];
}

struct object *solve_object_at(uint32_t object)
{
	return &objects[object];
}

uint32_t solve_object_count(void)
{
	return object_count;
}

uint32_t solve_node_count(void)
{
	return node_count;
}
