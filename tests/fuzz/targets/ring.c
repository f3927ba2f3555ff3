/* A ring that a killed heddle left: the first 16 KiB of the input are its header, the rest lies in its data. */
#include <stdlib.h>
#include <string.h>
#include "commands/commands.h"
#include "fuzz.h"

enum { HEADER = 16384 };

static void finish(const void *unused)
{
	struct trace_packer *packer = trace_packer_new();
	struct trace_problem problem;

	(void)unused;
	if (!packer)
		abort();
	trace_finish_rings(fuzz_dir(), packer, 1, &problem);
	trace_packer_free(packer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t ring[RING_HEADER + RING_SIZE];
	struct ring_header *header = (void *)ring;
	size_t n = size < HEADER ? size : HEADER;

	if (size > HEADER + RING_SIZE)
		return 0;
	memset(ring, 0, sizeof ring);
	memcpy(ring, data, n);
	memcpy(ring + RING_HEADER, data + n, size - n);
	header->magic = RING_MAGIC;
	header->version = TRACE_VERSION;
	header->arch = TRACE_ARCH;
	header->image = header->slot = 0;
	fuzz_new();
	fuzz_write("0.ring", ring, sizeof ring);
	fuzz_read(finish, NULL);
	return 0;
}
