/* Adapts a served policy to one request: the keys of the Python layer may be tightened freely, and loosened as far as the policy
 * allows requests to. */
#pragma once
#include "base/error.h"
#include "policy/load/load.h"

/* Values as the words of aj_key_set_text(); NULL: as the policy says. */
struct aj_python_ask {
	const char *const *imports; /* module patterns, which replace the policy's */
	size_t imports_count;
	const char *imports_checked, *builtins, *layer, *clock, *sleep_max;
};

static inline bool aj_python_asked(const struct aj_python_ask *ask)
{
	return ask->imports || ask->imports_checked || ask->builtins || ask->layer || ask->clock || ask->sleep_max;
}

/* Copy the ask with all that it points to. */
struct aj_python_ask aj_python_ask_copy(const struct aj_python_ask *ask, struct aj_arena *arena);

/* `ret`: the loaded policy with the requested values, named among its options; it shares the loaded one's lists, and `arena` has
 * the rest. -1 with err: a value does not fit (AJ_REASON_INPUT), or goes beyond what the policy, a lock or the site lets requests
 * ask for (AJ_REASON_DENIED). */
int aj_policy_for_request(struct aj_policy *ret, const struct aj_loaded *loaded, const struct aj_site *site,
                          const struct aj_python_ask *ask, struct aj_arena *arena, struct aj_error *err);
