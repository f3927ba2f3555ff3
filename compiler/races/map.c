/* From pointers to numbers: an open hash table. */
#include <stdlib.h>
#include "compiler/internal.h"
#include "compiler/races/map.h"

static struct map_row *row_of(const struct map *map, uintptr_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15u >> 20);

	while (map->rows[i & (map->room - 1)].key && map->rows[i & (map->room - 1)].key != key)
		i++;
	return &map->rows[i & (map->room - 1)];
}

static void grow(struct map *map)
{
	struct map old = *map;

	map->room = old.room ? old.room * 2 : 1024;
	map->rows = calloc(map->room, sizeof *map->rows);
	if (!map->rows)
		compiler_die("out of memory");
	for (size_t i = 0; i < old.room; i++)
		if (old.rows[i].key)
			*row_of(map, old.rows[i].key) = old.rows[i];
	free(old.rows);
}

uint32_t *map_enter(struct map *map, uintptr_t key)
{
	if (map->count * 2 >= map->room)
		grow(map);
	struct map_row *row = row_of(map, key);
	map->count += !row->key;
	row->key = key;
	return &row->number;
}

uint32_t map_find(const struct map *map, const void *key)
{
	return map->room ? row_of(map, (uintptr_t)key)->number : 0;
}

void map_free(struct map *map)
{
	free(map->rows);
	*map = (struct map){ 0 };
}
