/*
 * Numbers as order logs have them: LEB128, seven bits a byte, the lowest first.
 */
#ifndef TRACE_NUMBERS_H
#define TRACE_NUMBERS_H
#include <stdint.h>

#define NUMBER_MAX 10 /* bytes */

/* What is cut off by `end` counts as 0. */
static inline uint64_t number_get(const uint8_t **at, const uint8_t *end)
{
	uint64_t number = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return number;
}

static inline uint8_t *number_put(uint8_t *at, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		*at++ = (uint8_t)(number | 0x80);
	*at++ = (uint8_t)number;
	return at;
}
#endif
