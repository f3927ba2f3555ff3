#include "compiler/races/races.h"
void joins_begin(void)
{
}
void joins_end(void)
{
}
uint64_t joins_at_call(const struct call *c)
{
	(void)c;
	return 0;
}
uint64_t joins_at_edge(uint32_t from, uint32_t to)
{
	(void)from;
	(void)to;
	return 0;
}
