/* The policy of one session that asked for another Python layer than its pool's policy says.
 * Its jail comes from the pool like any other: only keys of the layer differ, and no wall does. */
#include <stdlib.h>

#include "session/session.h"

struct aj_own_policy *aj_own_policy_new(const struct aj_tenant_pool *pool, const struct aj_python_ask *ask, struct aj_error *err)
{
	struct aj_own_policy *own = calloc(1, sizeof *own);
	if (!own)
		abort();
	own->references = 1;
	own->ask = aj_python_ask_copy(ask, &own->arena);
	if (aj_policy_for_request(&own->policy, &pool->version->loaded, &pool->version->site, &own->ask, &own->arena, err) == 0)
		return own;
	aj_own_policy_release(own);
	return NULL;
}

void aj_own_policy_release(struct aj_own_policy *own)
{
	if (!own || --own->references)
		return;
	aj_arena_free(&own->arena);
	free(own);
}
