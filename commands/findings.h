/*
 * What a watched replay finds (--races, --atomicity), and how it is told.
 */
#ifndef COMMANDS_FINDINGS_H
#define COMMANDS_FINDINGS_H
#include "meta.h"

enum findings_format { FINDINGS_TEXT, FINDINGS_JSON, FINDINGS_SARIF };

/* ---- found_races.c ---- */
/* Prints what replay --races has left in its work directory; returns how many. Replays once more, for stacks. */
size_t found_races_print(const struct meta *meta, const char *work_dir, enum findings_format format,
			 const struct looked_at *looked_at);

/* ---- atomicity.c ---- */
size_t atomicity_print(const struct meta *meta, const char *work_dir, enum findings_format format);

/* ---- report_data.c ---- */
/* "function (file:12)" or "(file:12:7)"; false: it has no line. */
bool place_parse(const char *place, char file[PATH_ROOM], unsigned *line, unsigned *column);
#endif
