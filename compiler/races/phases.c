/*
 * Phases: what lies between two barriers that all threads of a team pass (barriers.c).
 *
 * A segment begins where a thread begins or passes a barrier, and goes on to all barriers that can be reached from
 * there without passing one. Two threads are in the segments that begin with them first; when both pass a barrier, the
 * same one, they are in the segments that follow. So all pairs of segments are found that two threads can be in at the
 * same time. Functions that wait are followed for each chain of calls by itself.
 *
 * If all threads go the same way from wait to wait (uniform.c), they are in the same segment, and will come to the same
 * wait next: what leads to another one is not passed at the same time.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/races/phases.h"

enum { MOST_PIECES = 20000, MOST_CALLS_OF_BLOCK = 1 << 16 };

static bool *waits;  /* by function: may it wait, for the walk at hand? */
static bool *always; /* does it surely, before it returns? */
static const struct walk *current;

static bool is_wait(const struct call *c)
{
	return barriers_count((uint32_t)(c - program.calls), current->team, current->with_main);
}

bool phases_function_waits(uint32_t function)
{
	return waits[function];
}

static bool may_wait(const struct call *c)
{
	bool any = is_wait(c);

	for (uint32_t k = 0; k < c->callee_count; k++)
		any |= waits[c->callees[k]];
	return any;
}

bool phases_surely_waits(const struct call *c)
{
	return is_wait(c) || (c->callee_count == 1 && !c->outside && always[c->callees[0]]);
}

/* From this block on, can the function return without a wait? `seen` by block of the function. */
static bool may_pass(const struct function *f, uint32_t block, bool *seen)
{
	const struct block *b = &program.blocks[block];

	if (seen[block - f->first_block])
		return false;
	seen[block - f->first_block] = true;
	for (uint32_t i = 0; i < b->call_count; i++)
		if (phases_surely_waits(&program.calls[b->first_call + i]))
			return false;
	if (LLVMIsAReturnInst(LLVMGetBasicBlockTerminator(b->ref)))
		return true;
	for (uint32_t i = 0; i < b->next_count; i++)
		if (may_pass(f, b->next[i], seen))
			return true;
	return false;
}

/* From none on: what is believed of one function is true of those that it calls. */
static void find_sure_functions(void)
{
	memset(always, 0, program.function_count * sizeof *always);
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < program.function_count; i++) {
			const struct function *f = &program.functions[i];
			bool *seen = waits[i] && !always[i] && f->block_count ? calloc(f->block_count, 1) : NULL;
			if (seen && !may_pass(f, f->first_block, seen))
				again = always[i] = true;
			free(seen);
		}
	}
}

static void find_waiting_functions(const struct walk *w)
{
	current = w;
	memset(waits, 0, program.function_count * sizeof *waits);
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < program.call_count; i++) {
			uint32_t in = program.blocks[program.calls[i].block].function;
			/* A barrier of the program's own is no function that waits: it is the wait. */
			if (waits[in] || barriers_is_one(in) || !may_wait(&program.calls[i]))
				continue;
			again = waits[in] = true;
		}
	}
	find_sure_functions();
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

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

/* Where the walk through a segment is: before this call of the block. Position n has piece n. */
struct position {
	uint32_t chain, block, call;
};
struct way {
	uint32_t from, to; /* positions */
};
static struct position *list;
static size_t list_count, list_room, way_count, way_room;
static struct way *ways;
static struct map listed;

static void *more(void *all, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return all;
	*room = *room ? *room * 2 : 256;
	all = realloc(all, *room * size);
	if (!all)
		compiler_die("out of memory");
	return all;
}

static void go_to(size_t from, struct position p)
{
	uintptr_t key = ((uintptr_t)p.chain << 50) + ((uintptr_t)p.block << 17) + p.call + 1;
	uint32_t *n = map_enter(&listed, key);

	if (!*n) {
		list = more(list, list_count, &list_room, sizeof *list);
		list[list_count++] = p;
		*n = (uint32_t)list_count;
	}
	if (from == SIZE_MAX)
		return;
	ways = more(ways, way_count, &way_room, sizeof *ways);
	ways[way_count++] = (struct way){ (uint32_t)from, *n - 1 };
}

static uint64_t event(struct walk *w, struct segment *s, uint32_t next)
{
	for (unsigned i = 0; i < s->next_count; i++)
		if (s->next[i] == next)
			return BIT(i);
	if (s->next_count == MOST_EVENTS) {
		w->failed = true;
		return 0;
	}
	s->next[s->next_count] = next;
	return BIT(s->next_count++);
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

/* Down into functions that wait; returns whether it is one. */
static bool go_down(struct walk *w, size_t from, struct position p, const struct call *c)
{
	bool down = false;

	for (uint32_t k = 0; k < c->callee_count; k++) {
		if (!waits[c->callees[k]])
			continue;
		down = true;
		w->failed |= LLVMIsAInvokeInst(c->inst) || plugin_returns_twice(program.functions[c->callees[k]].ref);
		uint32_t chain = find_chain(w, p.chain, c);
		go_to(from, (struct position){ chain, program.functions[c->callees[k]].first_block, 0 });
	}
	return down && c->callee_count == 1 && !c->outside;
}

static void go_on(struct walk *w, struct segment *s, size_t at)
{
	const struct position p = list[at];
	const struct block *b = &program.blocks[p.block];
	uint32_t n = p.call;

	for (; n < b->call_count; n++) {
		uint32_t call = b->first_call + n;
		if (is_wait(&program.calls[call])) {
			uint64_t next = event(w, s, find_segment(w, p.chain, call));
			add_piece(w, s, (struct piece){ p.chain, p.block, p.call, n, next });
			return;
		}
		if (go_down(w, at, p, &program.calls[call])) {
			add_piece(w, s, (struct piece){ p.chain, p.block, p.call, n, 0 });
			return;
		}
	}
	bool ends = !b->next_count && !LLVMIsAUnreachableInst(LLVMGetBasicBlockTerminator(b->ref));
	add_piece(w, s, (struct piece){ p.chain, p.block, p.call, n + 1, ends && !p.chain ? EVENT_END : 0 });
	for (uint32_t i = 0; i < b->next_count; i++)
		go_to(at, (struct position){ p.chain, b->next[i], 0 });
	if (ends && p.chain) {
		const struct call *c = w->chains[p.chain].call;
		go_to(at, (struct position){ w->chains[p.chain].up, c->block,
					     (uint32_t)(c - program.calls) - program.blocks[c->block].first_call + 1 });
	}
}

static void begin_segment(struct walk *w, const struct segment *s)
{
	if (s->call == UINT32_MAX) {
		LLVMValueRef entry = w->class == CLASS_MAIN ? program.main_function : classes[w->class].entry;
		go_to(SIZE_MAX, (struct position){ 0, program.functions[program_function(entry)].first_block, 0 });
	} else {
		const struct call *c = &program.calls[s->call];
		go_to(SIZE_MAX,
		      (struct position){ s->chain, c->block, s->call - program.blocks[c->block].first_call + 1 });
	}
}

/* Which events may follow on each piece? */
static void spread_events(struct segment *s)
{
	for (bool again = true; again;) {
		again = false;
		for (size_t i = way_count; i-- > 0;) {
			uint64_t *to = &s->pieces[ways[i].from].events, with = *to | s->pieces[ways[i].to].events;
			again |= with != *to;
			*to = with;
		}
	}
	for (uint32_t i = 0; i < s->piece_count; i++)
		if (!s->pieces[i].events)
			s->pieces[i].events = EVENT_NONE;
}

/* What is called on a piece, and what that calls. */
static void add_functions(struct segment *s, const struct piece *p)
{
	const struct block *block = &program.blocks[p->block];
	uint32_t *todo = calloc(program.function_count + 1, sizeof *todo), count = 0;

	for (uint32_t n = p->from; n < p->to && n < block->call_count; n++) {
		const struct call *c = &program.calls[block->first_call + n];
		for (uint32_t k = 0; k < c->callee_count; k++)
			if (!waits[c->callees[k]] && (s->calls[c->callees[k]] & p->events) != p->events)
				todo[count++] = c->callees[k], s->calls[c->callees[k]] |= p->events;
		for (uint32_t i = 0; i < count; i++) {
			const struct function *f = &program.functions[todo[i]];
			for (uint32_t b = f->first_block; b < f->first_block + f->block_count; b++)
				for (uint32_t m = 0; m < program.blocks[b].call_count; m++) {
					const struct call *d = &program.calls[program.blocks[b].first_call + m];
					for (uint32_t k = 0; k < d->callee_count; k++)
						if ((s->calls[d->callees[k]] & p->events) != p->events) {
							s->calls[d->callees[k]] |= p->events;
							todo[count++] = d->callees[k];
						}
				}
		}
		count = 0;
	}
	free(todo);
}

static void walk_segment(struct walk *w, uint32_t segment)
{
	list_count = way_count = 0;
	map_free(&listed);
	begin_segment(w, &w->segments[segment]);
	for (size_t i = 0; i < list_count && !w->failed; i++)
		go_on(w, &w->segments[segment], i);
	if (w->failed)
		return;
	struct segment *s = &w->segments[segment];
	spread_events(s);
	for (uint32_t i = 0; i < s->piece_count; i++)
		add_functions(s, &s->pieces[i]);
}

static struct walk *new_walk(unsigned class, unsigned team, bool with_main)
{
	struct walk *w = calloc(1, sizeof *w);

	*w = (struct walk){ .class = class, .team = team, .with_main = with_main, .chain_count = 1 };
	find_waiting_functions(w);
	w->failed |= plugin_returns_twice(class == CLASS_MAIN ? program.main_function : classes[class].entry);
	for (uint32_t b = 0; b < program.block_count; b++)
		w->failed |= program.blocks[b].call_count >= MOST_CALLS_OF_BLOCK;
	find_segment(w, 0, UINT32_MAX);
	for (unsigned i = 0; i < w->segment_count && !w->failed; i++)
		walk_segment(w, i);
	map_free(&listed);
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

/* ---- pairs of segments ------------------------------------------------------------------------------------------- */

static struct meeting meetings[MOST_CLASSES][2]; /* by class of the team; with the first thread, among themselves */
static bool known[MOST_CLASSES][2];

static void find_meetings(struct meeting *m)
{
	unsigned count = m->b->segment_count;
	uint32_t *todo = calloc((size_t)m->a->segment_count * count + 1, sizeof *todo), n = 0;

	m->meet = calloc((size_t)m->a->segment_count * count + 1, sizeof *m->meet);
	m->meet[0] = true;
	todo[n++] = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct segment *x = &m->a->segments[todo[i] / count], *y = &m->b->segments[todo[i] % count];
		for (unsigned p = 0; p < x->next_count; p++)
			for (unsigned q = 0; q < y->next_count; q++) {
				uint32_t both = x->next[p] * count + y->next[q];
				if (m->meet[both] ||
				    !barriers_same(m->a->segments[x->next[p]].call, m->b->segments[y->next[q]].call))
					continue;
				m->meet[both] = true;
				todo[n++] = both;
			}
	}
	free(todo);
}

/*
 * The chain of the team's walk that is this one of the first thread's, which comes to the team's function by its only
 * call of it; UINT32_MAX: there is none.
 */
static uint32_t same_chain(const struct meeting *m, uint32_t chain, uint32_t entry)
{
	const struct chain *c = &m->a->chains[chain];

	if (!chain)
		return UINT32_MAX;
	if (c->call->callees[0] == entry)
		return 0;
	uint32_t up = same_chain(m, c->up, entry);
	for (unsigned i = 1; i < m->b->chain_count && up != UINT32_MAX; i++)
		if (m->b->chains[i].up == up && m->b->chains[i].call == c->call)
			return i;
	return UINT32_MAX;
}

/* Does the first thread call the function once at most, and nobody else? */
static bool is_called_once_by_main(uint32_t function)
{
	const struct call *only = NULL;

	for (uint32_t i = 0; i < program.call_count; i++)
		for (uint32_t k = 0; k < program.calls[i].callee_count; k++)
			if (program.calls[i].callees[k] == function) {
				if (only)
					return false;
				only = &program.calls[i];
			}
	return only && program_is_once(only->inst) &&
	       program.functions[program.blocks[only->block].function].classes == BIT(CLASS_MAIN);
}

/* Which segment of the team is each one of the first thread's? */
static bool match_segments(struct meeting *m, uint32_t entry)
{
	m->same = calloc(m->a->segment_count + 1, sizeof *m->same);
	if (m->a != m->b && !is_called_once_by_main(entry))
		return false;
	for (unsigned p = 1; p < m->a->segment_count; p++) {
		const struct segment *s = &m->a->segments[p];
		uint32_t chain = m->a == m->b ? s->chain : same_chain(m, s->chain, entry);
		for (unsigned q = 1; q < m->b->segment_count; q++)
			if (m->b->segments[q].chain == chain && m->b->segments[q].call == s->call)
				m->same[p] = q;
		if (!m->same[p])
			return false;
	}
	return true;
}

static void find_uniform(struct meeting *m)
{
	uint32_t entry = program_function(classes[m->b->class].entry);

	if (match_segments(m, entry))
		m->uniform = uniform_find(entry, waits, is_wait);
}

struct meeting *phases_meeting(unsigned team, bool with_main)
{
	struct meeting *m = &meetings[team][with_main];

	if (known[team][with_main]) {
		if (current != m->b)
			find_waiting_functions(m->b);
		return m;
	}
	known[team][with_main] = true;
	m->b = new_walk(team, team, with_main);
	m->a = with_main ? new_walk(CLASS_MAIN, team, true) : m->b;
	current = m->b;
	if (m->a->failed || m->b->failed)
		return m;
	find_meetings(m);
	find_uniform(m);
	return m;
}

static uint32_t calls_before(LLVMValueRef inst)
{
	uint32_t before = 0;

	for (LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetInstructionParent(inst)); i != inst;
	     i = LLVMGetNextInstruction(i))
		before += program_call(i) != NULL; /* calls that are over when it is made */
	return before;
}

uint64_t phases_events(const struct segment *s, LLVMValueRef inst, uint32_t chain)
{
	uint32_t b = (uint32_t)(program_block_of(inst) - program.blocks), before = calls_before(inst);
	uint64_t events = 0;

	for (uint32_t i = 0; i < s->piece_count; i++) {
		const struct piece *p = &s->pieces[i];
		if (p->block == b && before >= p->from && before <= p->to && (chain == ANY_CHAIN || p->chain == chain))
			events |= p->events;
	}
	return events;
}

/* The same events, as those of the team's segment. */
static uint64_t translate(const struct meeting *m, const struct segment *s, uint64_t events, const struct segment *to)
{
	uint64_t all = events & (EVENT_END | EVENT_NONE);

	for (unsigned i = 0; i < s->next_count; i++)
		for (unsigned j = 0; j < to->next_count && events & BIT(i); j++)
			if (m->same[s->next[i]] == to->next[j])
				all |= BIT(j);
	return all;
}

bool phases_agree(const struct meeting *m, unsigned p, uint64_t events_p, unsigned q, uint64_t events_q)
{
	if (!events_p || !events_q || !m->meet[p * m->b->segment_count + q])
		return false;
	if (!m->uniform)
		return true;
	if (!p && m->a != m->b) /* the first thread comes to the team's function in its own way, or not at all */
		return !q;
	uint64_t events = translate(m, &m->a->segments[p], events_p, &m->b->segments[q]);
	return m->same[p] == q && (events & events_q || (events | events_q) & EVENT_NONE);
}

/* For each segment of a walk, the events that may come next after a place; NULL: it is in none. What the walk has not
   come to may be anywhere. */
static uint64_t *events_of(const struct walk *w, const struct party *p)
{
	uint64_t *all = calloc(w->segment_count + 1, sizeof *all), any = 0;

	for (unsigned i = 0; i < w->segment_count; i++)
		any |= all[i] = w->segments[i].calls[p->function] | phases_events(&w->segments[i], p->inst, ANY_CHAIN);
	if (any)
		return all;
	free(all);
	return NULL;
}

static bool may_meet(const struct meeting *m, const uint64_t *a, const uint64_t *b)
{
	for (unsigned p = 0; p < m->a->segment_count; p++)
		for (unsigned q = 0; q < m->b->segment_count; q++)
			if (phases_agree(m, p, a[p], q, b[q]))
				return true;
	return false;
}

bool phases_meet(const struct party *a, unsigned x, const struct party *b, unsigned y)
{
	if (x != CLASS_MAIN && y == CLASS_MAIN)
		return phases_meet(b, y, a, x);
	if (y < CLASS_FIRST || (x != y && x != CLASS_MAIN))
		return true;
	struct meeting *m = phases_meeting(y, x == CLASS_MAIN);
	if (!m->meet)
		return true;
	uint64_t *e = events_of(m->a, a), *f = events_of(m->b, b);
	bool may = !e || !f || may_meet(m, e, f) || (x == y && may_meet(m, f, e));
	free(e);
	free(f);
	return may;
}

void phases_begin(void)
{
	waits = calloc(program.function_count + 1, sizeof *waits);
	always = calloc(program.function_count + 1, sizeof *always);
	memset(known, 0, sizeof known);
	memset(meetings, 0, sizeof meetings);
	current = NULL;
	barriers_begin();
}

void phases_end(void)
{
	for (unsigned c = 0; c < MOST_CLASSES; c++)
		for (int i = 0; i < 2; i++) {
			struct meeting *m = &meetings[c][i];
			if (m->a != m->b)
				free_walk(m->a);
			free_walk(m->b);
			uniform_free(m->uniform);
			free(m->meet);
			free(m->same);
		}
	free(waits);
	free(always);
	free(list);
	free(ways);
	list = NULL;
	ways = NULL;
	list_room = way_room = 0;
	barriers_end();
}
