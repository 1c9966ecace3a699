/* Paths of the jail and binds as one text, the same for a policy's list and for the command line. */
#pragma once
#include "policy/policy.h"

/* An absolute path in the jail other than `/`, without `.`, `..`, `//` or a slash at its end. */
bool aj_jail_path_valid(const char *path);

/* HOST[:JAIL][:ro|:rw] into `ret`; without JAIL it is the same path, without a mode it is read-only. NULL, or what is
 * wrong with it. HOST may be relative and is looked up by nobody here: a policy's caller insists on more. */
const char *aj_bind_parse(struct aj_arena *arena, const char *text, struct aj_bind *ret);

struct aj_masked {
	const char *target; /* absolute path in the jail */
	bool if_present;    /* passed over where nothing is, also where the jail could make it */
};

/* PATH[:if-present] into `ret`; a relative PATH is below /workspace. NULL, or what is wrong with it. */
const char *aj_mask_parse(struct aj_arena *arena, const char *text, struct aj_masked *ret);
