/*
 * heddle report: the parts of its page.
 */
#ifndef COMMANDS_REPORT_H
#define COMMANDS_REPORT_H
#include "timeline.h"

/* ---- report_facts.c: what stands on the page without JavaScript ---- */
void report_facts(const struct timeline *t, FILE *out);
/* Text with &lt; for <. */
void report_escaped(FILE *out, const char *text);

/* ---- report_data.c: everything else, for the script ---- */
void report_data(const struct timeline *t, FILE *out);
#endif
