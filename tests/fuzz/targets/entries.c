/* The entries of a stream, in a log whose hashes all fit: checked, unpacked, and printed as `heddle dump` does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "commands/meta.h"
#include "fuzz.h"
#include "runtime/order/order.h"

static void print_all(const void *unused)
{
	struct trace_problem problem;
	struct trace_reader reader;
	const struct entry *e;

	(void)unused;
	if (trace_reader_open(&reader, fuzz_dir(), 0, 0, &problem))
		return;
	while (trace_read(&reader, &e, &problem) > 0)
		free(dump_line(e));
	trace_reader_close(&reader);
}

static void unpack(const void *size)
{
	struct trace_stream expected = { .raw = *(const size_t *)size };
	struct trace_shown shown = { 0 };
	struct trace_problem problem;
	uint64_t missing[8];
	char raw[100];

	snprintf(raw, sizeof raw, "%s/raw", fuzz_dir());
	if (!trace_unpack(fuzz_dir(), &expected, raw, NULL, &shown, &problem))
		trace_shown_missing(&shown, 0, missing, 8);
	free(shown.seen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned schemes = 0;

	if (size < 1 || size > CHUNK_MAX)
		return 0;
	while (order_schemes[schemes])
		schemes++;
	order_used = order_schemes[*data % schemes]; /* who wrote the order log */
	data++;
	size--;
	fuzz_new();
	fuzz_write_log(0, data, size);
	fuzz_read(print_all, NULL);
	fuzz_read(unpack, &size);
	return 0;
}
