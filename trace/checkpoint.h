/*
 * A checkpoint as a file: all memory of a replayed process whose threads stand still, the runtime's included. It
 * belongs to one trace and one build of the loader, and is not a part of the trace.
 *
 * OFFSET SIZE MEANING
 *      0   64 struct point_header
 *     64      ranges: struct point_range, then its runs: struct point_run and the bytes of each; a run of 0 bytes is
 *             behind the last run, a range of kind 0 behind the last range
 *    end    8 XXH64 of all before it
 */
#ifndef TRACE_CHECKPOINT_H
#define TRACE_CHECKPOINT_H
#include "trace/format.h"

#define POINT_MAGIC 0x746e696f702e6468ull /* "hd.point" */
#define POINT_NAME  64

struct point_header {
	uint64_t magic;
	uint32_t version, arch; /* TRACE_VERSION, TRACE_ARCH */
	uint64_t page;		/* bytes of a page of memory */
	uint64_t loader;	/* XXH64 of the loader's file: addresses of the runtime are in the checkpoint */
	uint64_t trace;		/* XXH64 of the trace's meta.json */
	uint64_t shown;		/* how many writes had been shown */
	uint64_t zero[2];
};

enum point_kind {
	POINT_MEMORY = 1, /* of its own; what no run covers is zero */
	POINT_FILE,	  /* a private mapping of files/NAME of the trace; runs: pages that were written */
	POINT_STREAM,	  /* the same of the unpacked stream NAME */
	POINT_LOADER /* the loader's data, mapped already; what no run covers is zero, or as in the loader's file */
};

enum point_flag {
	POINT_READ = 1,
	POINT_WRITE = 2,
	POINT_EXECUTE = 4,
	POINT_SHARED = 8,
	POINT_GROWS = 16 /* downwards */
};

/* What the kernel's list of mappings has in one line. */
struct point_range {
	uint64_t from, to;
	uint64_t offset; /* in the file */
	uint32_t kind, flags;
	char name[POINT_NAME];
};

struct point_run {
	uint64_t from, size;
};

_Static_assert(sizeof(struct point_header) == 64 && sizeof(struct point_range) == 96, "fixed by the format");
#endif
