/*
 * SARIF: see sarif.h.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "meta.h"
#include "sarif.h"

static const struct {
	const char *id, *text;
} rules[] = {
	{ "may-race", "Two threads may access the same memory at the same time, as far as the analysis can tell." },
	{ "race", "Two threads access the same bytes, one writes, and nothing puts the two accesses in order." },
	{ "atomicity", "Another thread's access came between two accesses that make sense only together." },
};

static json_t *text(const char *t)
{
	return json_pack("{so}", "text", text_to_json(t, strlen(t)));
}

/* As RFC 3986 wants a path: what is no letter, digit or one of a few signs as %XX. */
static json_t *uri(const char *path)
{
	char to[3 * 4096 + 1];
	size_t n = 0;

	for (const char *p = path; *p && n + 4 < sizeof to; p++) {
		bool plain = isalnum((unsigned char)*p) || strchr("-._~/", *p);
		n += (size_t)snprintf(to + n, sizeof to - n, plain ? "%c" : "%%%02X", (unsigned char)*p);
	}
	to[n] = 0;
	return json_string(to);
}

static json_t *location(const struct sarif_place *p)
{
	json_t *o = json_pack("{so}", "message", text(p->text));

	if (*p->file && p->line) {
		json_t *region = json_pack("{si}", "startLine", (int)p->line);
		if (p->column)
			json_object_set_new(region, "startColumn", json_integer(p->column));
		json_object_set_new(o, "physicalLocation",
				    json_pack("{s{so} so}", "artifactLocation", "uri", uri(p->file), "region", region));
	}
	return o;
}

void sarif_add(json_t *results, const char *rule, const char *message, const struct sarif_place *places, unsigned count)
{
	json_t *related = json_array();

	for (unsigned i = 1; i < count; i++)
		json_array_append_new(related, location(&places[i]));
	json_array_append_new(results,
			      json_pack("{ss ss so s[o] so}", "ruleId", rule, "level", "warning", "message",
					text(message), "locations", location(&places[0]), "relatedLocations", related));
}

void sarif_print(json_t *results)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		json_array_append_new(list,
				      json_pack("{ss so}", "id", rules[i].id, "shortDescription", text(rules[i].text)));
	json_t *all = json_pack("{ss ss s[{s{s{ss so}} so}]}", "$schema",
				"https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", "tool",
				"driver", "name", "heddle", "rules", list, "results", results);
	json_dumpf(all, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(all);
}
