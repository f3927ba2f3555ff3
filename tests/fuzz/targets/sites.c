/* A program or library that heddle-cc may have built: its note, its table of sites, what --select=races has found. */
#include <stdio.h>
#include <stdlib.h>
#include "commands/sites.h"
#include "fuzz.h"

static void read_note(const void *path)
{
	struct sites_note note;
	sites_read_note(path, &note);
}

static void read_level(const void *path)
{
	char text[2048];
	sites_level(path, false, text, sizeof text);
}

static void read_sites(const void *path)
{
	sites_dump(path, true, true);
}

static void read_races(const void *path)
{
	size_t size;
	free(sites_races(path, &size));
}

static void read_place(const void *path)
{
	char text[300];
	for (uint64_t at = 0; at < 0x20000; at += 0x1000)
		sites_place(path, at, text, sizeof text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[100];

	fuzz_new();
	fuzz_write("program", data, size);
	snprintf(path, sizeof path, "%s/program", fuzz_dir());
	fuzz_read(read_note, path);
	fuzz_read(read_level, path);
	fuzz_read(read_sites, path);
	fuzz_read(read_races, path);
	fuzz_read(read_place, path);
	return 0;
}
