/* `heddle pack --open`: the archive's bytes, which we pack. What it makes lies in its directory and nowhere else. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "commands/commands.h"
#include "fuzz.h"

extern const struct command command_pack;

static void open_it(const void *unused)
{
	char file[100], out[100];
	char *argv[] = { "pack", "--open", "-o", out, file, NULL };

	(void)unused;
	snprintf(file, sizeof file, "%s/in", fuzz_dir());
	snprintf(out, sizeof out, "%s/out", fuzz_dir());
	command_pack.run(5, argv);
}

static void see_nothing_else(void)
{
	DIR *names = opendir(fuzz_dir());
	struct dirent *item;

	while (names && (item = readdir(names)))
		if (*item->d_name != '.' && strcmp(item->d_name, "in") && strcmp(item->d_name, "out") &&
		    strcmp(item->d_name, "files"))
			abort();
	closedir(names);
}

/* The sum of each header that is where one is expected. */
static void seal(uint8_t *tar, size_t size)
{
	for (size_t at = 0; size - at >= 512;) {
		unsigned sum = 8 * ' ';
		char text[8];
		for (size_t i = 0; i < 512; i++)
			sum += i >= 148 && i < 156 ? 0 : tar[at + i];
		snprintf(text, sizeof text, "%06o", sum & 0777777);
		memcpy(tar + at + 148, text, 7);
		memcpy(tar + at + 257, "ustar", 6);
		uint64_t n = strtoull((char *)tar + at + 124, NULL, 8);
		if (n > size)
			return;
		at += 512 + (n + 511) / 512 * 512;
		if (at > size)
			return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *tar = malloc(size + 1);
	size_t room = ZSTD_compressBound(size + 1);
	char *packed = malloc(room);

	if (!tar || !packed)
		abort();
	memcpy(tar, data, size);
	tar[size] = 0;
	if (size && data[0] & 1)
		seal(tar, size);
	fuzz_new();
	size_t n = ZSTD_compress(packed, room, tar, size, 1);
	fuzz_write("in", packed, n);
	fuzz_read(open_it, NULL);
	see_nothing_else();
	free(tar);
	free(packed);
	return 0;
}
