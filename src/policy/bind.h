/* Paths of the jail and binds in their textual form, the same for a policy's list and for the command line. */
#pragma once
#include "policy/policy.h"

/* An absolute path in the jail other than `/`, without `.`, `..`, `//` or a slash at its end. */
bool aj_jail_path_valid(const char *path);

/* Make the host path at the start of `text` absolute: `~` is `home`, and a relative path starts at `folder`; either may be NULL
 * if it is unknown. The path ends at a colon. NULL, or the error. */
const char *aj_host_path(struct aj_arena *arena, const char *text, const char *home, const char *folder, const char **ret);

/* Parse HOST[:JAIL][:ro|:rw] into `ret`; JAIL defaults to the same path, the mode to read-only. NULL, or the error. HOST is not
 * looked up, and may be relative; a policy's item must be absolute. */
const char *aj_bind_parse(struct aj_arena *arena, const char *text, struct aj_bind *ret);

struct aj_masked {
	const char *target; /* absolute path in the jail */
	bool if_present;    /* skipped where the target is missing, even if the jail could create it */
};

/* Parse PATH[:if-present] into `ret`; a relative PATH is below /workspace. NULL, or the error. */
const char *aj_mask_parse(struct aj_arena *arena, const char *text, struct aj_masked *ret);
