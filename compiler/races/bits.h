/*
 * Sets of small numbers: words of 64 bits, only those that are not empty, in order.
 */
#ifndef COMPILER_RACES_BITS_H
#define COMPILER_RACES_BITS_H
#include <stdbool.h>
#include <stdint.h>

struct bits_word {
	uint32_t at; /* number / 64 */
	uint64_t bits;
};
struct bits {
	struct bits_word *words;
	uint32_t count, room;
};

/* They return whether the set has grown. */
bool bits_add(struct bits *set, uint32_t number);
bool bits_add_all(struct bits *set, const struct bits *more);
bool bits_has(const struct bits *set, uint32_t number);
/* What is in `all` and not in `without`: into `out`, which is emptied first. */
void bits_difference(struct bits *out, const struct bits *all, const struct bits *without);
uint32_t bits_count(const struct bits *set);
void bits_free(struct bits *set);

#define BITS_EACH(set, number)                                                                                      \
	for (uint32_t number##_w = 0; number##_w < (set)->count; number##_w++)                                      \
		for (uint64_t number##_left = (set)->words[number##_w].bits, number = 0;                            \
		     number##_left &&                                                                               \
		     (number = (set)->words[number##_w].at * 64u + (uint32_t)__builtin_ctzll(number##_left), true); \
		     number##_left &= number##_left - 1)
#endif
