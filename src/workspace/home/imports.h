/* Files of the caller's home that a command gets copies of. */
#pragma once
#include "policy/plan/request.h"
#include "policy/policy.h"

struct aj_error;

/* Read the files and folders of filesystem.home_import into request->imports; missing ones are left out, and those behind a
 * symlink are named in request->import_links. 0, or -1 with err: they are too large or cannot be read. */
int aj_imports_read(struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena, struct aj_error *err);
