/*
 * --mask-env: variables of the environment whose values are not kept. Heddle masks them in meta.json, the loader where
 * a program starts; without libc.
 */
#ifndef TRACE_MASK_H
#define TRACE_MASK_H
#include <stdbool.h>
#include <stddef.h>

#define MASK_ROOM 2048
#define MASK_BYTE '*'

static inline char mask_upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Bytes before the value, or all if there is none. */
static inline size_t mask_name(const char *variable)
{
	size_t n = 0;

	while (variable[n] && variable[n] != '=')
		n++;
	return n;
}

/* Does `word`, in capitals, stand at variable[at]? */
static inline bool mask_word_at(const char *variable, size_t at, size_t name, const char *word)
{
	for (; *word; word++, at++)
		if (at >= name || mask_upper(variable[at]) != *word)
			return false;
	return true;
}

/* Does the name look like that of a secret? Anywhere in it; or as its end. */
static inline bool mask_looks_secret(const char *variable, size_t name)
{
	static const char anywhere[][12] = { "PASS", "SECRET", "TOKEN", "CREDENTIAL", "APIKEY", "PRIVATE" };
	static const char at_end[][12] = { "_KEY", "_KEY_ID", "_PWD", "_AUTH", "_COOKIE", "_PIN", "_DSN" };

	for (size_t at = 0; at < name; at++) {
		for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; i++)
			if (mask_word_at(variable, at, name, anywhere[i]))
				return true;
		for (size_t i = 0; i < sizeof at_end / sizeof *at_end; i++) {
			size_t n = 0;
			while (at_end[i][n])
				n++;
			if (at + n == name && mask_word_at(variable, at, name, at_end[i]))
				return true;
		}
	}
	return false;
}

/* Is it in the list NAME,NAME? */
static inline bool mask_listed(const char *list, const char *variable, size_t name)
{
	for (;;) {
		size_t n = 0;
		while (n < name && list[n] == variable[n])
			n++;
		if (n == name && (!list[n] || list[n] == ','))
			return true;
		while (*list && *list != ',')
			list++;
		if (!*list++)
			return false;
	}
}

/* Is the value of NAME=VALUE to be masked? more: further names; NULL: nothing is masked. */
static inline bool mask_wanted(const char *more, const char *variable)
{
	size_t name = mask_name(variable);

	return more && variable[name] && (mask_looks_secret(variable, name) || mask_listed(more, variable, name));
}

/* As long as it was, so that everything lies where it lay. */
static inline void mask_copy(char *to, const char *variable)
{
	size_t name = mask_name(variable), i = 0;

	for (; variable[i]; i++)
		to[i] = i <= name ? variable[i] : MASK_BYTE;
}
#endif
