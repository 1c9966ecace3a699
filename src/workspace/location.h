/* Decides which folders of the host a jail may get. */
#pragma once
#include "policy/load/load.h"
#include "policy/plan/request.h"

struct aj_error;

/* May a jail get the request's workspace, and the writable binds of request and policy? request->workspace becomes the absolute
 * path without symlinks that the launcher opens and binds. 0, or -1 with err, whose advice names the remedy.
 * - A workspace is below a folder of filesystem.workspace_under.
 * - /, the home and its parents, and the system's own folders must be named there.
 * - No writable folder contains agentjail's own configuration or program: policies, site, audit trail, Python tree, binary. A
 * workspace may if it is named, or with request->may_hold if program and tree are in a virtual environment, which is added to
 * request->environments. */
int aj_places_check(struct aj_request *request, const struct aj_loaded *loaded, const struct aj_site *site,
                    struct aj_arena *arena, struct aj_error *err);
