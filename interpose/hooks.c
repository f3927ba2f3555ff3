/* How code built by heddle-cc finds the runtime: see compiler/hooks.h. Outside heddle nobody exports this. */
#include <unistd.h>
#include "compiler/hooks.h"
#include "interpose/interpose.h"
#include "trace/format.h"

/* The program's own file was looked at before it began; a library, or a program that it became, was not. */
static _Noreturn void refuse(void)
{
	static const char what[] =
		"heddle: a part of this program, perhaps a library, was built by another version of heddle-cc: "
		"rebuild it with this one\n";

	ssize_t told = write(2, what, sizeof what - 1);
	(void)told; /* perhaps there is nobody to tell */
	_exit(EXIT_CANNOT);
}

EXPORT struct hook_self *__heddle_attach_as(uint64_t version)
{
	struct ring_header *ring = (void *)((uint8_t *)self_get() - offsetof(struct ring_header, front));

	if (version != HOOK_VERSION)
		refuse();
	return (struct hook_self *)((uint8_t *)ring + RING_SELF_AT);
}

/* What hooks asked for up to version 4. */
EXPORT struct hook_self *__heddle_attach(void)
{
	refuse();
}
