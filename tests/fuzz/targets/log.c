/* A log as a file: its header, its chunks, zstd's frames. Hashes seldom fit here: entries.c goes on from there. */
#include <stdlib.h>
#include <string.h>
#include "commands/commands.h"
#include "fuzz.h"

static void read_log(const void *unused)
{
	struct trace_problem problem;
	struct trace_reader reader;
	struct trace_list list = { 0 };
	const struct entry *e;

	(void)unused;
	if (!trace_reader_open(&reader, fuzz_dir(), 0, 0, &problem)) {
		while (trace_read(&reader, &e, &problem) > 0)
			;
		trace_reader_close(&reader);
	}
	if (!trace_list_read(&list, fuzz_dir(), &problem))
		trace_list_measure(&list, fuzz_dir(), &problem);
	trace_list_free(&list);
}

/* The hashes of headers and chunks, as far as there are any, so that what is behind them is reached. */
static void seal(uint8_t *data, size_t size)
{
	struct log_header header;
	struct chunk_header chunk;
	size_t at = sizeof header;

	if (size < at)
		return;
	trace_log_header(&header, 0, 0);
	memcpy(data, &header, sizeof header);
	while (size - at >= sizeof chunk) {
		memcpy(&chunk, data + at, sizeof chunk);
		if (chunk.packed > size - at - sizeof chunk)
			return;
		chunk.hash = trace_chunk_hash(&chunk, data + at + sizeof chunk);
		memcpy(data + at, &chunk, sizeof chunk);
		at += sizeof chunk + chunk.packed;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (size && data[size - 1] & 1)
		seal(copy, size);
	fuzz_new();
	fuzz_write("p0.t0.log", copy, size);
	free(copy);
	fuzz_read(read_log, NULL);
	return 0;
}
