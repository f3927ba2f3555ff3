/*
 * Words for a shell to read.
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
