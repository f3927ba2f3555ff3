/*
 * The pool behind all threads' lists: heap.h has the words, and the rules for shared memory.
 *
 * Why a replay gives the same addresses. Let the pool's ops be numbered in the order in which they held
 * the lock at record time. Op k+1 logs an edge from op k, unless both are of one thread or the edge is
 * implied; so at replay op k+1 begins after op k has ended, and no two ops meet. An op looks at nothing
 * but the pool, the lists of its own thread, and its arguments; what the kernel decides (no memory) is its
 * outcome, which is logged. By induction the pool and all lists are the recorded ones after each op.
 * The lock is therefore only for recording. At replay it is looked at as a check: whoever finds
 * it taken is out of order.
 *
 * Memory comes from the kernel zeroed and goes back (munmap, MADV_DONTNEED) only in ops, so
 * uninitialised bytes are the same, too. None of these calls is logged: both modes make them.
 *
 * The pool is in the runtime's own memory, the class table and the spans in the program's half, where
 * the checksum sees them.
 */
#include "runtime/memory/heap.h"
#include "runtime/runtime.h"
#include "runtime/sync/sync.h"
#include <linux/mman.h>

#define EXACT_BINS 64				 /* bins[n] holds free runs of n slices, for n < EXACT_BINS */
#define BINS	   (EXACT_BINS + 24)		 /* then one for each doubling */
#define SPANS_STEP (65536 / sizeof(struct span)) /* the tables are mapped in steps of 64 KiB */
#define LINKS_STEP 1024ul			 /* slices whose links are mapped at a time: 32 MiB of address space */
#define UNMAP	   64  /* free runs of so many slices lose their mapping, not only their pages */
#define KEEP_DIRTY 512 /* slices that may stay dirty, beside an eighth of what is used: 32 MiB */
#define GROW_LEAST 16u
#define GROW_MOST  1024u

/* How much a thread may keep on a list: at first, and when it needs it, the less the more threads there are. */
#define LIST_BYTES_LEAST      8192u
#define LIST_BYTES_MOST(slot) ((slot) < 8 ? 65536u : (slot) < 64 ? 32768u : 16384u)
#define LIST_MOST	      1024u
#define KEPT_SLICES(slot)     ((slot) < 4 ? 128 : (slot) < 64 ? 64 : 16) /* in large blocks */

struct bin {
	uint32_t head, tail; /* slices; dirty runs at the head, clean ones at the tail */
};

static struct pool {
	uint32_t lock;	       /* record: 0 free, 1 taken, 2 taken and waited for */
	uint64_t stamp;	       /* last op: the chain */
	struct thread *thread; /* whose op is under way */
	long outcome;	       /* of that op: 0, slices of growth, or -ENOMEM; replay: what is left to do of it */
	uint32_t top;	       /* slices from here on were never used; slice 0 never is */
	uint32_t classes_mapped, spans_mapped, links_mapped;
	uint64_t used, dirty;			/* slices */
	uint32_t partial[HEAP_CLASS_COUNT + 1]; /* spans with blocks for us to give */
	struct bin bins[2][BINS];		/* free runs: mapped, unmapped */
} pool = { .top = 1 };

/* ---- ops ---------------------------------------------------------------------------------- */

static void begin(struct thread *t)
{
	uint64_t clock = op_begin(t);
	if (!replaying)
		sleep_lock(&pool.lock);
	else if (__atomic_exchange_n(&pool.lock, 1, __ATOMIC_ACQUIRE))
		diverged(t, log_peek(t), "uses the allocator's pool at the same time as another thread");
	op_edge(t, pool.stamp);
	pool.stamp = STAMP(front_of(t)->slot, clock);
	pool.thread = t;
	pool.outcome = replaying ? op_outcome(t, 0) : 0;
}

static void end(struct thread *t)
{
	if (replaying) {
		if (pool.outcome > 0)
			diverged(t, log_peek(t), "has memory where the recording asked the system for more");
		__atomic_store_n(&pool.lock, 0, __ATOMIC_RELEASE);
		op_end(t);
	} else {
		op_outcome(t, pool.outcome);
		/* Before others can follow: who finds our stamp must find the op finished, also if we are killed
		   here. */
		op_end(t);
		sleep_unlock(&pool.lock);
	}
}

/* ---- what the kernel gives ------------------------------------------------------------------ */

static void *address(uint32_t slice)
{
	return (void *)(HEAP_SLICES + ((uint64_t)slice << HEAP_SLICE_SHIFT));
}

static uint32_t slice_of(const void *p)
{
	return (uint32_t)(((uint64_t)p - HEAP_SLICES) >> HEAP_SLICE_SHIFT);
}

/* Recorded without MAP_NORESERVE, so that what is too much natively is too much here. */
static bool map(uint64_t at, uint64_t n)
{
	long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | (replaying ? MAP_NORESERVE : 0);
	long r = SYS6(__NR_mmap, at, n, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (is_error(r) && replaying)
		cannot("the program got %u bytes of memory when it was recorded, and there are not as many now", n);
	return !is_error(r);
}

/* For what the heap itself needs. It is mostly never touched: links are half as long as all slices together, but used
   only where blocks begin. */
static bool map_table(uint64_t at, uint64_t n)
{
	return !is_error(
		own_map(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0));
}

/* A table may be mapped further at record than at replay, after a failure: nobody can see that. */
static bool map_tables(uint64_t slices)
{
	while (pool.classes_mapped < slices) {
		if (!map_table(HEAP_CLASSES + pool.classes_mapped, 65536))
			return false;
		pool.classes_mapped += 65536;
	}
	while (pool.spans_mapped < slices) {
		if (!map_table((uint64_t)&heap_spans[pool.spans_mapped], SPANS_STEP * sizeof(struct span)))
			return false;
		pool.spans_mapped += SPANS_STEP;
	}
	while (pool.links_mapped < slices) {
		if (!map_table((uint64_t)heap_link(address(pool.links_mapped)), LINKS_STEP * HEAP_SLICE / 2))
			return false;
		pool.links_mapped += LINKS_STEP;
	}
	return true;
}

/* n slices at `first` get pages, all zero. */
static bool map_run(uint32_t first, uint32_t n)
{
	if (replaying && pool.outcome < 0)
		return false;
	if (map((uint64_t)address(first), (uint64_t)n << HEAP_SLICE_SHIFT))
		return true;
	pool.outcome = -ENOMEM;
	return false;
}

/* They become zero, and take no memory. Locked pages refuse the advice. */
static void clear_run(uint32_t first, uint32_t n)
{
	uint64_t bytes = (uint64_t)n << HEAP_SLICE_SHIFT;
	if (is_error(SYS3(__NR_madvise, address(first), bytes, MADV_DONTNEED)) && !map((uint64_t)address(first), bytes))
		memset(address(first), 0, bytes);
}

/* They lose them. Where the kernel has no room to note a hole, a zeroed mapping serves as one. */
static void unmap_run(uint32_t first, uint32_t n)
{
	uint64_t bytes = (uint64_t)n << HEAP_SLICE_SHIFT;
	if (is_error(SYS2(__NR_munmap, address(first), bytes)))
		SYS3(__NR_madvise, address(first), bytes, MADV_DONTNEED);
}

/* ---- free runs -------------------------------------------------------------------------------- */

static unsigned bin_of(uint32_t slices)
{
	if (slices < EXACT_BINS)
		return slices;
	return EXACT_BINS - 6 + (31 - (unsigned)__builtin_clz(slices));
}

static struct bin *bin_with(const struct span *run)
{
	return &pool.bins[run->use == SPAN_UNMAPPED][bin_of(run->slices)];
}

static void bin_remove(uint32_t first)
{
	struct span *run = &heap_spans[first];
	struct bin *bin = bin_with(run);
	*(run->prev ? &heap_spans[run->prev].next : &bin->head) = run->next;
	*(run->next ? &heap_spans[run->next].prev : &bin->tail) = run->prev;
	pool.dirty -= run->dirty;
	run->use = heap_spans[first + run->slices - 1].use = SPAN_NONE;
}

static void bin_add(uint32_t first, uint32_t slices, enum span_use use, uint64_t dirty)
{
	struct span *run = &heap_spans[first], *last = run + slices - 1;
	last->slices = slices;
	last->first = first;
	last->use = (uint8_t)use;
	*run = (struct span){ .slices = slices, .first = first, .use = (uint8_t)use, .dirty = dirty };
	struct bin *bin = bin_with(run);
	if (dirty) {
		run->next = bin->head;
		*(run->next ? &heap_spans[run->next].prev : &bin->tail) = first;
		bin->head = first;
	} else {
		run->prev = bin->tail;
		*(run->prev ? &heap_spans[run->prev].next : &bin->head) = first;
		bin->tail = first;
	}
	pool.dirty += dirty;
}

/* As bin_add(), together with the free runs of the same kind on both sides. */
static void add_run(uint32_t first, uint32_t slices, enum span_use use, uint64_t dirty)
{
	const struct span *before = &heap_spans[first - 1], *after = &heap_spans[first + slices];
	if (first > 1 && before->use == use) {
		uint32_t start = before->first;
		dirty += heap_spans[start].dirty;
		slices += heap_spans[start].slices;
		bin_remove(start);
		first = start;
	}
	if (first + slices < pool.top && after->use == use) {
		uint32_t start = first + slices;
		dirty += after->dirty;
		slices += after->slices;
		bin_remove(start);
	}
	bin_add(first, slices, use, dirty);
}

/* Gives pages back to the system until half of what may be kept is left, long runs first. */
static void purge(uint64_t keep)
{
	for (unsigned i = BINS; i-- > 1;) {
		struct bin *bin = &pool.bins[0][i];
		while (bin->head && heap_spans[bin->head].dirty) {
			uint32_t first = bin->head, n = heap_spans[first].slices;
			bin_remove(first);
			if (n >= UNMAP) {
				unmap_run(first, n);
				add_run(first, n, SPAN_UNMAPPED, 0);
			} else {
				clear_run(first, n);
				bin_add(first, n, SPAN_FREE, 0);
			}
			if (pool.dirty <= keep / 2)
				return;
		}
	}
}

static void give_slices(uint32_t first, uint32_t slices)
{
	pool.used -= slices;
	add_run(first, slices, SPAN_FREE, slices);
	uint64_t keep = KEEP_DIRTY + pool.used / 8;
	if (pool.dirty > keep)
		purge(keep);
}

static void free_run(uint32_t first, uint32_t slices)
{
	memset(&heap_class_table[first], 0, heap_spans[first].use == SPAN_LARGE ? 1 : slices);
	heap_spans[first].use = SPAN_NONE;
	give_slices(first, slices);
}

/* A free run of at least n slices, still in its bin; 0 if there is none. */
static uint32_t find_run(const struct bin *bins, uint32_t n)
{
	for (unsigned i = bin_of(n); i < BINS; i++) {
		unsigned looks = 64; /* the best of these */
		uint32_t best = 0;
		for (uint32_t r = bins[i].head; r && looks; r = heap_spans[r].next, looks--)
			if (heap_spans[r].slices >= n && (!best || heap_spans[r].slices < heap_spans[best].slices)) {
				best = r;
				if (i < EXACT_BINS || heap_spans[r].slices == n)
					break;
			}
		if (best)
			return best;
	}
	return 0;
}

/* Makes the mapped part longer at its end, so that a free run of n slices is there, or of `better` if the system
   can. */
static bool grow(uint32_t n, uint64_t better)
{
	if (pool.top > 1 && heap_spans[pool.top - 1].use == SPAN_FREE) {
		uint32_t there = heap_spans[pool.top - 1].slices;
		if (there >= n)
			return true; /* find_run() did not come to it */
		n -= there;
	}
	uint32_t more = MAX(n, (uint32_t)MIN(MAX(MAX(pool.top / 8, GROW_LEAST), better), GROW_MOST));
	if (replaying) {
		if (pool.outcome < 0)
			return false;
		more = (uint32_t)pool.outcome;
		if (more < n || pool.outcome > (long)(HEAP_COUNT - pool.top))
			diverged(pool.thread, log_peek(pool.thread),
				 "needs memory where the recording did not ask for as much");
		pool.outcome = 0;
	}
	if (more > HEAP_COUNT - pool.top)
		more = n;
	bool there = more <= HEAP_COUNT - pool.top && map_tables(pool.top + more);
	uint64_t at = (uint64_t)address(pool.top);
	if (there && !map(at, (uint64_t)more << HEAP_SLICE_SHIFT)) {
		more = n; /* near the limit: only what is needed */
		there = map(at, (uint64_t)more << HEAP_SLICE_SHIFT);
	}
	if (!there) {
		pool.outcome = -ENOMEM;
		return false;
	}
	if (!replaying)
		pool.outcome = more;
	uint32_t first = pool.top;
	pool.top += more;
	add_run(first, more, SPAN_FREE, 0);
	return true;
}

/* n slices at a multiple of `align` bytes; 0 if there is no memory. Without a use yet. `grows`: likely to be made
   longer, so a place with room behind it is better. */
static uint32_t take_run(uint32_t n, uint64_t align, bool grows, bool *zero)
{
	uint64_t padded = n + (MAX(align, HEAP_SLICE) >> HEAP_SLICE_SHIFT) - 1;
	if (padded >= HEAP_COUNT) {
		if (!replaying)
			pool.outcome = -ENOMEM;
		return 0;
	}
	uint64_t better = grows ? MIN(padded * 4, HEAP_COUNT) : padded;
	uint32_t found = find_run(pool.bins[0], (uint32_t)better);
	if (!found && grows)
		found = find_run(pool.bins[0], (uint32_t)padded);
	if (!found)
		found = find_run(pool.bins[1], (uint32_t)padded);
	if (!found) {
		if (!grow((uint32_t)padded, better))
			return 0;
		found = heap_spans[pool.top - 1].first;
	}
	struct span run = heap_spans[found];
	uint32_t first = slice_of((void *)ALIGN_UP(address(found), MAX(align, HEAP_SLICE)));
	if (run.use == SPAN_UNMAPPED && !map_run(first, n))
		return 0;
	bin_remove(found);
	uint32_t before = first - found, after = run.slices - before - n;
	/* Where in the run the dirty slices are is not known: each part may have them all. */
	if (before)
		bin_add(found, before, run.use, MIN(run.dirty, before));
	if (after)
		bin_add(first + n, after, run.use, MIN(run.dirty, after));
	*zero = !run.dirty;
	pool.used += n;
	return first;
}

/* ---- spans: blocks of one class ------------------------------------------------------------------ */

static uint32_t span_slices(unsigned class)
{
	return heap_class_size(class) <= 8192 ? 1 : 4; /* little of it is lost at the end */
}

static void partial_add(uint32_t i)
{
	struct span *s = &heap_spans[i];
	uint32_t *head = &pool.partial[s->class];
	s->prev = 0;
	s->next = *head;
	if (*head)
		heap_spans[*head].prev = i;
	*head = i;
}

static void partial_remove(uint32_t i)
{
	struct span *s = &heap_spans[i];
	*(s->prev ? &heap_spans[s->prev].next : &pool.partial[s->class]) = s->next;
	if (s->next)
		heap_spans[s->next].prev = s->prev;
}

/* The pool has got n more blocks of the span. */
static void span_gained(uint32_t i, uint32_t n)
{
	struct span *s = &heap_spans[i];
	if (!s->free)
		partial_add(i);
	s->free = (uint16_t)(s->free + n);
	if (s->free == s->total) {
		partial_remove(i);
		free_run(i, s->slices);
	}
}

static void give_blocks(struct heap_list *l, uint32_t n)
{
	for (; n; n--) {
		struct heap_block *b = l->head;
		l->head = heap_next(b);
		l->count--;
		uint32_t i = heap_spans[slice_of(b)].first;
		heap_set_next(b, heap_spans[i].blocks);
		heap_spans[i].blocks = b;
		span_gained(i, 1);
	}
}

static void give_fresh(struct heap_list *l)
{
	if (l->fresh == l->fresh_end)
		return;
	uint32_t i = heap_spans[slice_of(l->fresh)].first;
	struct span *s = &heap_spans[i];
	s->fresh = (uint16_t)((uint64_t)(l->fresh - (uint8_t *)address(i)) / heap_class_size(s->class));
	l->fresh = l->fresh_end = 0;
	span_gained(i, (uint32_t)(s->total - s->fresh));
}

static void take_fresh(struct heap_list *l, uint32_t i)
{
	struct span *s = &heap_spans[i];
	uint64_t size = heap_class_size(s->class);
	l->fresh = (uint8_t *)address(i) + s->fresh * size;
	l->fresh_end = (uint8_t *)address(i) + s->total * size;
	s->free = (uint16_t)(s->free - (s->total - s->fresh));
	s->fresh = s->total;
}

/* The list goes on with `next` after its block `end` (0: at its head). */
static void list_end(struct heap_list *l, struct heap_block *end, struct heap_block *next)
{
	if (end)
		heap_set_next(end, next);
	else
		l->head = next;
}

/* Fills a list that is empty from spans that the pool has blocks of. */
static void take_partial(struct heap_list *l, unsigned class, uint32_t want)
{
	struct heap_block *end = 0;
	while (want && pool.partial[class]) {
		uint32_t i = pool.partial[class], n = 0;
		struct span *s = &heap_spans[i];
		struct heap_block *b = s->blocks;
		list_end(l, end, b);
		for (; b && n < want; n++) {
			end = b;
			b = heap_next(b);
		}
		s->blocks = b;
		s->free = (uint16_t)(s->free - n);
		l->count += n;
		want -= n;
		if (want && s->fresh < s->total) {
			take_fresh(l, i);
			want = 0;
		}
		if (!s->free)
			partial_remove(i);
	}
	list_end(l, end, 0);
}

static bool take_span(struct heap_list *l, unsigned class)
{
	bool zero;
	uint32_t n = span_slices(class), i = take_run(n, 0, false, &zero);
	if (!i)
		return false;
	uint16_t total = (uint16_t)((n << HEAP_SLICE_SHIFT) / heap_class_size(class));
	heap_spans[i] = (struct span){
		.slices = n, .use = SPAN_BLOCKS, .class = (uint8_t) class, .total = total, .free = total
	};
	for (uint32_t k = 0; k < n; k++)
		heap_spans[i + k].first = i;
	memset(&heap_class_table[i], (int)class, n);
	take_fresh(l, i);
	return true;
}

/* ---- what threads ask for --------------------------------------------------------------------------- */

static struct heap *heap_of(struct thread *t)
{
	return front_of(t)->heap;
}

static struct heap_list *list_of(struct thread *t, uint64_t class)
{
	return &heap_of(t)->lists[class];
}

static uint32_t least_limit(unsigned class)
{
	return MAX(LIST_BYTES_LEAST / heap_class_size(class), 2u);
}

/* A list that needs the pool often may be longer. */
static void raise_limit(struct thread *t, struct heap_list *l, unsigned class)
{
	uint32_t longest = MAX(MIN(LIST_BYTES_MOST(front_of(t)->slot) / heap_class_size(class), LIST_MOST), 4u);
	l->limit = MIN(l->limit * 2, longest);
}

/* The thread has neither a free block of this class nor a fresh one. 0 or -ENOMEM. */
long sync_heap_refill(struct thread *t, uint64_t class, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	struct heap_list *l = list_of(t, class);
	begin(t);
	take_partial(l, (unsigned)class, l->limit / 2);
	bool filled = l->head || l->fresh < l->fresh_end || take_span(l, (unsigned)class);
	raise_limit(t, l, (unsigned)class);
	end(t);
	return filled ? 0 : -ENOMEM;
}

/* The list has become longer than its limit: half of it goes to the pool. */
long sync_heap_return(struct thread *t, uint64_t class, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	struct heap_list *l = list_of(t, class);
	begin(t);
	give_blocks(l, MIN(l->count, MAX(l->limit / 2, 1u)));
	raise_limit(t, l, (unsigned)class);
	end(t);
	return 0;
}

static bool extend(uint32_t i, uint32_t more)
{
	uint32_t next = i + heap_spans[i].slices;
	if (next >= pool.top || heap_spans[next].use != SPAN_FREE || heap_spans[next].slices < more)
		return false;
	struct span run = heap_spans[next];
	bin_remove(next);
	if (run.slices > more)
		bin_add(next + more, run.slices - more, SPAN_FREE, MIN(run.dirty, run.slices - more));
	heap_spans[i].slices += more;
	pool.used += more;
	return true;
}

static uint32_t take_large(uint32_t n, uint64_t align, bool grows, bool *zero)
{
	uint32_t i = take_run(n, align, grows, zero);
	if (i) {
		heap_spans[i] = (struct span){ .slices = n, .use = SPAN_LARGE };
		heap_class_table[i] = HEAP_CLASS_LARGE;
	}
	return i;
}

/* The pages of a large block move to a longer one. What was their place has none, however they were moved. */
static uint32_t move(uint32_t i, uint32_t n)
{
	bool zero;
	uint32_t j = take_large(n, 0, true, &zero), had = heap_spans[i].slices;
	if (!j)
		return 0;
	uint64_t bytes = (uint64_t)had << HEAP_SLICE_SHIFT;
	if (is_error(SYS5(__NR_mremap, address(i), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address(j)))) {
		memcpy(address(j), address(i), bytes); /* several mappings, or too many */
		unmap_run(i, had);
	}
	heap_class_table[i] = 0;
	heap_spans[i].use = SPAN_NONE;
	pool.used -= had;
	add_run(i, had, SPAN_UNMAPPED, 0);
	return j;
}

static uint32_t resize(const struct heap *h, uint32_t i, uint32_t n)
{
	uint32_t had = heap_spans[i].slices;
	if (n < had) {
		heap_spans[i].slices = n;
		give_slices(i + n, had - n);
	}
	if (n <= had || extend(i, n - had))
		return i;
	return heap_moves(h, had) ? move(i, n) : 0;
}

/*
 * A large block of `size` bytes, at most HEAP_BYTES, at a multiple of `align`, a power of two or 0: its address and
 * HEAP_ZERO, or 0 if there is no memory. `grows`: realloc wants it. With `old`, that block is made longer or shorter,
 * and may move; 0 also if it is cheaper for the caller to copy it.
 */
long sync_heap_large(struct thread *t, uint64_t size, uint64_t align, uint64_t old, uint64_t grows)
{
	uint32_t n = (uint32_t)(ALIGN_UP(size, HEAP_SLICE) >> HEAP_SLICE_SHIFT), i;
	bool zero = false;
	begin(t);
	if (old)
		i = resize(heap_of(t), slice_of((void *)old), n);
	else
		i = take_large(n, align, grows, &zero);
	end(t);
	return i ? (long)((uint64_t)address(i) | (zero ? HEAP_ZERO : 0)) : 0;
}

long sync_heap_large_free(struct thread *t, uint64_t block, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b, (void)c, (void)d;
	uint32_t i = slice_of((void *)block);
	begin(t);
	free_run(i, heap_spans[i].slices);
	end(t);
	return 0;
}

/* ---- threads and processes ------------------------------------------------------------------------------ */

/*
 * Slot s uses state s ^ swapped[s]. They differ only in a forked child, whose thread got another slot and kept
 * its heap: the two slots have changed their states then. Written when there is one thread; afterwards, as
 * `mapped`, a slot's entries are only for who has, or gives, the slot.
 */
static uint16_t swapped[MAP_SLOTS];
static bool mapped[MAP_SLOTS]; /* by state */
static uint32_t most; /* entries from here on are 0; threads may start at the same time, so an atomic maximum */

static uint64_t state_stride(void)
{
	return ALIGN_UP(sizeof(struct heap), page_size);
}

void heap_thread_started(struct thread *t)
{
	struct front *f = front_of(t);
	uint32_t state = f->slot ^ swapped[f->slot];
	struct heap *h = (struct heap *)(HEAP_STATES + state * state_stride());
	if (!mapped[state] && !map_table((uint64_t)h, state_stride()))
		cannot("there is no memory for another thread's heap");
	mapped[state] = true;
	uint32_t seen = __atomic_load_n(&most, __ATOMIC_RELAXED), need = MAX(f->slot, state) + 1;
	while (seen < need &&
	       !__atomic_compare_exchange_n(&most, &seen, need, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		; /* relaxed: read only by fork, which has everything that led to this thread */
	for (unsigned c = 1; c <= HEAP_CLASS_COUNT; c++)
		h->lists[c].limit = MAX(least_limit(c), h->lists[c].count);
	h->kept_room = KEPT_SLICES(f->slot);
	h->ordered = false;
	f->heap = h;
}

void heap_hooked(struct thread *t)
{
	heap_of(t)->ordered = true;
}

void heap_thread_ended(struct thread *t)
{
	struct heap *h = front_of(t)->heap;
	bool any = h->kept_count;
	for (unsigned c = 1; c <= HEAP_CLASS_COUNT; c++)
		any |= list_of(t, c)->head || list_of(t, c)->fresh < list_of(t, c)->fresh_end;
	if (!any)
		return;
	begin(t);
	for (unsigned c = 1; c <= HEAP_CLASS_COUNT; c++) {
		struct heap_list *l = list_of(t, c);
		give_blocks(l, l->count);
		give_fresh(l);
	}
	for (unsigned i = 0; i < h->kept_count; i++)
		free_run(slice_of(h->kept[i]), heap_spans[slice_of(h->kept[i])].slices);
	h->kept_count = h->kept_slices = 0;
	end(t);
}

void heap_before_fork(struct thread *t)
{
	if (one_thread)
		return;
	if (!replaying)
		sleep_lock(&pool.lock);
	op_edge(t, pool.stamp);
	pool.stamp = STAMP(front_of(t)->slot, front_of(t)->clock + 1);
}

void heap_after_fork(struct thread *t, bool child)
{
	if (!child) {
		if (!one_thread && !replaying)
			sleep_unlock(&pool.lock);
		return;
	}
	/* The other threads are gone with their lists, which may have been under change: nobody uses these again. */
	struct front *f = front_of(t);
	uint32_t mine = (uint32_t)(((uint64_t)f->heap - HEAP_STATES) / state_stride());
	memset(swapped, 0, most * sizeof swapped[0]);
	memset(mapped, 0, most * sizeof mapped[0]);
	swapped[f->slot] = swapped[mine] = (uint16_t)(f->slot ^ mine);
	mapped[mine] = true;
	most = MAX(f->slot, mine) + 1;
	pool.lock = 0;
	pool.stamp = 0; /* names a thread of the parent */
	pool.outcome = 0;
}
