/* One branch on its way, inside run/family.c. */
#pragma once
#include "run/family.h"

/* Is this reported call the step that the branch under way waits for? Then it was seen to. */
bool aj_branching_call(struct aj_family *family, const struct aj_notice *call, const struct aj_attested *who);
/* The helper says something. */
void aj_branching_copier(struct aj_family *family);
/* There will be no branch: what there is of it is killed. Without effect when none is under way. */
void aj_branching_fail(struct aj_family *family, int errnum, const char *why);

/* Before any descriptor is closed that aj_family_poll() gave. */
void aj_family_closing(const struct aj_family *family);
/* Is that process one of the family? */
bool aj_family_has(const struct aj_family *family, pid_t process);
