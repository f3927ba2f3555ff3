/*
 * What `heddle races` prints: JSON in the section "heddle_races" of the binary, and in the file of --races-report.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include "compiler/races/races.h"

enum { MOST_WARNINGS = 20000 }; /* written out; each site is in one of them all the same */

static void put_text(FILE *out, const char *text)
{
	putc('"', out);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (*p < ' ' || *p >= 127) /* names are bytes */
			fprintf(out, "\\u%04x", *p);
		else
			putc(*p, out);
	putc('"', out);
}

static void put_place(FILE *out, LLVMValueRef inst)
{
	char room[4200];
	LLVMValueRef place = sites_line(inst);
	const char *file = sites_file(place, room, sizeof room);

	fputs("\"file\":", out);
	put_text(out, file ? file : "");
	fprintf(out, ",\"line\":%u,\"column\":%u,\"function\":", LLVMGetDebugLocLine(place),
		place == inst ? LLVMGetDebugLocColumn(place) : 0);
	put_text(out, external_name(LLVMGetBasicBlockParent(LLVMGetInstructionParent(inst))));
}

static void put_party(FILE *out, const struct party *p)
{
	putc('{', out);
	put_place(out, p->inst);
	fprintf(out, ",\"kind\":\"%s\"}", p->atomic ? "atomic" : p->write ? "write" : "read");
}

static void put_locks(FILE *out, const char *key, struct held h)
{
	const char *comma = "";

	fprintf(out, ",\"%s\":[", key);
	for (uint64_t left = h.reading; left; left &= left - 1) {
		fputs(comma, out);
		put_text(out, locksets_name((unsigned)__builtin_ctzll(left)));
		comma = ",";
	}
	putc(']', out);
}

static void put_threads(FILE *out, uint64_t all)
{
	const char *comma = "";

	fputs(",\"threads\":[", out);
	for (; all; all &= all - 1) {
		fputs(comma, out);
		put_text(out, threads_name((unsigned)__builtin_ctzll(all)));
		comma = ",";
	}
	putc(']', out);
}

static void put_pair(FILE *out, const struct party *a, const struct party *b, const char *object)
{
	static const char outside[] =
		"{\"file\":\"\",\"line\":0,\"column\":0,\"function\":\"code outside\",\"kind\":\"write\"}";

	fputs("{\"a\":", out);
	put_party(out, a);
	fputs(",\"b\":", out);
	if (b)
		put_party(out, b);
	else
		fputs(outside, out);
	fputs(",\"object\":", out);
	put_text(out, object);
	put_threads(out, a->classes | (b ? b->classes : BIT(CLASS_OUTSIDE)));
	put_locks(out, "locks_a", a->held);
	put_locks(out, "locks_b", b ? b->held : (struct held){ 0, 0 });
	putc('}', out);
}

static void put_warnings(FILE *out)
{
	bool *told = calloc(warnings.party_count + 1, sizeof *told);
	const char *comma = "";
	size_t count = 0;

	fputs("\"warnings\":[", out);
	for (size_t i = 0; i < warnings.pair_count; i++) {
		const struct pair *p = &warnings.pairs[i];
		if (p->step || (count >= MOST_WARNINGS && told[p->a] && told[p->b]))
			continue;
		told[p->a] = told[p->b] = true;
		fprintf(out, "%s\n", comma);
		put_pair(out, &warnings.parties[p->a], &warnings.parties[p->b], warnings_object(p->object));
		comma = ",";
		count++;
	}
	for (size_t i = 0; i < warnings.party_count; i++) {
		const struct party *p = &warnings.parties[i];
		if (!p->unknown || told[i] || p->access == UINT32_MAX || !p->classes)
			continue;
		fprintf(out, "%s\n", comma);
		put_pair(out, p, NULL, warnings_object(UNKNOWN_OBJECT));
		comma = ",";
	}
	fputs("]", out);
	free(told);
}

static void put_left_out(FILE *out, const struct module *m)
{
	static const char *const kinds[] = { [HOOK_LOAD] = "read", [HOOK_RANGE_READ] = "read" };
	const char *comma = "";

	fputs("\"left_out\":[", out);
	for (size_t i = 0; i < m->count; i++) {
		const struct access *a = &m->accesses[i];
		if (a->shape != SHAPE_NONE || !a->why)
			continue;
		fprintf(out, "%s\n{", comma);
		put_place(out, a->inst);
		fprintf(out, ",\"kind\":\"%s\",\"reason\":",
			a->flags & HOOK_SITE_ATOMIC		     ? "atomic" :
			a->kind <= HOOK_RANGE_READ && kinds[a->kind] ? kinds[a->kind] :
								       "write");
		put_text(out, a->why);
		putc('}', out);
		comma = ",";
	}
	fputs("]", out);
}

static void put_steps(FILE *out)
{
	fputs("\"steps\":[", out);
	for (unsigned i = 0; i < warnings.step_count; i++)
		fprintf(out, "%s{\"name\":\"%s\",\"warnings\":%zu,\"pairs\":%zu,\"sites\":%zu}", i ? "," : "",
			warnings.steps[i].name, warnings.steps[i].warnings, warnings.steps[i].pairs,
			warnings.steps[i].sites);
	fprintf(out,
		"],\"analysis\":{\"milliseconds\":%llu,\"peak_kilobytes\":%zu,\"accesses\":%zu,\"objects\":%u,"
		"\"nodes\":%u},\n",
		(unsigned long long)warnings.milliseconds, warnings.kilobytes, program.m->count, solve_object_count(),
		solve_node_count());
}

static void write_file(const char *path, const char *text, size_t size)
{
	FILE *out = fopen(path, "w");

	if (!out || fwrite(text, 1, size, out) != size || fclose(out))
		compiler_die("--races-report=%s: %m", path);
}

void report_write(struct module *m)
{
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	fputs("{\"version\":1,", out);
	put_steps(out);
	put_warnings(out);
	fputs(",\n", out);
	put_left_out(out, m);
	fputs("}\n", out);
	fclose(out);
	if (settings.races_report && *settings.races_report)
		write_file(settings.races_report, text, size);
	sites_keep_text(m, text, size, "heddle_races_report", "heddle_races");
	free(text);
}
