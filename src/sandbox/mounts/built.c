/* Allocates the run-time state of one jail's plan. */
#include "sandbox/mounts/built.h"

#include <stdlib.h>

void aj_built_open(struct aj_built *built, const struct aj_plan *plan)
{
	*built = (struct aj_built){ .plan = plan, .mounts = calloc(plan->mounts.count + 1, sizeof *built->mounts) };
	if (!built->mounts)
		abort();
	for (size_t i = 0; i < plan->mounts.count; i++)
		built->mounts[i] = (struct aj_built_mount){ .row = &plan->mounts.items[i], .fd = -1 };
}

void aj_built_close(struct aj_built *built)
{
	free(built->mounts);
	built->mounts = NULL;
}
