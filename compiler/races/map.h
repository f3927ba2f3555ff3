/* From pointers to numbers, which begin as 0. */
#ifndef COMPILER_RACES_MAP_H
#define COMPILER_RACES_MAP_H
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_row {
		uintptr_t key;
		uint32_t number;
	} * rows;
	size_t count, room;
};

/* Where the number of this key is; it is entered if it was not there. Valid until the next call. */
uint32_t *map_enter(struct map *map, uintptr_t key);
uint32_t map_find(const struct map *map, const void *key); /* 0: not there */
void map_free(struct map *map);
#endif
