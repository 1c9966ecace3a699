/* Access to the field that a row of the schema describes. For the files that walk rows. */
#pragma once
#include "policy/keys.h"

typedef AJ_LIST(const char *) aj_text_list;

/* The items of a list, or the names of a set of flags. */
aj_text_list aj_key_items(const struct aj_key *key, const void *base, struct aj_arena *arena);

static inline void *aj_field(const struct aj_key *key, void *base)
{
	return (char *)base + key->offset;
}

static inline const void *aj_const_field(const struct aj_key *key, const void *base)
{
	return (const char *)base + key->offset;
}

static inline uint64_t aj_number(const struct aj_key *key, const void *base)
{
	return *(const uint64_t *)aj_const_field(key, base);
}
