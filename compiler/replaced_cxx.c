/*
 * What libstdc++ has compiled, and programs and templates in its headers call: the nodes of std::map, std::set and
 * std::list, the text that goes to a stream, the end of a std::thread. Names and layout are its ABI's.
 */
#include "compiler/replaced.h"
#include <errno.h>
#include <pthread.h>

/* ---- trees ------------------------------------------------------------------------------------------------------- */

/*
 * A red-black tree. The header is a node as well: red, its parent is the root, its left and right child are the first
 * and the last node of all, or itself if there is none; and it is the root's parent.
 */
enum { LEFT, RIGHT };
enum { RED, BLACK };

struct tree_node {
	int colour;
	struct tree_node *parent, *child[2];
};

#define INSERT	       _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_
#define ERASE	       _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_
#define NEXT	       _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base
#define NEXT_CONST     _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base
#define PREVIOUS       _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base
#define PREVIOUS_CONST _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base
#define JOINED(a, b)   a##b
#define OURS(name)     JOINED(__replaced_, name)
#define THEIRS(name)   JOINED(__theirs_, name)

void OURS(INSERT)(bool left, struct tree_node *x, struct tree_node *parent, struct tree_node *header);
struct tree_node *OURS(ERASE)(struct tree_node *x, struct tree_node *header);
struct tree_node *OURS(NEXT)(struct tree_node *x);
struct tree_node *OURS(NEXT_CONST)(struct tree_node *x);
struct tree_node *OURS(PREVIOUS)(struct tree_node *x);
struct tree_node *OURS(PREVIOUS_CONST)(struct tree_node *x);

static bool is_red(const struct tree_node *x)
{
	return x && x->colour == RED;
}

static bool side_of(const struct tree_node *x, const struct tree_node *parent)
{
	return x != parent->child[LEFT];
}

/* As far as it goes to that side. */
static struct tree_node *last(struct tree_node *x, bool side)
{
	while (x->child[side])
		x = x->child[side];
	return x;
}

/* Who has x for a child has `other` instead, which may be nobody. */
static void put_in_place(const struct tree_node *x, struct tree_node *other, struct tree_node *header)
{
	struct tree_node *parent = x->parent;

	if (header->parent == x)
		header->parent = other;
	else
		parent->child[side_of(x, parent)] = other;
	if (other)
		other->parent = parent;
}

/* x goes down to that side, and its child of the other side comes into its place. */
static void rotate(struct tree_node *x, bool side, struct tree_node *header)
{
	struct tree_node *up = x->child[!side], *between = up->child[side];

	x->child[!side] = between;
	if (between)
		between->parent = x;
	put_in_place(x, up, header);
	up->child[side] = x;
	x->parent = up;
}

static void link_node(bool side, struct tree_node *x, struct tree_node *parent, struct tree_node *header)
{
	x->parent = parent;
	x->child[LEFT] = x->child[RIGHT] = NULL;
	x->colour = RED;
	if (parent == header)
		header->parent = header->child[LEFT] = header->child[RIGHT] = x;
	else {
		parent->child[side] = x;
		if (header->child[side] == parent)
			header->child[side] = x;
	}
}

void OURS(INSERT)(bool left, struct tree_node *x, struct tree_node *parent, struct tree_node *header)
{
	link_node(left ? LEFT : RIGHT, x, parent, header);
	while (x != header->parent && is_red(x->parent)) {
		struct tree_node *up = x->parent, *above = up->parent;
		bool side = side_of(up, above);
		struct tree_node *aside = above->child[!side];
		if (is_red(aside)) {
			up->colour = aside->colour = BLACK;
			above->colour = RED;
			x = above;
			continue;
		}
		if (x == up->child[!side]) {
			rotate(up, side, header);
			up = x;
		}
		up->colour = BLACK;
		above->colour = RED;
		rotate(above, !side, header);
		break;
	}
	header->parent->colour = BLACK;
}

/* The way through `child` (perhaps nobody), below `parent`, has a black node too few. */
static void refill(struct tree_node *child, struct tree_node *parent, struct tree_node *header)
{
	while (child != header->parent && !is_red(child)) {
		bool side = parent->child[LEFT] == child ? LEFT : RIGHT;
		struct tree_node *aside = parent->child[!side];
		if (is_red(aside)) {
			aside->colour = BLACK;
			parent->colour = RED;
			rotate(parent, side, header);
			aside = parent->child[!side];
		}
		if (is_red(aside->child[LEFT]) || is_red(aside->child[RIGHT])) {
			if (!is_red(aside->child[!side])) {
				aside->child[side]->colour = BLACK;
				aside->colour = RED;
				rotate(aside, !side, header);
				aside = parent->child[!side];
			}
			aside->colour = parent->colour;
			parent->colour = aside->child[!side]->colour = BLACK;
			rotate(parent, side, header);
			return;
		}
		aside->colour = RED;
		child = parent;
		parent = child->parent;
	}
	if (child)
		child->colour = BLACK;
}

/* x has two children: the node that follows it takes its place, with its colour. What is left behind in that node's own
   place is told. */
static struct tree_node *unlink_inner(struct tree_node *x, struct tree_node *header, struct tree_node **parent,
				      int *colour)
{
	struct tree_node *next = last(x->child[RIGHT], LEFT), *child = next->child[RIGHT];

	*colour = next->colour;
	*parent = next->parent == x ? next : next->parent;
	if (next->parent != x) {
		put_in_place(next, child, header);
		next->child[RIGHT] = x->child[RIGHT];
		next->child[RIGHT]->parent = next;
	}
	next->child[LEFT] = x->child[LEFT];
	next->child[LEFT]->parent = next;
	next->colour = x->colour;
	put_in_place(x, next, header);
	return child;
}

static struct tree_node *unlink_outer(struct tree_node *x, struct tree_node *header, struct tree_node **parent,
				      int *colour)
{
	struct tree_node *child = x->child[LEFT] ? x->child[LEFT] : x->child[RIGHT];

	*colour = x->colour;
	*parent = x->parent;
	for (int side = LEFT; side <= RIGHT; side++)
		if (header->child[side] == x)
			header->child[side] = child ? last(child, side) : x->parent;
	put_in_place(x, child, header);
	return child;
}

/* The node that can be destroyed: it is x. */
struct tree_node *OURS(ERASE)(struct tree_node *x, struct tree_node *header)
{
	int colour;
	struct tree_node *parent, *child;

	if (x->child[LEFT] && x->child[RIGHT])
		child = unlink_inner(x, header, &parent, &colour);
	else
		child = unlink_outer(x, header, &parent, &colour);
	if (colour == BLACK)
		refill(child, parent, header);
	return x;
}

/* The neighbour on that side. Beyond the last one is the header. */
static struct tree_node *neighbour(struct tree_node *x, bool side)
{
	if (x->child[side])
		return last(x->child[side], !side);
	struct tree_node *up = x->parent;
	while (x == up->child[side]) {
		x = up;
		up = up->parent;
	}
	/* from a root without children on that side, it has come to the header and then to the root again */
	return x->child[side] != up ? up : x;
}

struct tree_node *OURS(NEXT)(struct tree_node *x)
{
	return neighbour(x, RIGHT);
}

struct tree_node *OURS(NEXT_CONST)(struct tree_node *x)
{
	return neighbour(x, RIGHT);
}

/* Before the header is the last node. */
struct tree_node *OURS(PREVIOUS)(struct tree_node *x)
{
	return x->colour == RED && x->parent->parent == x ? x->child[RIGHT] : neighbour(x, LEFT);
}

struct tree_node *OURS(PREVIOUS_CONST)(struct tree_node *x)
{
	return OURS(PREVIOUS)(x);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* A ring; the list itself is one of the nodes. */
struct list_node {
	struct list_node *next, *previous;
};

#define HOOK	 _ZNSt8__detail15_List_node_base7_M_hookEPS0_
#define UNHOOK	 _ZNSt8__detail15_List_node_base9_M_unhookEv
#define TRANSFER _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_
#define REVERSE	 _ZNSt8__detail15_List_node_base10_M_reverseEv
#define SWAP	 _ZNSt8__detail15_List_node_base4swapERS0_S1_

void OURS(HOOK)(struct list_node *x, struct list_node *before);
void OURS(UNHOOK)(struct list_node *x);
void OURS(TRANSFER)(struct list_node *to, struct list_node *first, struct list_node *end);
void OURS(REVERSE)(struct list_node *list);
void OURS(SWAP)(struct list_node *a, struct list_node *b);

static void join(struct list_node *a, struct list_node *b)
{
	a->next = b;
	b->previous = a;
}

void OURS(HOOK)(struct list_node *x, struct list_node *before)
{
	join(before->previous, x);
	join(x, before);
}

void OURS(UNHOOK)(struct list_node *x)
{
	join(x->previous, x->next);
}

/* first up to, without, end: they may be of another list, or of this one. */
void OURS(TRANSFER)(struct list_node *to, struct list_node *first, struct list_node *end)
{
	if (to == end)
		return;
	struct list_node *final = end->previous, *before = to->previous;
	join(first->previous, end);
	join(before, first);
	join(final, to);
}

void OURS(REVERSE)(struct list_node *list)
{
	struct list_node *x = list;

	do {
		struct list_node *next = x->next;
		x->next = x->previous;
		x->previous = next;
		x = next;
	} while (x != list);
}

/* What was between the ends of a ring is so between those of another. */
static void take_over(struct list_node *list, const struct list_node *old, struct list_node ends)
{
	if (ends.next == old)
		ends.next = ends.previous = list;
	join(list, ends.next);
	join(ends.previous, list);
}

void OURS(SWAP)(struct list_node *a, struct list_node *b)
{
	struct list_node of_a = *a, of_b = *b;

	take_over(a, b, of_b);
	take_over(b, a, of_a);
}

/* ---- text for streams -------------------------------------------------------------------------------------------- */

/* libstdc++'s string: where its characters are, and how many. */
struct string {
	const char *text;
	size_t length;
};

#define INSERT_TEXT  _ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l
#define PRINT_TEXT   _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc
#define PRINT_STRING _ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE
#define WRITE	     _ZNSo5writeEPKcl

typedef void *put_function(void *stream, const char *text, long n);
put_function OURS(INSERT_TEXT), THEIRS(INSERT_TEXT), OURS(WRITE), THEIRS(WRITE);
void *OURS(PRINT_TEXT)(void *stream, const char *text);
void *THEIRS(PRINT_TEXT)(void *stream, const char *text);
void *OURS(PRINT_STRING)(void *stream, const struct string *string);

struct copy {
	char small[SMALL], *text;
};

static void drop(struct copy *c)
{
	done_with(c->text, c->small);
}

/* Streams get copies, and may throw. If there is no memory for one, the text itself. */
#define COPIED __attribute__((cleanup(drop))) struct copy

static const char *copy(struct copy *c, const char *text, long n)
{
	c->text = n > 0 ? room_for((size_t)n, c->small) : c->small;
	return c->text && n > 0 ? memcpy(c->text, text, (size_t)n) : text;
}

LARGE void *OURS(INSERT_TEXT)(void *stream, const char *text, long n)
{
	COPIED c;

	return THEIRS(INSERT_TEXT)(stream, copy(&c, text, n), n);
}

LARGE void *OURS(WRITE)(void *stream, const char *text, long n)
{
	COPIED c;

	return THEIRS(WRITE)(stream, copy(&c, text, n), n);
}

void *OURS(PRINT_TEXT)(void *stream, const char *text)
{
	return text ? OURS(INSERT_TEXT)(stream, text, (long)strlen(text)) : THEIRS(PRINT_TEXT)(stream, text);
}

void *OURS(PRINT_STRING)(void *stream, const struct string *string)
{
	return OURS(INSERT_TEXT)(stream, string->text, (long)string->length);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

#define JOIN   _ZNSt6thread4joinEv
#define DETACH _ZNSt6thread6detachEv
#define THROW  _ZSt20__throw_system_errori

/* Its id is all that std::thread has; 0: it is none. */
void OURS(JOIN)(pthread_t *thread);
void OURS(DETACH)(pthread_t *thread);
_Noreturn void THROW(int error);

static void let_go(pthread_t *thread, int error)
{
	if (error)
		THROW(error);
	*thread = 0;
}

void OURS(JOIN)(pthread_t *thread)
{
	pthread_t id = *thread;

	let_go(thread, id ? pthread_join(id, NULL) : EINVAL);
}

void OURS(DETACH)(pthread_t *thread)
{
	pthread_t id = *thread;

	let_go(thread, id ? pthread_detach(id) : EINVAL);
}
