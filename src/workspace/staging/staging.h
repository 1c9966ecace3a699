/* A run whose changes are kept apart from its workspace: makes its state folder before the jail begins, and looks at the end whether there
 * are changes. A run without any leaves no state folder; one with changes leaves it, for `agentjail changes`. */
#pragma once
#include <jansson.h>

#include "sandbox/mounts/built.h"

struct aj_view;

/* `*ret` is NULL where the plan keeps no changes apart. Notes in `built` where the changes go. -1 with err: then nothing is left. `request`
 * has the id, and the notices that a person gets before the run. */
int aj_view_open(struct aj_view **ret, struct aj_built *built, const struct aj_request *request, struct aj_error *err);
/* The jail is gone: the result's member `changes` (new reference). NULL for NULL. Called once. */
json_t *aj_view_report(struct aj_view *apart);
/* Without aj_view_report() before it, no jail has begun. Accepts NULL. */
void aj_view_close(struct aj_view *apart);
