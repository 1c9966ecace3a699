/* A run whose changes are staged: makes its state folder before the jail starts, and looks for changes at the end. The state
 * folder is kept for `agentjail changes` if there are changes, and removed if there are none. */
#pragma once
#include <jansson.h>

#include "sandbox/mounts/built.h"

struct aj_staging;

/* `*ret` is NULL where the plan keeps no changes apart. Notes in `built` where the changes go. -1 with err: then nothing is left.
 * `request` has the id, and the notices that a person gets before the run. */
int aj_staging_open(struct aj_staging **ret, struct aj_built *built, const struct aj_request *request, struct aj_error *err);
/* The jail is gone: the result's member `changes` (new reference). NULL for NULL. Called once. */
json_t *aj_staging_report(struct aj_staging *staging);
/* Without aj_staging_report() before it, no jail has begun. Accepts NULL. */
void aj_staging_close(struct aj_staging *staging);
