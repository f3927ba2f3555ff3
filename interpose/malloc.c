/*
 * malloc and its family, on lists of the calling thread: see runtime/memory/heap.h.
 *
 * The same instructions run at record and replay. Budget of malloc and free when the list has a block, or room: no
 * atomics, no call; malloc 4 loads and 3 stores, free 4 loads and 4 stores. What the list cannot answer goes to
 * the runtime, as an op.
 *
 * operator new and delete of libstdc++ come here, since they call malloc and free through the symbol table;
 * so do libc's own functions, and ld.so once it has relocated everything.
 *
 * Misuse is told as glibc does it: a line on stderr, then abort().
 */
#include "runtime/memory/heap.h"
#include "runtime/sync/sync.h"
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define EXPORT	    __attribute__((visibility("default")))
#define SLOW	    static __attribute__((noinline, cold))

#ifndef MALLOC_ENTRIES /* tests have a table of their own */
#define MALLOC_ENTRIES ((const struct sync_entries *)MAP_ENTRIES)
#endif
#define RUNTIME(name, a, b, c, d) MALLOC_ENTRIES->call(MALLOC_ENTRIES->functions[SYNC_##name], (uint64_t)(a), b, c, d)

#define PAGE	   4096ul /* how much of a fresh span is cut at a time */
#define SIZE_LIMIT ((size_t)PTRDIFF_MAX)

/* This thread's heap; 0 before its first use. The lists live as long as the process, so it never dangles. */
static __thread struct heap *mine __attribute__((tls_model("initial-exec")));

static struct heap *find_mine(void)
{
	return mine ? mine : (mine = MALLOC_ENTRIES->self()->heap);
}
SLOW void *no_memory(void)
{
	errno = ENOMEM;
	return 0;
}

SLOW _Noreturn void misused(const char *what)
{
	if (write(2, what, strlen(what)) < 0)
		abort();
	abort();
}

/* ---- blocks of a class ------------------------------------------------------------------------ */

/* Takes a block off a list that has one. */
static inline void *pop(struct heap_list *l)
{
	struct heap_block *b = l->head;
	uint64_t *link = heap_link(b);
	l->head = (struct heap_block *)(*link & ~HEAP_FREED);
	l->count--;
	*link = 0;
	return b;
}

/* A page full of the fresh blocks becomes the list. */
static void cut(struct heap_list *l, uint32_t size)
{
	uint64_t left = (uint64_t)(l->fresh_end - l->fresh) / size, n = size < PAGE ? PAGE / size : 1;
	if (n > left)
		n = left;
	l->head = (struct heap_block *)l->fresh;
	for (uint64_t i = 1; i <= n; i++, l->fresh += size)
		heap_set_next((struct heap_block *)l->fresh, i < n ? (struct heap_block *)(l->fresh + size) : 0);
	l->count = (uint32_t)n;
}

static __attribute__((noinline)) void *take_slowly(struct heap *h, unsigned class)
{
	class += !class; /* malloc(0) */
	if (!h)
		h = find_mine();
	struct heap_list *l = &h->lists[class];
	/* again: a handler that ran at the end of the op may have taken what it gave */
	while (!l->head && l->fresh == l->fresh_end)
		if (RUNTIME(heap_refill, class, 0, 0, 0))
			return no_memory();
	if (!l->head)
		cut(l, heap_class_size(class));
	return pop(l);
}

static inline void *take(unsigned class)
{
	struct heap *h = mine;
	if (unlikely(!h) || unlikely(!h->lists[class].head))
		return take_slowly(h, class);
	return pop(&h->lists[class]);
}

/* ---- large blocks -------------------------------------------------------------------------------- */

/* Of a block that is ours, so nobody writes it. */
static uint64_t slices_of(const void *p)
{
	return heap_spans[((uint64_t)p - HEAP_SLICES) >> HEAP_SLICE_SHIFT].slices;
}

static void *unkeep(struct heap *h, unsigned i)
{
	void *p = h->kept[i];
	h->kept_slices -= (uint32_t)slices_of(p);
	h->kept_count--;
	for (; i < h->kept_count; i++)
		h->kept[i] = h->kept[i + 1];
	return p;
}

/* One of those that this thread freed last, if it is long enough and not longer than `most`. */
static void *take_kept(struct heap *h, uint64_t slices, uint64_t most)
{
	for (unsigned i = h->kept_count; i--;)
		if (slices_of(h->kept[i]) >= slices && slices_of(h->kept[i]) <= most)
			return unkeep(h, i);
	return 0;
}

static __attribute__((noinline)) void *take_large(size_t n, size_t align, bool grows, bool *zero)
{
	*zero = false;
	if (unlikely(n > HEAP_BYTES || align > HEAP_BYTES))
		return no_memory();
	struct heap *h = find_mine();
	uint64_t slices = (n + HEAP_SLICE - 1) >> HEAP_SLICE_SHIFT;
	void *kept = align <= HEAP_SLICE ? take_kept(h, slices, grows ? slices * 4 : slices + slices / 4) : 0;
	if (kept)
		return kept;
	uint64_t r = (uint64_t)RUNTIME(heap_large, n, align, 0, grows);
	*zero = r & HEAP_ZERO;
	return r ? (void *)(r & ~(uint64_t)HEAP_ZERO) : no_memory();
}

static void release_large(struct heap *h, void *p)
{
	uint64_t n = slices_of(p);
	for (unsigned i = 0; i < h->kept_count; i++)
		if (h->kept[i] == p)
			misused("free(): double free detected\n");
	if (n > h->kept_room) {
		RUNTIME(heap_large_free, p, 0, 0, 0);
		return;
	}
	while (h->kept_count == HEAP_KEPT || h->kept_slices + n > h->kept_room)
		RUNTIME(heap_large_free, unkeep(h, 0), 0, 0, 0);
	h->kept[h->kept_count++] = p;
	h->kept_slices += (uint32_t)n;
}

/* ---- both ------------------------------------------------------------------------------------------ */

static inline void *allocate(size_t n)
{
	bool zero;
	return likely(n <= HEAP_SMALL) ? take(heap_class(n)) : take_large(n, 0, false, &zero);
}

/* The class of a block, HEAP_CLASS_LARGE, or 0: no block begins here. One comparison finds odd and foreign
   addresses. */
static inline unsigned class_at(const void *p)
{
	uint64_t offset = (uint64_t)p - HEAP_SLICES;
	if (unlikely((offset >> 4 | offset << 60) >= HEAP_BYTES >> 4))
		return 0;
	return heap_class_table[offset >> HEAP_SLICE_SHIFT];
}

static unsigned class_of(const void *p, const char *complaint)
{
	unsigned class = class_at(p);
	if (unlikely(!class || (class == HEAP_CLASS_LARGE && (uint64_t)p % HEAP_SLICE)))
		misused(complaint);
	return class;
}

static __attribute__((noinline)) void return_some(unsigned class)
{
	RUNTIME(heap_return, class, 0, 0, 0);
}

static inline void push(struct heap_list *l, struct heap_block *b, unsigned class)
{
	heap_set_next(b, l->head);
	l->head = b;
	if (unlikely(++l->count > l->limit))
		return_some(class);
}

static __attribute__((noinline)) void release_slowly(void *p)
{
	if (!p)
		return;
	unsigned class = class_of(p, "free(): invalid pointer\n");
	struct heap *h = find_mine();
	if (class == HEAP_CLASS_LARGE)
		release_large(h, p);
	else if (*heap_link(p) & HEAP_FREED)
		misused("free(): double free detected\n");
	else
		push(&h->lists[class], p, class);
}

/* Slow ways are the last thing done, so that the quick one needs no frame. */
static inline void release(void *p)
{
	unsigned class = class_at(p);
	struct heap *h = mine;
	if (unlikely(class - 1 >= HEAP_CLASS_COUNT) || unlikely(!h) || unlikely(*heap_link(p) & HEAP_FREED))
		release_slowly(p);
	else
		push(&h->lists[class], p, class);
}

static size_t size_at(const void *p, unsigned class)
{
	return class == HEAP_CLASS_LARGE ? slices_of(p) << HEAP_SLICE_SHIFT : heap_class_size(class);
}

static void *allocate_aligned(size_t align, size_t n)
{
	if (align <= 16)
		return allocate(n);
	if (align <= HEAP_SMALL && n <= HEAP_SMALL) {
		/* Spans begin at slices, so blocks are as aligned as their size. Powers of two are sizes: this ends. */
		unsigned class = heap_class(n > align ? n : align);
		while (heap_class_size(class) % align)
			class ++;
		return take(class);
	}
	bool zero;
	return take_large(n > HEAP_SMALL ? n : HEAP_SMALL + 1, align, false, &zero);
}

/* Of a thread whose accesses are ordered, the runtime makes these. */
static void copy_block(const struct heap *h, void *to, const void *from, size_t n)
{
	if (likely(!h->ordered) || RUNTIME(bytes_copy, to, (uint64_t)from, n, 0))
		memcpy(to, from, n);
}

static void *clear_block(const struct heap *h, void *to, size_t n)
{
	if (likely(!h->ordered) || RUNTIME(bytes_clear, to, n, 0, 0))
		memset(to, 0, n);
	return to;
}

/* A block of `had` bytes that shrinks to n: not worth another place, or, if it is large, cutting off its end. */
static bool stays(unsigned class, size_t had, size_t n)
{
	if (class != HEAP_CLASS_LARGE)
		return n >= had / 2;
	return n > HEAP_SMALL && (n > had - HEAP_SLICE || (n >= had / 4 && had < HEAP_MOVE_SLICES * HEAP_SLICE));
}

static void *reallocate(void *p, size_t n)
{
	unsigned class = class_of(p, "realloc(): invalid pointer\n");
	size_t had = size_at(p, class);
	if (n <= had && stays(class, had, n))
		return p;
	const struct heap *h = find_mine();
	if (class == HEAP_CLASS_LARGE && n > HEAP_SMALL) {
		if (n > HEAP_BYTES)
			return no_memory();
		void *moved = (void *)RUNTIME(heap_large, n, 0, (uint64_t)p, 1);
		if (moved)
			return moved;
		if (heap_moves(h, had >> HEAP_SLICE_SHIFT))
			return no_memory();
	}
	/* What grows once will grow again: then there should be room behind it. */
	bool zero;
	void *to = n > had && n > HEAP_SMALL ? take_large(n, 0, true, &zero) : allocate(n);
	if (!to)
		return n <= had ? p : 0;
	copy_block(h, to, p, n < had ? n : had);
	release(p);
	return to;
}

/* ---- what programs call ---------------------------------------------------------------------------- */

EXPORT void *malloc(size_t n)
{
	return allocate(n);
}

EXPORT void free(void *p)
{
	release(p);
}

static void *allocate_zeroed(size_t count, size_t size)
{
	size_t n;
	if (unlikely(__builtin_mul_overflow(count, size, &n)))
		return no_memory();
	if (likely(n <= HEAP_SMALL)) {
		void *p = take(heap_class(n));
		return likely(p) ? clear_block(mine, p, n) : 0;
	}
	bool zero;
	void *p = take_large(n, 0, false, &zero);
	return p && !zero ? clear_block(mine, p, n) : p;
}

EXPORT void *calloc(size_t count, size_t size)
{
	return allocate_zeroed(count, size);
}

static void *change_size(void *p, size_t n)
{
	if (!p)
		return allocate(n);
	if (!n) {
		release(p);
		return 0;
	}
	return reallocate(p, n);
}

EXPORT void *realloc(void *p, size_t n)
{
	return change_size(p, n);
}

EXPORT void *reallocarray(void *p, size_t count, size_t size)
{
	size_t n;
	if (unlikely(__builtin_mul_overflow(count, size, &n)))
		return no_memory();
	return change_size(p, n);
}

/* As glibc: what is not a power of two becomes the next one. */
static void *allocate_at(size_t align, size_t n)
{
	if (align > SIZE_LIMIT / 2 + 1) {
		errno = EINVAL;
		return 0;
	}
	size_t power = 16;
	while (power < align)
		power *= 2;
	return allocate_aligned(power, n);
}

EXPORT void *memalign(size_t align, size_t n)
{
	return allocate_at(align, n);
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	return allocate_at(align, n);
}

EXPORT int posix_memalign(void **to, size_t align, size_t n)
{
	if (align % sizeof(void *) || !align || align & (align - 1))
		return EINVAL;
	int saved = errno;
	void *p = allocate_aligned(align, n);
	errno = saved;
	if (!p)
		return ENOMEM;
	copy_block(find_mine(), to, &p, sizeof p);
	return 0;
}

static void *allocate_page(size_t n)
{
	return allocate_aligned((size_t)getpagesize(), n);
}

EXPORT void *valloc(size_t n)
{
	return allocate_page(n);
}

static void *allocate_pages(size_t n)
{
	size_t page = (size_t)getpagesize();
	if (n > SIZE_LIMIT)
		return no_memory();
	return allocate_aligned(page, (n + page - 1) & ~(page - 1));
}

EXPORT void *pvalloc(size_t n)
{
	return allocate_pages(n);
}

EXPORT size_t malloc_usable_size(void *p)
{
	return p ? size_at(p, class_of(p, "malloc_usable_size(): invalid pointer\n")) : 0;
}

EXPORT void cfree(void *p);
EXPORT void cfree(void *p)
{
	release(p);
}

/*
 * Names that programs with a malloc of their own use to reach the one below. Not by way of our malloc(), which may be
 * theirs.
 */
#define ALSO(result, name, same, parameters, arguments)         \
	EXPORT result name parameters __attribute__((nothrow)); \
	result name parameters                                  \
	{                                                       \
		return same arguments;                          \
	}
ALSO(void *, __libc_malloc, allocate, (size_t n), (n))
ALSO(void, __libc_free, release, (void *p), (p))
ALSO(void *, __libc_calloc, allocate_zeroed, (size_t count, size_t size), (count, size))
ALSO(void *, __libc_realloc, change_size, (void *p, size_t n), (p, n))
ALSO(void *, __libc_memalign, allocate_at, (size_t align, size_t n), (align, n))
ALSO(void *, __libc_valloc, allocate_page, (size_t n), (n))
ALSO(void *, __libc_pvalloc, allocate_pages, (size_t n), (n))

/* ---- advice about glibc's allocator, which is not in use ------------------------------------------------ */

EXPORT int malloc_trim(size_t pad)
{
	(void)pad;
	return 0;
}

EXPORT int mallopt(int option, int value)
{
	(void)option, (void)value;
	return 1;
}

EXPORT struct mallinfo mallinfo(void)
{
	return (struct mallinfo){ 0 };
}

EXPORT struct mallinfo2 mallinfo2(void)
{
	return (struct mallinfo2){ 0 };
}

EXPORT void malloc_stats(void)
{
}

EXPORT int malloc_info(int options, FILE *to)
{
	if (options)
		return EINVAL;
	fputs("<malloc version=\"1\">\n</malloc>\n", to);
	return 0;
}
