/* A small chained hash table, so that one of a thousand sessions of a connection is found quickly.
 * It owns nothing and never grows: a client that makes chains long slows down only its own requests. */
#include "serve/table.h"

#include <string.h>

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

struct aj_table_item *aj_table_find(const struct aj_table *table, const char *name)
{
	uint32_t hash = hash_of(name);
	struct aj_table_item *item = table->rows[hash % AJ_TABLE_ROWS];
	while (item && (item->hash != hash || strcmp(item->name, name) != 0))
		item = item->next;
	return item;
}

void aj_table_add(struct aj_table *table, struct aj_table_item *item)
{
	item->hash = hash_of(item->name);
	item->next = table->rows[item->hash % AJ_TABLE_ROWS];
	table->rows[item->hash % AJ_TABLE_ROWS] = item;
	table->count++;
}

void aj_table_remove(struct aj_table *table, struct aj_table_item *item)
{
	struct aj_table_item **at = &table->rows[item->hash % AJ_TABLE_ROWS];
	while (*at && *at != item)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = item->next;
	table->count--;
}

struct aj_table_item *aj_table_first(const struct aj_table *table)
{
	for (size_t i = 0; table->count && i < AJ_TABLE_ROWS; i++)
		if (table->rows[i])
			return table->rows[i];
	return NULL;
}
