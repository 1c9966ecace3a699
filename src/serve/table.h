/* A table of one connection's named items: its sessions and the requests that are under way. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { AJ_TABLE_ROWS = 64 };

/* Embedded in the named struct, which owns the name. */
struct aj_table_item {
	const char *name;
	uint32_t hash;
	struct aj_table_item *next;
};

/* A zeroed table is empty. */
struct aj_table {
	struct aj_table_item *rows[AJ_TABLE_ROWS];
	size_t count;
};

struct aj_table_item *aj_table_find(const struct aj_table *table, const char *name);
/* The item's name must not be in the table yet. */
void aj_table_add(struct aj_table *table, struct aj_table_item *item);
/* No effect when the item is not in the table. */
void aj_table_remove(struct aj_table *table, struct aj_table_item *item);
/* Any item; NULL: the table is empty. */
struct aj_table_item *aj_table_first(const struct aj_table *table);
