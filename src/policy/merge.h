/* One layer on a policy: a file's keys or the command line's wishes, weighed against what lies below. For load.c alone. */
#pragma once
#include "policy/load.h"
#include "policy/source.h"

/* Who says it decides what it may say. */
enum aj_trust {
	AJ_OF_SITE, /* built-in, or on the site's path */
	AJ_OF_USER, /* a file that the caller named, an option: bound by the site's locks */
	AJ_LOCAL,   /* lay in the working directory: may only tighten */
};

enum { AJ_CHAIN_MAX = 16 };

/* What was stacked so far. */
struct aj_stack {
	struct aj_loaded *loaded;
	const struct aj_site *site;
	struct aj_diags *diags;
	bool explicit_file[AJ_KEYS_MAX]; /* by a file or an option, not by a built-in policy or a default */
	const char *chain[AJ_CHAIN_MAX]; /* sha256 of what is being loaded, to see cycles */
	size_t depth;
	unsigned layers;
};

/* Each returns 0, or -1 with findings added. */
int aj_merge_file(struct aj_stack *stack, const struct aj_source *source, enum aj_trust trust);
int aj_merge_options(struct aj_stack *stack, const struct aj_ask *ask);
/* What a built-in policy or a default has beyond the site's ceilings is lowered. */
void aj_merge_lower(struct aj_stack *stack);
/* What a file has beyond them is an error. */
int aj_merge_ceilings(struct aj_stack *stack);
