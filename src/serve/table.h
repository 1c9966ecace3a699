/* Things with names, of one connection: its sessions and the requests that are under way. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { AJ_TABLE_ROWS = 64 };

/* Within what it names; the name is the owner's. */
struct aj_table_item {
	const char *name;
	uint32_t hash;
	struct aj_table_item *next;
};

/* Zeroed is empty. */
struct aj_table {
	struct aj_table_item *rows[AJ_TABLE_ROWS];
	size_t count;
};

struct aj_table_item *aj_table_find(const struct aj_table *table, const char *name);
/* No other may have its name. */
void aj_table_add(struct aj_table *table, struct aj_table_item *item);
/* Without effect when it is not in there. */
void aj_table_remove(struct aj_table *table, struct aj_table_item *item);
/* Any one; NULL when there is none. */
struct aj_table_item *aj_table_first(const struct aj_table *table);
