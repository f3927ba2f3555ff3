/*
 * Does this processor have what the recorded program may have used? What a program chose by the features of one
 * processor (which memcpy, which vectors) it chooses again at replay, since it is told the recorded features. On x86-64
 * it may also ask the processor itself (cpuid), and so do libc and others: there this one should not have more, either.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "meta.h"

/* The line of /proc/cpuinfo that names features; "" if there is none. To be freed. */
char *cpu_features(void)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char *line = NULL, *found = NULL;
	size_t room = 0;

	while (file && !found && getline(&line, &room, file) > 0)
		if (!strncmp(line, "Features", 8) || !strncmp(line, "flags", 5)) {
			char *text = strchr(line, ':');
			found = strdup(text ? text + 1 + strspn(text + 1, " \t") : "");
		}
	free(line);
	if (file)
		fclose(file);
	if (found)
		found[strcspn(found, "\n")] = 0;
	return found ? found : strdup("");
}

/* Of the names there: those that bring instructions a program may use. */
static bool brings_instructions(const char *name)
{
#ifdef __x86_64__
	static const char *const beginnings[] = { "sse",  "ssse", "avx",  "fma",  "f16c",  "bmi",   "abm",  "popcnt",
						  "movb", "aes",  "pclm", "sha",  "rdra",  "rdse",  "adx",  "gfni",
						  "vaes", "vpcl", "clfl", "clwb", "xsave", "fsgs",  "lzcn", "movdir",
						  "amx",  "rtm",  "pni",  "cx16", "lahf",  "rdpid", "ptwr" };

	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
#else
	return strcmp(name, "evtstrm") && strcmp(name, "cpuid");
#endif
}

static bool has(const char *features, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = features; (at = strstr(at, name)); at += n)
		if ((at == features || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

/* The names of features in the first list that bring instructions, and are not in the second. */
static void only_in(const char *first, const char *second, char names[256])
{
	char *list = strdup(first), *rest = list;

	*names = 0;
	for (char *name; (name = strsep(&rest, " "));)
		if (*name && brings_instructions(name) && !has(second, name))
			snprintf(names + strlen(names), 256 - strlen(names), " %s", name);
	free(list);
}

void cpu_need_same(const struct meta *meta)
{
	const char *recorded = json_string_value(json_object_get(json_object_get(meta->json, "machine"), "features"));
	char *here = cpu_features(), missing[256], more[256] = "";

	only_in(recorded ? recorded : "", here, missing);
#ifdef __x86_64__
	if (recorded)
		only_in(here, recorded, more);
#endif
	free(here);
	if (*more)
		warn("%s was recorded on a processor without features that this one has:%s; a program that asks the "
		     "processor may choose other code here, and diverge",
		     meta->dir, more);
	if (*missing)
		die("%s was recorded on a processor with features that this one lacks:%s; the program may use them: "
		    "replay it "
		    "where they are",
		    meta->dir, missing);
}
