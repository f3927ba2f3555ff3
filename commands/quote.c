/*
 * Words for others to read: a shell, gdb, Python.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "commands.h"

static bool is_plain(const char *word)
{
	const char *start = word;

	while (isalnum((unsigned char)*word) || (*word && strchr("_/.,:=+@%-", *word)))
		word++;
	return !*word && word > start;
}

static void put_shell_word(FILE *to, const char *word)
{
	if (is_plain(word)) {
		fputs(word, to);
		return;
	}
	fputc('\'', to);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", to);
		else
			fputc(*word, to);
	fputc('\'', to);
}

char *quote_for_shell(char *const *words)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (size_t i = 0; to && words[i]; i++) {
		fputs(i ? " " : "", to);
		put_shell_word(to, words[i]);
	}
	if (!to || fclose(to))
		die("not enough memory");
	return text;
}

void quote_for_gdb(FILE *to, const char *word)
{
	for (; *word; word++)
		fprintf(to, isspace((unsigned char)*word) || strchr("\\'\"", *word) ? "\\%c" : "%c", *word);
}

void quote_for_python(FILE *to, const char *text)
{
	fputs("__import__('os').fsdecode(b'", to);
	for (; *text; text++)
		if (is_plain((char[]){ *text, 0 }))
			fputc(*text, to);
		else
			fprintf(to, "\\x%02x", (unsigned char)*text);
	fputs("')", to);
}
