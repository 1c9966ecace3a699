/* How many blocks of memory JSON values take: what is kept of them shows there. */
#pragma once
#include <jansson.h>
#include <stdlib.h>

static long blocks, made; /* that are there; that ever were */

static inline void *count_malloc(size_t bytes)
{
	blocks++;
	made++;
	return malloc(bytes);
}

static inline void count_free(void *block)
{
	blocks -= block != NULL;
	free(block);
}

/* From here on; before the first value is made. */
static inline void count_blocks(void)
{
	json_set_alloc_funcs(count_malloc, count_free);
}
