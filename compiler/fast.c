/*
 * The part of the hooks that is compiled into the program. clang makes bitcode of this file (fast.bc), the pass links
 * it into each module, calls the functions marked INLINE around every access, and lets them be inlined. The rest stays,
 * once in every linked file (executable or library; the pass makes it linkonce_odr and hidden).
 *
 * Budget of an access that hits: 7 loads, 2 stores, 3 branches, all in the thread's own memory; no load waits for a
 * store but the first, for the bracket before.
 */
#include "compiler/hooks.h"

#define INLINE __attribute__((always_inline))
#define KEPT   __attribute__((used, visibility("hidden")))

/* The pass knows these by name. */
extern __thread struct hook_self *__heddle_self __attribute__((visibility("hidden"), tls_model("initial-exec")));
struct hook_self *__heddle_current(void);
uint64_t __heddle_bracket(struct hook_self *self);
uint64_t __heddle_events(struct hook_self *self);
_Bool __heddle_undisturbed(struct hook_self *self, uint64_t events);
_Bool __heddle_open_range(struct hook_self *self, uint64_t events, const void *addr, uint64_t size, uint8_t kind);
_Bool __heddle_open_copy(struct hook_self *self, uint64_t events, const void *to, const void *from, uint64_t size);
_Bool __heddle_open_all(struct hook_self *self);
_Bool __heddle_open_bytes(_Bool ok, struct hook_self *self, uint64_t events, const void *addr, uint64_t size,
			  uint8_t kind);
uint64_t __heddle_open_string(_Bool ok, struct hook_self *self, uint64_t events, const char *string, uint64_t limit,
			      uint64_t end, uint8_t kind);
uint64_t __heddle_string_claimed(struct hook_self *self, const char *string, uint64_t limit, uint64_t end,
				 uint8_t kind);
void __heddle_close(struct hook_self *self, uint64_t events);
_Bool __heddle_rounds(struct hook_self *self, uint64_t events, uint64_t more, uint64_t each);
_Bool __heddle_nest(struct hook_self *self, uint64_t events, uint64_t rounds, uint64_t accesses);
_Bool __heddle_worth(uint64_t more);
_Bool __heddle_claimed(_Bool ok, struct hook_self *self, uint64_t first, uint64_t stride, uint64_t more, uint64_t size,
		       uint8_t kind);
_Bool __heddle_span(_Bool ok, struct hook_self *self, uint64_t first, uint64_t size, uint64_t touched, uint8_t kind);
uint64_t __heddle_polls(struct hook_self *self);
void __heddle_pass_poll(struct hook_self *self);
_Bool __heddle_passed_many(struct hook_self *self, uint64_t before);
void __heddle_cancel(struct hook_self *self, uint64_t events);
void __heddle_close_many(struct hook_self *self, uint64_t events, uint64_t more, uint64_t each);
HOOK_CALL void __heddle_mended(struct hook_self *self);
uint64_t __heddle_limit(struct hook_self *self, uint64_t events);
uint64_t __heddle_claims(struct hook_self *self);
uint64_t __heddle_mask(struct hook_self *self);
_Bool __heddle_look(uint64_t claims, uint64_t mask, uint64_t addr, uint8_t kind);
_Bool __heddle_look_pair(uint64_t claims, uint64_t mask, uint64_t addr, uint8_t kind);
_Bool __heddle_is_aligned(uint64_t addr, uint64_t size);
_Bool __heddle_look_twice(uint64_t claims, uint64_t mask, uint64_t addr, uint64_t size, uint8_t kind);
uint64_t __heddle_publish(uint64_t events, uint64_t opened);
uint64_t __heddle_publish_if(_Bool full, uint64_t events, uint64_t opened);
uint64_t __heddle_limit_if(_Bool full, struct hook_self *self, uint64_t events, uint64_t limit);
uint64_t __heddle_finish(uint64_t events, uint64_t opened, uint64_t limit);
void __heddle_let_go(uint64_t events, uint64_t opened);
HOOK_CALL uint64_t __heddle_store_count(uint64_t events, uint64_t opened);
HOOK_CALL void __heddle_store_end(uint64_t events, uint64_t opened);
_Bool __heddle_due_held(struct hook_self *self, uint64_t each);
_Bool __heddle_due_now(struct hook_self *self);
_Bool __heddle_pages(struct hook_self *self, uint64_t first, uint64_t last, uint8_t kind, _Bool wanted);
_Bool __heddle_apart(struct hook_self *self, uint64_t addr, uint64_t stride, uint64_t more, uint64_t size,
		     uint8_t kind);
_Bool __heddle_due(struct hook_self *self);
uint64_t __heddle_enter_string(const struct hook_site *site, const char *string, uint64_t limit, uint64_t how,
			       uint64_t kind);
struct hook_self *__heddle_attach_as(uint64_t version) __attribute__((weak));

/* ---- inlined ----------------------------------------------------------------------------------------------------- */

/*
 * Relaxed atomics keep the compiler from merging or tearing. What makes the bracket work is the order of "bracket
 * opens" before "claim is read" as others see it: the one who takes a claim away has every core run a barrier
 * (membarrier), so here it is enough that the compiler keeps the order.
 *
 * What others store and one comparison or test looks at (claims, until, group_until, poll_until) is loaded plainly, so
 * that the load is a part of that instruction. The compiler cannot look earlier, since what is before is a fence for it
 * (opening a bracket, counting a poll). It may look twice, or use what it has seen, until the next of these: nobody
 * needs to be seen sooner than that. For claims: only this thread gives itself one, and who takes it away waits for the
 * end of the bracket; so a look that says yes is right until then.
 */
#define GET(member)	   __atomic_load_n(&(member), __ATOMIC_RELAXED)
#define PUT(member, value) __atomic_store_n(&(member), value, __ATOMIC_RELAXED)

INLINE struct hook_self *__heddle_current(void)
{
	return __heddle_self;
}

/* Opens a bracket. The count that it begins with stays in a register until it is closed: to load it again would make a
   chain of stores and loads through all events. */
INLINE uint64_t __heddle_bracket(struct hook_self *self)
{
	uint64_t events = GET(self->events) | 1;

	PUT(self->events, events);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return events;
}

/* The bracket that is open already: the runtime may have moved the count on. */
INLINE uint64_t __heddle_events(struct hook_self *self)
{
	return GET(self->events) | 1;
}

/* A shift by a constant, and a mask, are cheaper than a shift by a variable; on aarch64 they are one instruction. */
static inline INLINE uint8_t claim_at(const uint8_t *claims, uint64_t mask, uint64_t addr)
{
	return claims[addr >> HOOK_PAGE_SHIFT & mask];
}

static inline INLINE uint8_t claim(struct hook_self *self, uint64_t addr)
{
	return claim_at(self->claims, self->mask, addr);
}

/* Of all pages from that of one address to that of another. wanted: all of them, so what is missing is asked for. */
static inline INLINE _Bool pages_claimed(struct hook_self *self, uint64_t first, uint64_t last, uint8_t kind,
					 _Bool wanted)
{
	if (!self->mask)
		return (claim(self, 0) & kind) != 0;
	return __heddle_pages(self, first >> HOOK_PAGE_SHIFT, last >> HOOK_PAGE_SHIFT, kind, wanted);
}

/* One branch instead of two. */
static inline INLINE _Bool both(int a, int b)
{
	return a & b;
}

/* Does nothing wait for this thread to come to the runtime? */
INLINE _Bool __heddle_undisturbed(struct hook_self *self, uint64_t events)
{
	return events < self->until;
}

/* They change only when the runtime is called. */
INLINE uint64_t __heddle_claims(struct hook_self *self)
{
	return (uint64_t)self->claims;
}

INLINE uint64_t __heddle_mask(struct hook_self *self)
{
	return self->mask;
}

/* For an access that does not cross a page. */
INLINE _Bool __heddle_look(uint64_t claims, uint64_t mask, uint64_t addr, uint8_t kind)
{
	return (claim_at((const uint8_t *)claims, mask, addr) & kind) != 0;
}

/*
 * For one that may: first, is its page claimed with the next one? Mostly they are, and that is one look. There is a
 * byte after the last.
 */
INLINE _Bool __heddle_look_pair(uint64_t claims, uint64_t mask, uint64_t addr, uint8_t kind)
{
	const uint8_t *first = (const uint8_t *)claims + (addr >> HOOK_PAGE_SHIFT & mask);
	uint16_t pair;

	__builtin_memcpy(&pair, first, sizeof pair);
	if (kind == HOOK_WRITE) /* who may write may read, and mostly nothing else is there: compared in memory */
		return pair == (HOOK_READ | HOOK_WRITE) * 0x0101;
	return !(~pair & kind * 0x0101);
}

/* Most that may cross a page do not, since they are aligned: there is no telling from their types. */
INLINE _Bool __heddle_is_aligned(uint64_t addr, uint64_t size)
{
	return !(addr & (size - 1));
}

/* And else: the pages of its first and its last byte. */
INLINE _Bool __heddle_look_twice(uint64_t claims, uint64_t mask, uint64_t addr, uint64_t size, uint8_t kind)
{
	const uint8_t *all = (const uint8_t *)claims;

	return (claim_at(all, mask, addr) & claim_at(all, mask, addr + size - 1) & kind) != 0;
}

/* Is a range claimed? A long one goes to the runtime, and so do all where the program handles faults: a part of it may
   be made again behind the handler, and the runtime would not know how much (group_again.c). */
static inline INLINE _Bool range_claimed(struct hook_self *self, uint64_t first, uint64_t size, uint8_t kind)
{
	uint64_t last = first + size - 1;

	if (!size)
		return 1;
	if (size > HOOK_PAGE)
		return (size <= HOOK_RANGE_MAX || !self->mask) && pages_claimed(self, first, last, kind, 1);
	return (claim(self, first) & claim(self, last) & kind) != 0;
}

INLINE _Bool __heddle_open_range(struct hook_self *self, uint64_t events, const void *addr, uint64_t size, uint8_t kind)
{
	return events < self->group_until && range_claimed(self, (uint64_t)addr, size, kind);
}

INLINE _Bool __heddle_open_copy(struct hook_self *self, uint64_t events, const void *to, const void *from,
				uint64_t size)
{
	return events < self->group_until && range_claimed(self, (uint64_t)to, size, HOOK_WRITE) &&
	       range_claimed(self, (uint64_t)from, size, HOOK_READ);
}

/* For what the runtime has to be asked about, unless everything is claimed, as outside heddle. */
INLINE _Bool __heddle_open_all(struct hook_self *self)
{
	return __heddle_bracket(self) < self->until && !self->mask &&
	       (claim(self, 0) & (HOOK_READ | HOOK_WRITE)) == (HOOK_READ | HOOK_WRITE);
}

/*
 * One of the ranges of a call. Long ones are the runtime's: who wants a page of theirs would have to wait. So are all,
 * where the program handles faults (group_until is 0): the call may go on behind the handler, outside its bracket. Not
 * where one byte stands for all memory, at replay: there the runtime has nothing to do, as said in
 * runtime/hooks/group_again.c.
 */
INLINE _Bool __heddle_open_bytes(_Bool ok, struct hook_self *self, uint64_t events, const void *addr, uint64_t size,
				 uint8_t kind)
{
	uint64_t first = (uint64_t)addr, last = first + size - 1;

	if (!ok)
		return 0;
	if (!self->mask)
		return events < self->until && (claim(self, 0) & kind);
	return size <= HOOK_BYTES_MAX && events < self->group_until &&
	       (range_claimed(self, first, size, kind) || pages_claimed(self, first, last, kind, 1));
}

/* The same for a string that ends with a byte `end` (HOOK_END, HOOK_OR_ZERO), or after `limit` bytes. Returns its
   bytes, with the end; 0: ask the runtime. Where one byte stands for all memory nobody wants to know how many. */
INLINE uint64_t __heddle_open_string(_Bool ok, struct hook_self *self, uint64_t events, const char *string,
				     uint64_t limit, uint64_t end, uint8_t kind)
{
	if (!ok)
		return 0;
	if (!self->mask)
		return events < self->until && (claim(self, 0) & kind);
	return events < self->group_until ? __heddle_string_claimed(self, string, limit, end, kind) : 0;
}

/* A fault in the bracket may have been handled, and then the count has moved on. The comparison feeds a branch alone,
   so nothing waits for the load. */
static inline INLINE void close_with(struct hook_self *self, uint64_t events, uint64_t then)
{
	if (__builtin_expect(GET(self->events) != events, 0))
		__heddle_mended(self);
	else
		__atomic_store_n(&self->events, then, __ATOMIC_RELEASE);
}

INLINE void __heddle_close(struct hook_self *self, uint64_t events)
{
	close_with(self, events, events + 1);
}

/* At a back edge: does anything wait for this thread to come by? */
INLINE _Bool __heddle_due(struct hook_self *self)
{
	uint64_t polls = GET(self->polls) + 1;

	PUT(self->polls, polls);
	return polls >= self->poll_until;
}

/* ---- a loop or group as one bracket ------------------------------------------------------------------------------ */

/* A loop that goes round `more` times after the first, with `each` accesses a round: may it be one bracket? */
INLINE _Bool __heddle_rounds(struct hook_self *self, uint64_t events, uint64_t more, uint64_t each)
{
	return both(more < HOOK_ROUNDS_MAX, events + 2 * (more + 1) * each < self->group_until);
}

/* The same of loops in a loop, with at most so many rounds of them all. The copy passes polls without a look. */
INLINE _Bool __heddle_nest(struct hook_self *self, uint64_t events, uint64_t rounds, uint64_t accesses)
{
	return both(events + 2 * accesses < self->group_until, GET(self->polls) + rounds < self->poll_until);
}

/* And is it worth it? For few rounds what is checked before the loop costs more than what is saved in it. */
INLINE _Bool __heddle_worth(uint64_t more)
{
	return more >= 5;
}

/* Is everything claimed that a pointer meets which begins at `first` and takes `more` steps, with `size` bytes at
   each? */
INLINE _Bool __heddle_claimed(_Bool ok, struct hook_self *self, uint64_t first, uint64_t stride, uint64_t more,
			      uint64_t size, uint8_t kind)
{
	if (!ok)
		return 0;
	uint64_t way = stride * more, back = (int64_t)stride < 0 ? way : 0, on = (int64_t)stride < 0 ? 0 : way;
	uint64_t page = (first + back) >> HOOK_PAGE_SHIFT, last = (first + on + size - 1) >> HOOK_PAGE_SHIFT;

	if (!self->mask)
		return (claim(self, 0) & kind) != 0;
	if ((int64_t)stride > (int64_t)HOOK_PAGE || (int64_t)stride < -(int64_t)HOOK_PAGE)
		return __heddle_apart(self, first, stride, more, size, kind);
	if (last - page <= 1 && (page | last) < HOOK_PAGES && GET(self->claims[page]) & GET(self->claims[last]) & kind)
		return 1;
	return __heddle_pages(self, page, last, kind, 1);
}

/* Is all of it claimed? Not if it is much: that takes as long, and loops in a loop seldom access all between. touched:
   so many bytes, at most; if that is little, the rest may be what others are about to use. */
INLINE _Bool __heddle_span(_Bool ok, struct hook_self *self, uint64_t first, uint64_t size, uint64_t touched,
			   uint8_t kind)
{
	return ok && size <= HOOK_BYTES_MAX && pages_claimed(self, first, first + size - 1, kind, 2 * touched >= size);
}

/* What a poll counts. */
INLINE void __heddle_pass_poll(struct hook_self *self)
{
	PUT(self->polls, GET(self->polls) + 1);
}

INLINE uint64_t __heddle_polls(struct hook_self *self)
{
	return GET(self->polls);
}

/* Since there were `before`, was one passed at which a held bracket is closed (due_held)? */
INLINE _Bool __heddle_passed_many(struct hook_self *self, uint64_t before)
{
	return GET(self->polls) / HOOK_HELD != before / HOOK_HELD;
}

/* Not in one bracket. Nothing has been done in it. */
INLINE void __heddle_cancel(struct hook_self *self, uint64_t events)
{
	PUT(self->events, events - 1);
}

/* Each access was an event. */
INLINE void __heddle_close_many(struct hook_self *self, uint64_t events, uint64_t more, uint64_t each)
{
	close_with(self, events, events + 2 * (more + 1) * each - 1);
}

/* ---- a bracket held over a loop: compiler/held.c ----------------------------------------------------------------- */

/* The count with which the bracket is to be published, at the latest. */
INLINE uint64_t __heddle_limit(struct hook_self *self, uint64_t events)
{
	uint64_t until = GET(self->group_until), most = events + 2 * HOOK_HELD;

	return until < most ? until : most;
}

INLINE uint64_t __heddle_publish(uint64_t events, uint64_t opened)
{
	return __heddle_store_count(events, opened);
}

INLINE uint64_t __heddle_publish_if(_Bool full, uint64_t events, uint64_t opened)
{
	return full ? __heddle_store_count(events, opened) : events;
}

INLINE uint64_t __heddle_limit_if(_Bool full, struct hook_self *self, uint64_t events, uint64_t limit)
{
	return full ? __heddle_limit(self, events) : limit;
}

INLINE void __heddle_let_go(uint64_t events, uint64_t opened)
{
	close_with(__heddle_self, opened, events - 1);
}

/* After an access that is counted already. What is in memory now. */
INLINE uint64_t __heddle_finish(uint64_t events, uint64_t opened, uint64_t limit)
{
	if (__builtin_expect(limit != 0, 1))
		return opened;
	__heddle_store_end(events, opened);
	return events - 1;
}

/* At a back edge in such a loop: the same as elsewhere, or it is time to close the bracket, after `each` looks. */
INLINE _Bool __heddle_due_held(struct hook_self *self, uint64_t each)
{
	uint64_t polls = GET(self->polls) + 1;

	PUT(self->polls, polls);
	return (polls >= self->poll_until) | (polls % each == 0);
}

INLINE _Bool __heddle_due_now(struct hook_self *self)
{
	return GET(self->polls) >= self->poll_until;
}

/* ---- once per linked file ---------------------------------------------------------------------------------------- */

extern struct hook_self __heddle_unattached;

KEPT const uint8_t __heddle_none[2] = { 0 };
KEPT const uint8_t __heddle_always[2] = { HOOK_READ | HOOK_WRITE, HOOK_READ | HOOK_WRITE };

KEPT __thread struct hook_self *__heddle_self = &__heddle_unattached;

/* For threads outside heddle. Two may have the same one, when there are many: nobody asks what they count. A thread
   has no more than the pointer of its own, since there is little room for thread-local variables of libraries that are
   loaded late, and each has these. */
enum { NATIVES = 64 };
KEPT struct {
	_Alignas(128) struct hook_self self;
} __heddle_natives[NATIVES];
KEPT unsigned __heddle_natives_given;

/* Outside heddle nothing is left to do. No claim is ever missing there, so only the first access comes here. */
KEPT HOOK_CALL struct hook_result __heddle_nothing(struct hook_self *self, const struct hook_site *site, void *addr,
						   uint64_t a, uint64_t b, uint64_t c)
{
	(void)self, (void)site, (void)addr, (void)a, (void)b, (void)c;
	return (struct hook_result){ 0, 0 };
}

KEPT const struct hook_ops __heddle_native_ops = {
#define NOTHING(name) __heddle_nothing,
	HOOK_OPS(NOTHING)
#undef NOTHING
		.ahead = __heddle_nothing,
};

/* Preserves all, as who calls it: see forget_processor() in emit.c. */
KEPT HOOK_CALL struct hook_self *__heddle_find(void)
{
	struct hook_self *self = __heddle_attach_as ? __heddle_attach_as(HOOK_VERSION) : 0;

	if (!self) {
		self = &__heddle_natives[__atomic_fetch_add(&__heddle_natives_given, 1, __ATOMIC_RELAXED) % NATIVES]
				.self;
		self->claims = __heddle_always;
		self->mask = 0;
		self->until = self->group_until = self->poll_until = UINT64_MAX;
		self->ops = &__heddle_native_ops;
	}
	__heddle_self = self;
	PUT(self->events, GET(self->events) | 1);
	/* Threads that poll before they are attached count there, and some of it is lost; this is the last that each of
	   them stores. */
	PUT(__heddle_unattached.polls, 0);
	return self;
}

/* A thread's first access in this file: find out where we are, then do it there. The runtime finds the bracket open. */
#define FIRST(name)                                                                                                   \
	KEPT HOOK_CALL struct hook_result __heddle_first_##name(struct hook_self *self, const struct hook_site *site, \
								void *addr, uint64_t a, uint64_t b, uint64_t c)       \
	{                                                                                                             \
		self = __heddle_find();                                                                               \
		return self->ops->name(self, site, addr, a, b, c);                                                    \
	}
HOOK_OPS(FIRST)
#undef FIRST

KEPT const struct hook_ops __heddle_first_ops = {
#define MEMBER(name) __heddle_first_##name,
	HOOK_OPS(MEMBER)
#undef MEMBER
		.ahead = __heddle_nothing,
};

/* All threads write here before they are attached; nobody reads what they count. */
KEPT struct hook_self __heddle_unattached = { .claims = __heddle_none, .mask = 0, .ops = &__heddle_first_ops };

/* ---- rare parts of the inlined ones ------------------------------------------------------------------------------ */

KEPT HOOK_CALL __attribute__((noinline, cold)) void __heddle_mended(struct hook_self *self)
{
	/* The access was made again: in a group of its own. But threads that are not attached count all in one
	   place. */
	if (GET(self->events) & 1 && self != &__heddle_unattached)
		self->ops->leave(self, 0, 0, 0, 0, 0);
	__atomic_store_n(&self->events, (GET(self->events) | 1) + 1, __ATOMIC_RELEASE);
}

/*
 * One store ends a bracket and begins the next. Release: who waited for the end sees what was done in it. What is
 * claimed is looked up after it, as after the opening of any bracket: the caller's compiler must not do it before.
 */
KEPT HOOK_CALL __attribute__((noinline, cold)) uint64_t __heddle_store_count(uint64_t events, uint64_t opened)
{
	struct hook_self *self = __heddle_self;

	if (GET(self->events) != opened) {
		__heddle_mended(self);
		return __heddle_bracket(self);
	}
	__atomic_store_n(&self->events, events, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return events;
}

KEPT HOOK_CALL __attribute__((noinline, cold)) void __heddle_store_end(uint64_t events, uint64_t opened)
{
	__heddle_let_go(events, opened);
}

/* Claims of pages that will be accessed now, in this bracket, of which some are missing. */
static __attribute__((noinline, cold)) _Bool ahead(struct hook_self *self, uint64_t page, uint64_t last, uint8_t kind)
{
	uint64_t first = page << HOOK_PAGE_SHIFT, size = (last - page + 1) << HOOK_PAGE_SHIFT;

	return size <= HOOK_AHEAD && self->ops->ahead(self, 0, (void *)first, size, kind, 0).value;
}

/* Eight claims at a time. Each byte of the eight is as good as if it had been loaded alone. */
KEPT __attribute__((noinline)) _Bool __heddle_pages(struct hook_self *self, uint64_t first, uint64_t last, uint8_t kind,
						    _Bool wanted)
{
	const uint8_t *claims = self->claims;
	uint64_t page = first, all = kind * 0x0101010101010101ull, eight = all;
	uint8_t has = kind;

	if (page > last || last >= HOOK_PAGES)
		return 0;
	for (; page <= last && page % 8; page++)
		has &= GET(claims[page]);
	for (; page + 8 <= last; page += 8)
		eight &= __atomic_load_n((const uint64_t *)&claims[page], __ATOMIC_RELAXED);
	for (; page <= last; page++)
		has &= GET(claims[page]);
	return (has && eight == all) || (wanted && ahead(self, first, last, kind));
}

/* Steps so long that pages between them are not touched. */
KEPT __attribute__((noinline)) _Bool __heddle_apart(struct hook_self *self, uint64_t addr, uint64_t stride,
						    uint64_t more, uint64_t size, uint8_t kind)
{
	for (uint64_t i = 0; i <= more; i++, addr += stride) {
		uint64_t last = addr + size - 1;
		if (!(claim(self, addr) & claim(self, last) & kind) &&
		    !ahead(self, addr >> HOOK_PAGE_SHIFT, last >> HOOK_PAGE_SHIFT, kind))
			return 0;
	}
	return 1;
}

/* In the bracket, and only where this thread may read: nobody changes it before the call has read it. Not into another
   page than that of the first byte, which the call is sure to read: the next may not be there. */
KEPT __attribute__((noinline)) uint64_t __heddle_string_claimed(struct hook_self *self, const char *string,
								uint64_t limit, uint64_t end, uint8_t kind)
{
	const uint64_t or_zero = HOOK_OR_ZERO >> HOOK_END_SHIFT;
	uint64_t room = HOOK_PAGE - (uint64_t)string % HOOK_PAGE, most = limit < room ? limit : room;

	if (!string || !(claim(self, (uint64_t)string) & kind))
		return 0;
	for (uint64_t i = 0; i < most; i++)
		if ((uint8_t)string[i] == (uint8_t)end || (!string[i] && end & or_zero))
			return i + 1;
	return most == limit ? limit : 0;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

/*
 * Enters a string whose length nobody knows yet: a piece, look for the end in it, the next piece, four times as long.
 * The last piece reaches over the end, which is no harm: more is ordered than need be. None reaches into another page
 * than its beginning, which may not be there.
 *
 * The runtime looks, and takes what cannot be read for the end: a fault must come from the program's own code, which is
 * the same at replay, where nobody asks for the length. Kind 0: the string is entered already. Returns bytes, with the
 * end.
 */
KEPT uint64_t __heddle_enter_string(const struct hook_site *site, const char *string, uint64_t limit, uint64_t how,
				    uint64_t kind)
{
	uint64_t done = 0, piece = 16, unit = HOOK_UNIT(how);

	while (string && done < limit) {
		const char *at = string + done * unit;
		uint64_t room = 4096 - ((uint64_t)at & 4095), count = piece < room ? piece / unit : room / unit;
		if (!count)
			count = 1;
		if (count > limit - done)
			count = limit - done;
		struct hook_self *self = __heddle_self;
		uint64_t c = how | (count == limit - done ? HOOK_LIMITED : 0);
		uint64_t ends = self->ops->enter(self, site, (void *)at, count * unit, kind, c).value;
		if (ends)
			return done * unit + ends;
		if (__heddle_self->ops == &__heddle_native_ops)
			return 0; /* outside heddle nobody tells where it ends, or asks */
		done += count;
		piece *= piece < 4096 ? 4 : 1;
	}
	return done * unit;
}
