/* Merges one layer, a file's keys or the command line's options, into a policy, checked against the layers below. */
#pragma once
#include "base/toml/source.h"
#include "policy/load/loaded.h"

/* The origin of a layer, which decides what the layer may set. */
enum aj_trust {
	AJ_OF_SITE, /* built-in, or on the site's path */
	AJ_OF_USER, /* a file that the caller named, or an option: bound by the site's locks */
	AJ_LOCAL,   /* from the working directory: may only tighten */
};

enum { AJ_CHAIN_MAX = 16 };

/* The layers merged so far. */
struct aj_stack {
	struct aj_loaded *loaded;
	const struct aj_site *site;
	struct aj_diags *diags;
	const char *own, *home;          /* see aj_ask */
	bool explicit_file[AJ_KEYS_MAX]; /* set by a file or an option, not by a built-in policy or a default */
	const char *chain[AJ_CHAIN_MAX]; /* sha256 of the files being loaded, to detect cycles */
	size_t depth;
	unsigned layers;
};

/* Both return 0, or -1 with findings added. */
int aj_merge_file(struct aj_stack *stack, const struct aj_source *source, enum aj_trust trust);
int aj_merge_options(struct aj_stack *stack, const struct aj_ask *ask);
/* Lower values of a built-in policy or a default to the site's ceilings. */
void aj_merge_lower(struct aj_stack *stack);
/* Report values of a file beyond the ceilings as errors. */
int aj_merge_ceilings(struct aj_stack *stack);
