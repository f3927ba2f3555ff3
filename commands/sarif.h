/*
 * Findings as SARIF 2.1.0, which editors and code hosts show at their lines.
 */
#ifndef COMMANDS_SARIF_H
#define COMMANDS_SARIF_H
#include <jansson.h>

struct sarif_place {
	const char *text; /* what happened there */
	const char *file; /* "" or line 0: not known */
	unsigned line, column;
};

/* Results are added to an array, which is then printed and freed. The first place is where the finding is, the others
   belong to it. */
void sarif_add(json_t *results, const char *rule, const char *message, const struct sarif_place *places,
	       unsigned count);
void sarif_print(json_t *results);
#endif
