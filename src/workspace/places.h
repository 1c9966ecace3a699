/* Which folders of the host a jail may be given. */
#pragma once
#include "plan/request.h"
#include "policy/load.h"

struct aj_error;

/* May the request's workspace, and what it and the policy bind writable, be given to a jail? request->workspace becomes its whole path, without
 * a link, which is what the launcher opens and binds. 0, or -1 with err, whose advice is what helps.
 *   - A workspace lies below a folder of filesystem.workspace_under.
 *   - /, the home and what is above it, and the system's own folders must be named there.
 *   - Nothing that is writable holds what agentjail is configured by, or is: policies, site, audit trail, Python tree, program. A workspace may,
 *     where it is named. */
int aj_places_check(struct aj_request *request, const struct aj_loaded *loaded, const struct aj_site *site,
                    struct aj_arena *arena, struct aj_error *err);
