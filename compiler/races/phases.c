/*
 * Phases: what lies between two barriers that all threads of a team pass. A team is a class that one loop creates, run once, with or
 * without the first thread.
 *
 * A barrier counts if it is one object, initialised at one place, with at least as many parties as there can be threads that wait at it:
 * then it opens only when all of them are there. (With more parties than threads it never opens.) Whether the number
 * is enough is asked of the solver: in round k of the loop that creates there are k + 1 threads, and the first one.
 *
 * A segment begins where a thread begins or passes a barrier, and goes on to all barriers that can be reached from there without
 * passing one. Two threads are in the segments that begin with them first; when both pass a barrier, the same
 * one, they are in the segments that follow. So all pairs of segments are found that two threads can be in at the same time. Functions
 * that wait are followed for each chain of calls by itself.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/terms.h"

enum { MOST_BARRIERS = 32, MOST_SEGMENTS = 256, MOST_CHAINS = 512, MOST_PIECES = 20000 };

/* ---- barriers ------------------------------------------------------------------------------------------------------------ */

struct barrier {
	uint32_t place;	  /* of a pthread_barrier_t, or ... */
	const char *name; /* ... a function that is one */
	size_t name_len;
	unsigned team; /* class of the threads that wait; 0: does not count */
	bool with_main;
};
static struct barrier barriers[MOST_BARRIERS];
static unsigned barrier_count;
static uint8_t *waits_at; /* of each call: 1 + the barrier */

static bool is_named(const struct call *c, const char *name)
{
	LLVMValueRef callee = LLVMGetCalledValue(c->inst);

	return LLVMIsAFunction(callee) && !strcmp(external_name(callee), name);
}

static uint32_t single_place(LLVMValueRef address)
{
	const struct bits *set = objects_of(address);

	if (!set || bits_count(set) != 1)
		return 0;
	uint32_t place = set->words[0].at * 64 + (uint32_t)__builtin_ctzll(set->words[0].bits);
	const struct place *p = solve_place(place);
	const struct object *o = solve_object_at(p->object);
	bool once = o->kind == OBJECT_GLOBAL ||
		    ((o->kind == OBJECT_STACK || o->kind == OBJECT_HEAP) && program_is_once(o->value));
	return p->stride || o->given || !once ? 0 : place;
}

static bool may_be(LLVMValueRef address, uint32_t place)
{
	const struct bits *set = objects_of(address);

	if (!set)
		return true;
	BITS_EACH(set, at)
	{
		if (solve_place((uint32_t)at)->object == solve_place(place)->object &&
		    solve_overlap((uint32_t)at, 1, place, 1))
			return true;
	}
	return false;
}

static int barrier_of_place(uint32_t place)
{
	for (unsigned i = 0; i < barrier_count; i++)
		if (place && barriers[i].place == place)
			return (int)i;
	return -1;
}

/* --barrier=NAME */
static int barrier_of_name(const struct call *c)
{
	LLVMValueRef callee = LLVMGetCalledValue(c->inst);
	const char *name = LLVMIsAFunction(callee) ? external_name(callee) : "";

	for (unsigned i = 0; i < barrier_count; i++)
		if (barriers[i].name && strlen(name) == barriers[i].name_len &&
		    !memcmp(name, barriers[i].name, barriers[i].name_len))
			return (int)i;
	return -1;
}

static void list_barriers(void)
{
	barrier_count = 0;
	for (const char *p = settings.barriers; p && *p && barrier_count < MOST_BARRIERS;
	     p += strcspn(p, ":"), p += *p == ':')
		barriers[barrier_count++] = (struct barrier){ .name = p, .name_len = strcspn(p, ":") };
	for (uint32_t i = 0; i < program.call_count; i++) {
		uint32_t place = is_named(&program.calls[i], "pthread_barrier_wait") ?
					 single_place(LLVMGetOperand(program.calls[i].inst, 0)) :
					 0;
		if (place && barrier_of_place(place) < 0 && barrier_count < MOST_BARRIERS)
			barriers[barrier_count++] = (struct barrier){ .place = place };
	}
}

/* The only call that initialises a barrier; NULL if there are several, or somebody else may wait there by another way. */
static const struct call *initialised(const struct barrier *b)
{
	const struct call *only = NULL;

	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		if (is_named(c, "pthread_barrier_wait") && may_be(LLVMGetOperand(c->inst, 0), b->place) &&
		    single_place(LLVMGetOperand(c->inst, 0)) != b->place)
			return NULL;
		if (!is_named(c, "pthread_barrier_init") || !may_be(LLVMGetOperand(c->inst, 0), b->place))
			continue;
		if (only || !program_is_once(c->inst))
			return NULL;
		only = c;
	}
	return only;
}

/* Are there never more threads than parties? */
static bool enough_parties(const struct call *init, unsigned team, bool with_main)
{
	static const struct frame common = { NULL, NULL, 2, NULL };
	const struct call *create = classes[team].create;
	struct plugin_loop l, outer;

	if (!create || !program_function_is_once(create->block))
		return false;
	LLVMBasicBlockRef at = LLVMGetInstructionParent(create->inst);
	if (plugin_loop(at, 1, &outer))
		return false;
	terms_begin();
	Z3_context z = terms_context();
	Z3_sort integer = Z3_mk_int_sort(z);
	terms_conditions(at, &common);
	terms_of(LLVMGetOperand(create->inst, LLVMGetNumArgOperands(create->inst) - 1), &common);
	/* Values of the loop that the test is about are known by now if they are in an address; ask for the handle's, too. */
	terms_of(LLVMGetOperand(create->inst, 0), &common);
	Z3_ast made = Z3_mk_int64(z, with_main ? 2 : 1, integer);
	if (plugin_loop(at, 0, &l))
		made = Z3_mk_add(z, 2, (Z3_ast[]){ made, terms_round(l.header, &common) });
	bool enough = terms_surely(Z3_mk_le(z, made, terms_of(LLVMGetOperand(init->inst, 2), &common)));
	terms_end();
	return enough;
}

/* Who waits there? */
static uint64_t waiting(unsigned b)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < program.call_count; i++)
		if (waits_at[i] == b + 1)
			all |= program.functions[program.blocks[program.calls[i].block].function].classes;
	return all;
}

static void find_team(unsigned n)
{
	struct barrier *b = &barriers[n];
	uint64_t who = waiting(n), threads = who & ~BIT(CLASS_MAIN);

	b->with_main = who & BIT(CLASS_MAIN);
	if (!threads || threads & (threads - 1) || threads & BIT(CLASS_OUTSIDE))
		return;
	unsigned team = (unsigned)__builtin_ctzll(threads);
	const struct call *init = b->name ? NULL : initialised(b);
	if (b->name || (init && enough_parties(init, team, b->with_main)))
		b->team = team;
}

static void find_waits(void)
{
	waits_at = calloc(program.call_count + 1, sizeof *waits_at);
	for (uint32_t i = 0; i < program.call_count; i++) {
		const struct call *c = &program.calls[i];
		int b = barrier_of_name(c);
		if (b < 0 && is_named(c, "pthread_barrier_wait"))
			b = barrier_of_place(single_place(LLVMGetOperand(c->inst, 0)));
		waits_at[i] = (uint8_t)(b + 1);
	}
	for (unsigned b = 0; b < barrier_count; b++)
		find_team(b);
}

/* ---- segments -------------------------------------------------------------------------------------------------------------- */

/* A chain of calls into functions that wait. */
struct chain {
	uint32_t up; /* index; the first chain is the beginning of the thread */
	const struct call *call;
};
/* Calls of a block from `from` (all before it are over) to `to`, which is not passed. */
struct piece {
	uint32_t block, from, to;
};
struct segment {
	uint32_t chain, call; /* the wait that it begins with; UINT32_MAX: the thread's beginning */
	struct piece *pieces;
	uint32_t piece_count;
	uint32_t *functions; /* called in it, that do not wait */
	bool *calls;	     /* by function: is it among them? */
	uint8_t follows[MOST_SEGMENTS / 8];
};
/* The segments of a class, for barriers of one team. */
struct walk {
	unsigned class, team;
	bool with_main, failed;
	struct chain chains[MOST_CHAINS];
	unsigned chain_count;
	struct segment segments[MOST_SEGMENTS];
	unsigned segment_count;
};

static bool *waits; /* by function: does it wait, for the team at hand? */

static bool counts(const struct walk *w, uint32_t call)
{
	const struct barrier *b = waits_at[call] ? &barriers[waits_at[call] - 1] : NULL;

	return b && b->team == w->team && (!w->with_main || b->with_main);
}

static void find_waiting_functions(const struct walk *w)
{
	memset(waits, 0, program.function_count * sizeof *waits);
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < program.call_count; i++) {
			const struct call *c = &program.calls[i];
			uint32_t in = program.blocks[c->block].function;
			bool here = counts(w, i);
			for (uint32_t k = 0; k < c->callee_count; k++)
				here |= waits[c->callees[k]];
			again |= here && !waits[in];
			waits[in] |= here;
		}
	}
	/* A barrier of the program's own is no function that waits: it is the wait. */
	for (uint32_t f = 0; f < program.function_count; f++)
		for (unsigned b = 0; b < barrier_count; b++)
			if (barriers[b].name &&
			    strlen(external_name(program.functions[f].ref)) == barriers[b].name_len &&
			    !memcmp(external_name(program.functions[f].ref), barriers[b].name, barriers[b].name_len))
				waits[f] = false;
}

static uint32_t find_segment(struct walk *w, uint32_t chain, uint32_t call)
{
	for (unsigned i = 0; i < w->segment_count; i++)
		if (w->segments[i].chain == chain && w->segments[i].call == call)
			return i;
	if (w->segment_count == MOST_SEGMENTS) {
		w->failed = true;
		return 0;
	}
	struct segment *s = &w->segments[w->segment_count];
	*s = (struct segment){ .chain = chain, .call = call };
	s->calls = calloc(program.function_count + 1, sizeof *s->calls);
	return w->segment_count++;
}

static uint32_t find_chain(struct walk *w, uint32_t up, const struct call *call)
{
	unsigned depth = 0;

	for (unsigned i = 1; i < w->chain_count; i++)
		if (w->chains[i].up == up && w->chains[i].call == call)
			return i;
	for (uint32_t c = up; c; c = w->chains[c].up)
		if (++depth > 10 || w->chains[c].call == call) /* recursion */
			w->failed = true;
	if (w->chain_count == MOST_CHAINS)
		w->failed = true;
	if (w->failed)
		return 0;
	w->chains[w->chain_count] = (struct chain){ up, call };
	return w->chain_count++;
}

struct position {
	uint32_t chain, block, call; /* before this call of the block */
};
static struct position *list;
static size_t list_count, list_room;

static void go_to(struct position p)
{
	for (size_t i = 0; i < list_count; i++)
		if (list[i].chain == p.chain && list[i].block == p.block && list[i].call == p.call)
			return;
	if (list_count == list_room) {
		list_room = list_room ? list_room * 2 : 256;
		list = realloc(list, list_room * sizeof *list);
		if (!list)
			compiler_die("out of memory");
	}
	list[list_count++] = p;
}

static void add_piece(struct walk *w, struct segment *s, struct piece p)
{
	if (s->piece_count == MOST_PIECES) {
		w->failed = true;
		return;
	}
	s->pieces = realloc(s->pieces, (s->piece_count + 1) * sizeof *s->pieces);
	s->pieces[s->piece_count++] = p;
}

static void add_function(struct segment *s, uint32_t function)
{
	uint32_t *todo = calloc(program.function_count + 1, sizeof *todo), count = 0;

	if (!s->calls[function])
		todo[count++] = function;
	s->calls[function] = true;
	for (uint32_t i = 0; i < count; i++) {
		const struct function *f = &program.functions[todo[i]];
		for (uint32_t b = f->first_block; b < f->first_block + f->block_count; b++)
			for (uint32_t n = 0; n < program.blocks[b].call_count; n++) {
				const struct call *c = &program.calls[program.blocks[b].first_call + n];
				for (uint32_t k = 0; k < c->callee_count; k++)
					if (!s->calls[c->callees[k]]) {
						s->calls[c->callees[k]] = true;
						todo[count++] = c->callees[k];
					}
			}
	}
	free(todo);
}

/* Down into functions that wait; returns whether it is one. */
static bool go_down(struct walk *w, struct segment *s, struct position p, const struct call *c)
{
	bool down = false;

	for (uint32_t k = 0; k < c->callee_count; k++) {
		if (!waits[c->callees[k]]) {
			add_function(s, c->callees[k]);
			continue;
		}
		down = true;
		uint32_t chain = find_chain(w, p.chain, c);
		go_to((struct position){ chain, program.functions[c->callees[k]].first_block, 0 });
	}
	return down && c->callee_count == 1;
}

static void go_on(struct walk *w, uint32_t segment, struct position p)
{
	struct segment *s = &w->segments[segment];
	const struct block *b = &program.blocks[p.block];
	uint32_t n = p.call;

	for (; n < b->call_count; n++) {
		uint32_t call = b->first_call + n;
		if (counts(w, call)) {
			uint32_t next = find_segment(w, p.chain, call);
			s->follows[next / 8] |= (uint8_t)(1u << next % 8);
			add_piece(w, s, (struct piece){ p.block, p.call, n });
			return;
		}
		if (go_down(w, s, p, &program.calls[call])) {
			add_piece(w, s, (struct piece){ p.block, p.call, n });
			return;
		}
	}
	add_piece(w, s, (struct piece){ p.block, p.call, n + 1 });
	for (uint32_t i = 0; i < b->next_count; i++)
		go_to((struct position){ p.chain, b->next[i], 0 });
	if (!b->next_count && p.chain) {
		const struct call *c = w->chains[p.chain].call;
		go_to((struct position){ w->chains[p.chain].up, c->block,
					 (uint32_t)(c - program.calls) - program.blocks[c->block].first_call + 1 });
	}
}

static void walk_segment(struct walk *w, uint32_t segment)
{
	const struct segment *s = &w->segments[segment];

	list_count = 0;
	if (s->call == UINT32_MAX) {
		LLVMValueRef entry = w->class == CLASS_MAIN ? program.main_function : classes[w->class].entry;
		uint32_t f = program_function(entry);
		if (!waits[f])
			add_function(&w->segments[segment], f);
		go_to((struct position){ 0, program.functions[f].first_block, 0 });
	} else {
		const struct call *c = &program.calls[s->call];
		go_to((struct position){ s->chain, c->block, s->call - program.blocks[c->block].first_call + 1 });
	}
	for (size_t i = 0; i < list_count && !w->failed; i++)
		go_on(w, segment, list[i]);
}

static struct walk *new_walk(unsigned class, unsigned team, bool with_main)
{
	struct walk *w = calloc(1, sizeof *w);

	*w = (struct walk){ .class = class, .team = team, .with_main = with_main, .chain_count = 1 };
	find_waiting_functions(w);
	find_segment(w, 0, UINT32_MAX);
	for (unsigned i = 0; i < w->segment_count && !w->failed; i++)
		walk_segment(w, i);
	return w;
}

static void free_walk(struct walk *w)
{
	for (unsigned i = 0; w && i < w->segment_count; i++) {
		free(w->segments[i].pieces);
		free(w->segments[i].calls);
	}
	free(w);
}

/* ---- pairs of segments ------------------------------------------------------------------------------------------------------- */

struct meeting {
	struct walk *a, *b; /* of the first thread or the team, and of the team */
	bool *meet;	    /* [segment of a][segment of b] */
};
static struct meeting meetings[MOST_CLASSES][2]; /* by class of the team; with the first thread, among themselves */
static bool known[MOST_CLASSES][2];

static bool same_barrier(const struct segment *x, const struct segment *y)
{
	return waits_at[x->call] == waits_at[y->call];
}

static void find_meetings(struct meeting *m)
{
	unsigned count = m->b->segment_count;
	uint32_t *todo = calloc((size_t)m->a->segment_count * count + 1, sizeof *todo), n = 0;

	m->meet = calloc((size_t)m->a->segment_count * count + 1, sizeof *m->meet);
	m->meet[0] = true;
	todo[n++] = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct segment *x = &m->a->segments[todo[i] / count], *y = &m->b->segments[todo[i] % count];
		for (unsigned p = 0; p < m->a->segment_count; p++)
			for (unsigned q = 0; q < count; q++)
				if (x->follows[p / 8] >> p % 8 & 1 && y->follows[q / 8] >> q % 8 & 1 &&
				    !m->meet[p * count + q] && same_barrier(&m->a->segments[p], &m->b->segments[q])) {
					m->meet[p * count + q] = true;
					todo[n++] = p * count + q;
				}
	}
	free(todo);
}

static struct meeting *meeting_of(unsigned team, bool with_main)
{
	struct meeting *m = &meetings[team][with_main];

	if (!known[team][with_main]) {
		m->b = new_walk(team, team, with_main);
		m->a = with_main ? new_walk(CLASS_MAIN, team, true) : m->b;
		if (!m->a->failed && !m->b->failed)
			find_meetings(m);
		known[team][with_main] = true;
	}
	return m;
}

static bool in_segment(const struct segment *s, const struct party *p)
{
	const struct block *block = program_block_of(p->inst);
	uint32_t b = (uint32_t)(block - program.blocks), before = 0;

	if (s->calls[p->function])
		return true;
	for (LLVMValueRef i = LLVMGetFirstInstruction(block->ref); i != p->inst; i = LLVMGetNextInstruction(i))
		before += program_call(i) != NULL; /* calls that are over when it is made */
	for (uint32_t i = 0; i < s->piece_count; i++)
		if (s->pieces[i].block == b && before >= s->pieces[i].from && before <= s->pieces[i].to)
			return true;
	return false;
}

/* What the walk has not come to is in no segment that is known. */
static bool in_any(const struct walk *w, const struct party *p)
{
	for (unsigned i = 0; i < w->segment_count; i++)
		if (in_segment(&w->segments[i], p))
			return true;
	return false;
}

bool phases_meet(const struct party *a, unsigned x, const struct party *b, unsigned y)
{
	if (x != CLASS_MAIN && y == CLASS_MAIN)
		return phases_meet(b, y, a, x);
	if (y < CLASS_FIRST || (x != y && x != CLASS_MAIN))
		return true;
	struct meeting *m = meeting_of(y, x == CLASS_MAIN);
	if (!m->meet || !in_any(m->a, a) || !in_any(m->b, b))
		return true;
	for (unsigned p = 0; p < m->a->segment_count; p++)
		for (unsigned q = 0; q < m->b->segment_count; q++)
			if (m->meet[p * m->b->segment_count + q] &&
			    ((in_segment(&m->a->segments[p], a) && in_segment(&m->b->segments[q], b)) ||
			     (x == y && in_segment(&m->a->segments[p], b) && in_segment(&m->b->segments[q], a))))
				return true;
	return false;
}

/* ---- rounds: threads that are in the same phase of a loop are in the same round of it ---------------------------------------- */

/* The instruction of this function that leads to a place in a frame. */
static LLVMValueRef place_in(LLVMValueRef function, LLVMValueRef inst, const struct frame *f, const struct frame **in)
{
	for (; f && !f->creates; f = f->up) {
		if (LLVMGetBasicBlockParent(LLVMGetInstructionParent(inst)) == function) {
			*in = f;
			return inst;
		}
		inst = f->call ? f->call->inst : NULL;
		if (!inst)
			return NULL;
	}
	return NULL;
}

/* Does a thread of the class run the function once at most? It begins with it, or the first thread calls it once. */
static bool once_in_class(LLVMValueRef function, unsigned class)
{
	uint32_t f = program_function(function);
	unsigned callers = 0;

	for (uint32_t i = 0; i < program.call_count; i++)
		for (uint32_t k = 0; k < program.calls[i].callee_count; k++)
			if (program.calls[i].callees[k] == f &&
			    program.functions[program.blocks[program.calls[i].block].function].classes & BIT(class)) {
				callers++;
				if (class != CLASS_MAIN || !program_is_once(program.calls[i].inst))
					return false;
			}
	if (class == CLASS_MAIN)
		return callers == 1 || (function == program.main_function && !callers);
	return classes[class].entry == function;
}

/* In one round, may b come after a? */
static bool may_follow(LLVMValueRef a, LLVMValueRef b, LLVMBasicBlockRef header)
{
	uint32_t target = (uint32_t)(program_block_of(b) - program.blocks), first = program_block_of(a)->function;
	const struct function *f = &program.functions[first];
	bool *seen = calloc(f->block_count + 1, sizeof *seen), found = false;
	uint32_t *todo = calloc(f->block_count + 1, sizeof *todo), count = 0;

	todo[count++] = (uint32_t)(program_block_of(a) - program.blocks);
	if (LLVMGetInstructionParent(a) == LLVMGetInstructionParent(b))
		found = program_comes_before(a, b);
	for (uint32_t i = 0; i < count; i++) {
		const struct block *block = &program.blocks[todo[i]];
		for (uint32_t n = 0; n < block->next_count; n++) {
			uint32_t to = block->next[n];
			if (program.blocks[to].ref == header || seen[to - f->first_block])
				continue;
			seen[to - f->first_block] = true;
			found |= to == target;
			todo[count++] = to;
		}
	}
	free(seen);
	free(todo);
	return found;
}

/*
 * All barriers that the team passes are in one loop of one function, not in a loop within it, and each is passed in every round: then
 * a thread that has passed n of w barriers a round is in round n / w. Returns that loop.
 */
static bool find_rounds(const struct walk *w, struct plugin_loop *l, uint32_t *calls, unsigned *count)
{
	LLVMBasicBlockRef header = NULL;

	*count = 0;
	for (uint32_t i = 0; i < program.call_count; i++) {
		LLVMBasicBlockRef at = LLVMGetInstructionParent(program.calls[i].inst);
		if (!counts(w, i))
			continue;
		if (*count == 16 || !plugin_loop(at, 0, l) || !l->latch || (header && l->header != header) ||
		    !plugin_dominates(at, l->latch))
			return false;
		header = l->header;
		calls[(*count)++] = i;
	}
	struct plugin_loop outer;
	return header && !plugin_loop(header, 1, &outer);
}

/* Barriers of its round that a place has passed; -1: that varies. */
static int passed(LLVMValueRef inst, const struct plugin_loop *l, const uint32_t *calls, unsigned count)
{
	int n = 0;

	for (unsigned i = 0; i < count; i++) {
		LLVMValueRef wait = program.calls[calls[i]].inst;
		if (program_comes_before(wait, inst))
			n++;
		else if (may_follow(wait, inst, l->header))
			return -1;
	}
	return n;
}

void phases_rounds(LLVMValueRef a, const struct frame *f, unsigned x, LLVMValueRef b, const struct frame *g, unsigned y)
{
	unsigned team = x == CLASS_MAIN ? y : x, count;
	uint32_t calls[16];
	struct plugin_loop l;
	const struct frame *in_a, *in_b;

	if (team < CLASS_FIRST || (x != y && x != CLASS_MAIN && y != CLASS_MAIN))
		return;
	struct meeting *m = meeting_of(team, x == CLASS_MAIN || y == CLASS_MAIN);
	if (!m->meet || !find_rounds(m->b, &l, calls, &count))
		return;
	LLVMValueRef function = LLVMGetBasicBlockParent(l.header);
	if (!once_in_class(function, x) || !once_in_class(function, y))
		return;
	LLVMValueRef p = place_in(function, a, f, &in_a), q = place_in(function, b, g, &in_b);
	if (!p || !q || !plugin_in_loop(l.header, LLVMGetInstructionParent(p)) ||
	    !plugin_in_loop(l.header, LLVMGetInstructionParent(q)))
		return;
	int n = passed(p, &l, calls, count), k = passed(q, &l, calls, count);
	if (n < 0 || k < 0)
		return;
	Z3_context z = terms_context();
	Z3_sort integer = Z3_mk_int_sort(z);
	Z3_ast w = Z3_mk_int64(z, count, integer);
	Z3_ast i = Z3_mk_mul(z, 2, (Z3_ast[]){ w, terms_round(l.header, in_a) });
	Z3_ast j = Z3_mk_mul(z, 2, (Z3_ast[]){ w, terms_round(l.header, in_b) });
	terms_assert(Z3_mk_eq(z, Z3_mk_add(z, 2, (Z3_ast[]){ i, Z3_mk_int64(z, n, integer) }),
			      Z3_mk_add(z, 2, (Z3_ast[]){ j, Z3_mk_int64(z, k, integer) })));
}

void phases_begin(void)
{
	waits = calloc(program.function_count + 1, sizeof *waits);
	memset(known, 0, sizeof known);
	memset(meetings, 0, sizeof meetings);
	list_barriers();
	find_waits();
}

void phases_end(void)
{
	for (unsigned c = 0; c < MOST_CLASSES; c++)
		for (int i = 0; i < 2; i++) {
			if (meetings[c][i].a != meetings[c][i].b)
				free_walk(meetings[c][i].a);
			free_walk(meetings[c][i].b);
			free(meetings[c][i].meet);
		}
	free(waits);
	free(waits_at);
	waits_at = NULL;
}
