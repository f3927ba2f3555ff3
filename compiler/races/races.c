/*
 * --select=races, as one: see races.h for the parts.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "compiler/races/races.h"
#include "compiler/races/terms.h"

static uint64_t milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* An access stays if one of its ends is in a pair, or unknown. */
static void judge(void)
{
	struct module *m = program.m;
	bool *stays = calloc(m->count + 1, sizeof *stays), *seen = calloc(m->count + 1, sizeof *seen);
	const char **why = calloc(m->count + 1, sizeof *why);

	for (size_t i = 0; i < warnings.party_count; i++) {
		const struct party *p = &warnings.parties[i];
		if (p->access == UINT32_MAX)
			continue;
		seen[p->access] = true;
		stays[p->access] |= p->pairs || p->unknown || !p->classes;
		why[p->access] = p->why;
	}
	for (size_t i = 0; i < m->count; i++) {
		struct access *a = &m->accesses[i];
		if (a->shape == SHAPE_NONE || !seen[i] || stays[i])
			continue;
		a->shape = SHAPE_NONE;
		a->flags |= HOOK_SITE_LEFT_OUT;
		a->why = why[i];
	}
	free(stays);
	free(seen);
	free(why);
}

bool races_uses(const char *step)
{
	for (const char *p = settings.without; p && *p; p += strcspn(p, ":") + 1)
		if (strlen(step) == strcspn(p, ":") && !strncmp(p, step, strlen(step)))
			return false;
	return true;
}

/* Large programs take a while: whoever watches is told what is done. */
static void tell(const char *doing)
{
	if (isatty(STDERR_FILENO) && program.m && program.m->count > 5000)
		fprintf(stderr, "heddle-cc: races: %s\n", doing);
}

void races_apply(struct module *m)
{
	LLVMValueRef main_function = LLVMGetNamedFunction(m->module, "main");
	uint64_t begin = milliseconds();
	struct rusage usage;

	if (!main_function || LLVMIsDeclaration(main_function))
		return;
	program.m = m;
	tell("where pointers may point");
	objects_solve(m, main_function);
	sharing_find(m);
	program_begin(m, main_function);
	parties_list();
	tell("threads and locks");
	threads_begin();
	locksets_begin();
	taken_begin();
	parties_fill();
	tell("pairs of accesses");
	warnings_find();
	warnings_prune();
	judge();
	getrusage(RUSAGE_SELF, &usage);
	warnings.milliseconds = milliseconds() - begin;
	warnings.kilobytes = (size_t)usage.ru_maxrss;
	report_write(m);
	phases_end();
	warnings_end();
	taken_end();
	locksets_end();
	threads_end();
	stable_end();
	terms_close();
	program_end();
	objects_end();
	plugin_forget_shape();
}
