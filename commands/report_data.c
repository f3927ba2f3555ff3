/*
 * The data of a report's page, for its script: JSON, with the nodes of a lane as one text in base64.
 *
 * A node is a few numbers (LEB128): time since the node before, kind + 16 if it has a source, text, object, stack; then
 * of the source: lane, index. Texts are numbers in tables. Of places whose source file can be read, a few lines are
 * there, too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "findings.h"
#include "report.h"

#define LINES_AROUND 3
#define LINE_MOST    160

/* ---- JSON that may stand in a script ----------------------------------------------------------------------------- */

static void put_text(FILE *out, const char *text, size_t n)
{
	putc('"', out);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < ' ' || c == '<' || c == '>' || c == '&' || c == '"' || c == '\\')
			fprintf(out, "\\u%04x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

static void put_texts(FILE *out, const char *name, const struct texts *t)
{
	fprintf(out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < t->count; i++) {
		fputs(i ? "," : "", out);
		put_text(out, t->all[i], strlen(t->all[i]));
	}
	fputs("]", out);
}

/* ---- source lines ------------------------------------------------------------------------------------------------ */

bool place_parse(const char *place, char file[PATH_ROOM], unsigned *line, unsigned *column)
{
	const char *open = strrchr(place, '('), *colon = open ? strchr(open, ':') : NULL;

	*line = *column = 0;
	if (!colon || colon - open > PATH_ROOM - 1 || sscanf(colon, ":%u:%u", line, column) < 1)
		return false;
	memcpy(file, open + 1, (size_t)(colon - open - 1));
	file[colon - open - 1] = 0;
	return true;
}

/* "/dev/stdin", whose text a compiler has read, has no text any more. */
static FILE *open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		return fdopen(fd, "r");
	if (fd >= 0)
		close(fd);
	return NULL;
}

static FILE *open_source(const struct meta *meta, const char *file)
{
	char path[2 * PATH_ROOM];
	FILE *f = open_file(file);

	if (f || *file == '/')
		return f;
	snprintf(path, sizeof path, "%s/%s", meta_text(meta, "cwd"), file);
	return open_file(path);
}

static void put_source(FILE *out, const struct meta *meta, const char *place)
{
	char file[PATH_ROOM], *text = NULL;
	size_t room = 0;
	unsigned line, column, at = 0;
	FILE *f = place_parse(place, file, &line, &column) ? open_source(meta, file) : NULL;

	if (!f) {
		fputs("0", out);
		return;
	}
	unsigned from = line > LINES_AROUND ? line - LINES_AROUND : 1;
	fprintf(out, "[%u", from);
	while (getline(&text, &room, f) >= 0 && ++at <= line + LINES_AROUND)
		if (at >= from) {
			size_t n = strcspn(text, "\n");
			putc(',', out);
			put_text(out, text, n < LINE_MOST ? n : LINE_MOST);
		}
	putc(']', out);
	free(text);
	fclose(f);
}

static void put_sources(FILE *out, const struct timeline *t)
{
	fputs(",\n\"sources\":[", out);
	for (size_t i = 0; i < t->places.count; i++) {
		fputs(i ? "," : "", out);
		put_source(out, t->meta, t->places.all[i]);
	}
	fputs("]", out);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

struct base64 {
	FILE *out;
	uint32_t bits;
	int count;
};

static void put_byte(struct base64 *b, unsigned byte)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	b->bits = b->bits << 8 | byte;
	b->count += 8;
	for (; b->count >= 6; b->count -= 6)
		putc(digits[b->bits >> (b->count - 6) & 63], b->out);
}

static void put_number(struct base64 *b, uint64_t n)
{
	for (; n > 127; n >>= 7)
		put_byte(b, (n & 127) | 128);
	put_byte(b, (unsigned)n);
}

/* Zero bytes up to a whole group of digits: the script knows how many nodes there are. */
static void put_end(struct base64 *b)
{
	while (b->count)
		put_byte(b, 0);
}

static void put_lane(FILE *out, const struct lane *lane)
{
	struct base64 b = { .out = out };
	uint64_t before = 0;

	fprintf(out, "{\"image\":%u,\"slot\":%u,\"count\":%zu,\"nodes\":\"", lane->image, lane->slot, lane->count);
	for (size_t i = 0; i < lane->count; i++) {
		const struct node *n = &lane->nodes[i];
		put_number(&b, n->time - before);
		put_number(&b, n->kind + (n->from_lane ? 16u : 0));
		put_number(&b, n->text);
		put_number(&b, n->object);
		put_number(&b, n->stack);
		if (n->from_lane) {
			put_number(&b, n->from_lane - 1);
			put_number(&b, n->from_at);
		}
		before = n->time;
	}
	put_end(&b);
	fputs("\"}", out);
}

void report_data(const struct timeline *t, FILE *out)
{
	fputs("{\"lanes\":[", out);
	for (size_t i = 0; i < t->count; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_lane(out, &t->lanes[i]);
	}
	fputs("]", out);
	put_texts(out, "texts", &t->texts);
	put_texts(out, "objects", &t->objects);
	put_texts(out, "places", &t->places);
	put_texts(out, "stacks", &t->stacks);
	put_sources(out, t);
	fputs("}", out);
}
