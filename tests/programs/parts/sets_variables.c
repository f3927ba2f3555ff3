/* Changes the environment before the program starts; not that of heddle, which may have loaded it, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void change(void)
{
	if (!strcmp(program_invocation_short_name, "heddle"))
		return;
	unsetenv("GOES");
	setenv("COMES", "1", 1);
}
