/* A saved file: what `dump`, messages and reports look up in it, functions and lines. Most of that is libdw's. */
#include <stdio.h>
#include <string.h>
#include "commands/meta.h"
#include "fuzz.h"
#include "runtime/memory/map.h"

static void look_up(const void *unused)
{
	struct meta meta = { 0 };
	char text[300];

	(void)unused;
	snprintf(meta.dir, sizeof meta.dir, "%s", fuzz_dir());
	struct where *w = where_open(&meta, 0, 0, 1);
	for (uint64_t at = 0; at < 0x3000; at += 0x40)
		where_describe(w, MAP_PIE_BASE + at, text, sizeof text);
	where_object(w, MAP_PIE_BASE);
	where_close(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* the stream: a program starts, which is this file */
	static const struct {
		struct entry e;
		struct block start;
		struct start_info info;
		struct block file;
		char key[8];
	} stream = { { .size = sizeof stream, .kind = ENTRY_START },
		     { .kind = BLOCK_START, .len = sizeof stream.info },
		     { .pid = 1 },
		     { .kind = BLOCK_FILE, .arg = START_PROGRAM, .len = 2 },
		     "k" };

	fuzz_new();
	fuzz_write_log(0, &stream, sizeof stream);
	fuzz_write("files/k", data, size);
	fuzz_read(look_up, NULL);
	return 0;
}
