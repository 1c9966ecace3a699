/* The input of the rules over several keys, and the list of their findings. For contradictions.c and lint.c alone. */
#pragma once
#include "policy/load/load.h"

struct aj_lint {
	const struct aj_loaded *loaded;
	const struct aj_policy *p;
	struct aj_diags *diags;
};

static inline const struct aj_origin *aj_at(const struct aj_lint *c, const char *key)
{
	return &c->loaded->at[aj_key_index(key)];
}

static inline const struct aj_origin *aj_item_at(const struct aj_lint *c, const char *key, size_t i)
{
	return aj_loaded_item_at(c->loaded, aj_key_index(key), i);
}
