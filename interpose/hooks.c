/* How code built by heddle-cc finds the runtime: see compiler/hooks.h. Outside heddle nobody exports this. */
#include "compiler/hooks.h"
#include "interpose/interpose.h"
#include "trace/format.h"

EXPORT struct hook_self *__heddle_attach(void)
{
	struct ring_header *ring = (void *)((uint8_t *)self_get() - offsetof(struct ring_header, front));
	return (struct hook_self *)((uint8_t *)ring + RING_SELF_AT);
}
