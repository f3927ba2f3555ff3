/*
 * What reads a string up to a place that only its characters tell: numbers, words, pieces between separators. libc may
 * be told of the whole string at once, and then each step through a long text takes as long as all that is left of it.
 */
#include "compiler/replaced.h"
#include <ctype.h>
#include <inttypes.h>

size_t __replaced_strspn(const char *string, const char *accepted);
size_t __replaced_strcspn(const char *string, const char *rejected);
char *__replaced_strpbrk(const char *string, const char *accepted);
char *__replaced_strsep(char **rest, const char *separators);
char *__replaced_strtok_r(char *string, const char *separators, char **rest);
int __replaced_getsubopt(char **rest, char *const *names, char **value);
LARGE char *__replaced_strstr(const char *text, const char *word);
char *__theirs_strstr(const char *text, const char *word);

/* ---- sets of characters ------------------------------------------------------------------------------------------ */

struct set {
	uint64_t bits[4];
};

static struct set set_of(const char *characters)
{
	struct set set = { { 0 } };

	for (uint8_t c; (c = (uint8_t)*characters); characters++)
		set.bits[c / 64] |= 1ull << c % 64;
	return set;
}

/* How many characters are in the set, or are not; a string ends in any case. */
static size_t count(const char *string, const struct set *set, bool in)
{
	size_t n = 0;

	for (uint8_t c; (c = (uint8_t)string[n]) && (set->bits[c / 64] >> c % 64 & 1) == in;)
		n++;
	return n;
}

size_t __replaced_strspn(const char *string, const char *accepted)
{
	struct set set = set_of(accepted);

	return count(string, &set, true);
}

size_t __replaced_strcspn(const char *string, const char *rejected)
{
	struct set set = set_of(rejected);

	return count(string, &set, false);
}

char *__replaced_strpbrk(const char *string, const char *accepted)
{
	string += __replaced_strcspn(string, accepted);
	return *string ? (char *)string : NULL;
}

/* ---- what cuts strings up ---------------------------------------------------------------------------------------- */

/* Ends the string at `end`, if it goes on there; where the next begins. */
static char *cut(char *end)
{
	if (!*end)
		return end;
	*end = 0;
	return end + 1;
}

char *__replaced_strsep(char **rest, const char *separators)
{
	char *token = *rest;

	if (token) {
		char *end = token + __replaced_strcspn(token, separators), *next = cut(end);
		*rest = next == end ? NULL : next;
	}
	return token;
}

char *__replaced_strtok_r(char *string, const char *separators, char **rest)
{
	char *token = string ? string : *rest;
	struct set set = set_of(separators);

	token += count(token, &set, true);
	size_t n = count(token, &set, false);
	*rest = cut(token + n);
	return n ? token : NULL;
}

int __replaced_getsubopt(char **rest, char *const *names, char **value)
{
	char *option = *rest;

	if (!*option)
		return -1;
	size_t n = __replaced_strcspn(option, ","), length = __replaced_strcspn(option, "=,");
	int found = 0;
	while (names[found] && (strncmp(option, names[found], length) || names[found][length]))
		found++;
	*value = !names[found] ? option : length < n ? option + length + 1 : NULL;
	*rest = cut(option + n);
	return names[found] ? found : -1;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* In copies of pieces. They overlap, so that a word is in one of them whole. */
char *__replaced_strstr(const char *text, const char *word)
{
	char piece[SMALL + 1];
	size_t length = strlen(word), n;

	if (length > SMALL / 2)
		return __theirs_strstr(text, word);
	do {
		n = strnlen(text, SMALL);
		memcpy(piece, text, n);
		piece[n] = 0;
		char *found = __theirs_strstr(piece, word);
		if (found)
			return (char *)text + (found - piece);
		text += SMALL - length + 1;
	} while (strlen(piece) == SMALL); /* another thread may have made it shorter */
	return NULL;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* What may be a number, after spaces, is copied. One that is longer than any that is meant goes to libc as it is. */
#define DIGITS 128

struct number {
	size_t at; /* where the copy begins */
	char text[DIGITS];
};

/* `more`: characters beside letters and digits; with them comes what a locale writes between whole and part. */
static bool find_number(struct number *n, const char *string, const char *more)
{
	struct set set = set_of(more);
	size_t length = 0;

	n->at = 0;
	while (isspace((uint8_t)string[n->at]))
		n->at++;
	for (uint8_t c; (c = (uint8_t)string[n->at + length]); length++) {
		bool fits = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
			    (c >= 128 && *more == '.') || (set.bits[c / 64] >> c % 64 & 1);
		if (!fits)
			break;
		if (length == DIGITS - 1)
			return false;
		n->text[length] = (char)c;
	}
	n->text[length] = 0;
	return true;
}

/* Nothing converted: libc says the beginning, before the spaces. A base that cannot be: it says nothing. */
static void tell_end(const struct number *n, const char *string, const char *end, char **to)
{
	if (to && end)
		*to = (char *)string + (end == n->text ? 0 : n->at + (size_t)(end - n->text));
}

#define WHOLE_NUMBER(name, type)                                          \
	type __replaced_##name(const char *string, char **end, int base); \
	type __theirs_##name(const char *string, char **end, int base);   \
	type __replaced_##name(const char *string, char **end, int base)  \
	{                                                                 \
		struct number n;                                          \
		char *stopped = NULL;                                     \
		if (!find_number(&n, string, "+-"))                       \
			return __theirs_##name(string, end, base);        \
		type result = __theirs_##name(n.text, &stopped, base);    \
		tell_end(&n, string, stopped, end);                       \
		return result;                                            \
	}

#define REAL_NUMBER(name, type)                                  \
	type __replaced_##name(const char *string, char **end);  \
	type __theirs_##name(const char *string, char **end);    \
	type __replaced_##name(const char *string, char **end)   \
	{                                                        \
		struct number n;                                 \
		char *stopped = NULL;                            \
		if (!find_number(&n, string, ".+-,()_'"))        \
			return __theirs_##name(string, end);     \
		type result = __theirs_##name(n.text, &stopped); \
		tell_end(&n, string, stopped, end);              \
		return result;                                   \
	}

WHOLE_NUMBER(strtol, long)
WHOLE_NUMBER(strtoul, unsigned long)
WHOLE_NUMBER(strtoll, long long)
WHOLE_NUMBER(strtoull, unsigned long long)
WHOLE_NUMBER(strtoimax, intmax_t)
WHOLE_NUMBER(strtoumax, uintmax_t)
WHOLE_NUMBER(__isoc23_strtol, long)
WHOLE_NUMBER(__isoc23_strtoul, unsigned long)
WHOLE_NUMBER(__isoc23_strtoll, long long)
WHOLE_NUMBER(__isoc23_strtoull, unsigned long long)
WHOLE_NUMBER(__isoc23_strtoimax, intmax_t)
WHOLE_NUMBER(__isoc23_strtoumax, uintmax_t)
REAL_NUMBER(strtof, float)
REAL_NUMBER(strtod, double)
REAL_NUMBER(strtold, long double)

#define PLAIN_NUMBER(name, type, by, ...)                  \
	type __replaced_##name(const char *string);        \
	type __replaced_##name(const char *string)         \
	{                                                  \
		return (type)__replaced_##by(__VA_ARGS__); \
	}

PLAIN_NUMBER(atoi, int, strtol, string, NULL, 10)
PLAIN_NUMBER(atol, long, strtol, string, NULL, 10)
PLAIN_NUMBER(atoll, long long, strtoll, string, NULL, 10)
PLAIN_NUMBER(atof, double, strtod, string, NULL)
