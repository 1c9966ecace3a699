/* Memory for one request: many small allocations, one release.
 * There is no per-object free, and running out of memory ends the program. */
#pragma once
#include <stddef.h>

struct aj_arena {
	struct aj_arena_block *blocks;
};

/* Zeroed memory, aligned for any type; lives until aj_arena_free(). Never NULL. */
void *aj_alloc(struct aj_arena *arena, size_t bytes);
char *aj_strdup(struct aj_arena *arena, const char *s);
char *aj_strndup(struct aj_arena *arena, const char *s, size_t bytes);
char *aj_printf(struct aj_arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void aj_arena_free(struct aj_arena *arena);

/* A growing array of `type`: items, count. AJ_PUSH returns a pointer to the new zeroed item. */
#define AJ_LIST(type)         \
	struct {              \
		type *items;  \
		size_t count; \
		size_t room;  \
	}
#define AJ_PUSH(arena, list)                                                                                        \
	((list)->items = aj_list_grow((arena), (list)->items, (list)->count, &(list)->room, sizeof *(list)->items), \
	 &(list)->items[(list)->count++])
void *aj_list_grow(struct aj_arena *arena, void *items, size_t count, size_t *room, size_t item_bytes);
