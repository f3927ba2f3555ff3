/*
 * For the tests of what single instructions do: the parts of the runtime that are in assembler there, and how a test fails. Behind the
 * source that is tested.
 */
#ifndef UNIT_INSTRUCTIONS_H
#define UNIT_INSTRUCTIONS_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) \
	((condition) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

long user_load(const void *p, uint64_t size, uint64_t *out)
{
	*out = 0;
	memcpy(out, p, size);
	return 0;
}

long user_store(void *p, uint64_t size, uint64_t value)
{
	memcpy(p, &value, size);
	return 0;
}
#endif
