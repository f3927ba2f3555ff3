/*
 * Options, for all verbs the same: --name, --name=value, --name value, -n, -n value, --.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "commands.h"

/* How many letters must be changed, added, dropped or swapped with their neighbour. */
static unsigned distance(const char *a, const char *b)
{
	enum { MOST = 24 };
	size_t n = strlen(a), m = strlen(b);
	unsigned d[MOST + 1][MOST + 1];

	if (n > MOST || m > MOST)
		return MOST;
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			if (!i || !j) {
				d[i][j] = (unsigned)(i + j);
				continue;
			}
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	return d[n][m];
}

const char *nearest(const char *typed, const char *const *words)
{
	const char *found = NULL;
	unsigned best = (unsigned)strlen(typed) / 3 + 2; /* farther than this is another word */

	for (; *words; words++) {
		size_t n = strlen(typed);
		unsigned far = n && !strncmp(*words, typed, n) ? 1 : distance(typed, *words);
		if (far < best) {
			best = far;
			found = *words;
		}
	}
	return found;
}

static void unknown(const char *typed, const struct option_row *rows)
{
	const char *names[32] = { "help" };
	char all[512] = "--help";
	size_t n = 1;

	for (const struct option_row *r = rows; r->name && n < 31; r++) {
		names[n++] = r->name;
		snprintf(all + strlen(all), sizeof all - strlen(all), " --%s", r->name);
	}
	const char *close = typed[1] == '-' ? nearest(typed + 2, names) : NULL;
	if (close)
		usage("no option %s; did you mean --%s?", typed, close);
	usage("no option %s; there are: %s", typed, all);
}

static void show_help(const char *verb)
{
	const struct command *command = find_command(verb);

	fputs(command->help, stdout);
	exit(0);
}

/* The row that a word like --name=value or -n means. */
static const struct option_row *find_row(const char *word, const struct option_row *rows, const char **value)
{
	size_t n = strcspn(word, "=");

	*value = NULL;
	for (; rows->name; rows++) {
		if (word[1] == '-' && strlen(rows->name) == n - 2 && !strncmp(word + 2, rows->name, n - 2)) {
			*value = word[n] ? word + n + 1 : NULL;
			return rows;
		}
		if (word[1] != '-' && rows->letter && word[1] == rows->letter) {
			*value = word[2] ? word + 2 : NULL;
			return rows;
		}
	}
	return NULL;
}

static void store(const struct option_row *row, const char *word, const char *value)
{
	char *end;

	switch (row->kind) {
	case OPTION_FLAG: *(bool *)row->value = true; break;
	case OPTION_TEXT: *(const char **)row->value = value; break;
	case OPTION_MAYBE_TEXT: *(const char **)row->value = value ? value : ""; break;
	case OPTION_MAYBE_NUMBER:
		if (!value) {
			*(long *)row->value = -1;
			break;
		}
		/* fall through */
	case OPTION_NUMBER:
		errno = 0;
		*(long *)row->value = strtol(value, &end, 10);
		if (errno || end == value || *end || *(long *)row->value < 0)
			usage("%s wants a number, not '%s'", word, value);
	}
}

int read_options(int argc, char **argv, const struct option_row *rows, bool leading)
{
	int kept = 0, i;
	const char *verb = argv[0];

	for (i = 1; i < argc; i++) {
		const char *word = argv[i], *value;
		if (!strcmp(word, "--")) {
			i++;
			break;
		}
		if (word[0] != '-' || !word[1]) {
			if (leading)
				break;
			argv[kept++] = argv[i];
			continue;
		}
		if (!strcmp(word, "--help") || !strcmp(word, "-h"))
			show_help(verb);
		const struct option_row *row = find_row(word, rows, &value);
		if (!row)
			unknown(word, rows);
		if (row->kind == OPTION_FLAG && value)
			usage("%.*s takes no value", (int)strcspn(word, "="), word);
		if ((row->kind == OPTION_TEXT || row->kind == OPTION_NUMBER) && !value && !(value = argv[++i]))
			usage("%s wants a value", word);
		store(row, word, value);
	}
	while (i < argc)
		argv[kept++] = argv[i++];
	argv[kept] = NULL;
	return kept;
}
