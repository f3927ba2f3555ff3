/*
 * For running the allocator without the rest of Heddle: included before everything else (-include) in
 * runtime/memory/heap.c, by way of heap_alone.c, and in interpose/malloc.c.
 *
 *   gcc -std=gnu17 -O2 -I. -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -include tests/unit/heap_alone.h \
 *       -o libheap.so tests/unit/heap_alone.c interpose/malloc.c -pthread
 *   LD_PRELOAD=./libheap.so program
 *
 * With HEAP_RENAMED the functions are called heap_malloc and so on, beside libc's, and live where
 * sanitizers leave room.
 */
#ifndef HEAP_ALONE_H
#define HEAP_ALONE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "runtime/memory/map.h"
#ifdef HEAP_RENAMED
#undef MAP_ARENAS_BASE
#undef MAP_ARENAS_END
#define MAP_ARENAS_BASE	   0x500000000000ul
#define MAP_ARENAS_END	   (MAP_ARENAS_BASE + 0x005800000000ul)
#define malloc		   heap_malloc
#define calloc		   heap_calloc
#define realloc		   heap_realloc
#define free		   heap_free
#define cfree		   heap_cfree
#define memalign	   heap_memalign
#define aligned_alloc	   heap_aligned_alloc
#define posix_memalign	   heap_posix_memalign
#define valloc		   heap_valloc
#define pvalloc		   heap_pvalloc
#define reallocarray	   heap_reallocarray
#define malloc_usable_size heap_malloc_usable_size
#define malloc_trim	   heap_malloc_trim
#define mallopt		   heap_mallopt
#define mallinfo	   heap_mallinfo
#define mallinfo2	   heap_mallinfo2
#define malloc_stats	   heap_malloc_stats
#define malloc_info	   heap_malloc_info
#define __libc_malloc	   heap_libc_malloc
#define __libc_free	   heap_libc_free
#define __libc_calloc	   heap_libc_calloc
#define __libc_realloc	   heap_libc_realloc
#define __libc_memalign	   heap_libc_memalign
#endif
#define MALLOC_ENTRIES (&heap_alone_entries)
#include "runtime/sync/sync.h"
extern const struct sync_entries heap_alone_entries;
#endif
