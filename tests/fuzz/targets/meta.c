/* meta.json: its text, and, with a checksum that fits, its members. */
#include "commands/meta.c"
#include "fuzz.h"

static void look(const void *unused)
{
	struct trace_problem problem;
	struct meta meta;
	char text[300];

	(void)unused;
	if (meta_try_load(&meta, fuzz_dir(), &problem))
		return;
	meta_command(&meta, text, sizeof text);
	futexes_text(&meta, text, sizeof text);
	meta_is_hooked(&meta);
	trace_check(fuzz_dir(), &meta.list, NULL, NULL, NULL, &problem);
	cpu_need_same(&meta);
	meta_need_same_machine(&meta);
	meta_free(&meta);
}

/* As heddle would have written it. */
static char *sealed(const uint8_t *data, size_t size)
{
	json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	char *text = NULL;

	if (json_is_object(json)) {
		json_object_del(json, "checksum");
		json_object_set_new(json, "checksum", hex_number(checksum(json)));
		text = dump_text(json);
	}
	json_decref(json);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = sealed(data, size);

	fuzz_new();
	fuzz_write("meta.json", data, size);
	fuzz_read(look, NULL);
	if (text) {
		fuzz_write("meta.json", text, strlen(text));
		fuzz_read(look, NULL);
	}
	free(text);
	return 0;
}
