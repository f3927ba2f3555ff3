/* A log as a file: its header, its chunks, zstd's frames. Hashes seldom fit here: entries.c goes on from there. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
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

static size_t seal_header(uint8_t *data)
{
	struct log_header header;

	trace_log_header(&header, 0, 0);
	memcpy(data, &header, sizeof header);
	return sizeof header;
}

/* Of a log from which a part was dropped. */
static size_t seal_cut_header(uint8_t *data)
{
	struct log_cut_header header;

	memcpy(&header, data, sizeof header);
	header.magic = LOG_CUT_MAGIC;
	header.version = TRACE_VERSION;
	header.arch = TRACE_ARCH;
	header.image = header.slot = 0;
	header.hash = XXH64(&header, offsetof(struct log_cut_header, hash), 0);
	memcpy(data, &header, sizeof header);
	return sizeof header;
}

/* The hashes of headers and chunks, as far as there are any, so that what is behind them is reached. */
static void seal(uint8_t *data, size_t size)
{
	struct chunk_header chunk;

	if (size < sizeof(struct log_cut_header))
		return;
	size_t at = data[size - 1] & 2 ? seal_cut_header(data) : seal_header(data);
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
