/*
 * A program that looks at itself must see itself and not the loader: its name,
 * arguments, executable, brk and the end of its code.
 */
// run: args="one 'two three'"
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void show(const char *path)
{
	char text[512];
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
	for (size_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = '|';
	printf("%s: %.*s\n", path, (int)n, text);
	if (file)
		fclose(file);
}

int main(void)
{
	char exe[512] = "", name[17] = "";
	long n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	const char *base = n > 0 ? strrchr(exe, '/') : 0;
	printf("exe %s\n", base ? base : "?");
	prctl(PR_GET_NAME, name);
	printf("name %s\n", name);
	show("/proc/self/comm");
	show("/proc/self/cmdline");
	return base && !strcmp(base, "/who_am_i") && !strcmp(name, "who_am_i") ? 0 : 1;
}
