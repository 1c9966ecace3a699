/* Environments of packages: folders below $XDG_DATA_HOME/agentjail/envs that `agentjail env` makes.
 *
 *     NAME/env.json   what is in it (AJ_PYTHON_ENV_FILE)
 *     NAME/manifest   each file of site/ with its hash
 *     NAME/site/      the packages, as a wheel unpacks
 *     .store/         files of several environments, by their hash
 */
#pragma once
#include <jansson.h>

#include "base/error.h"
#include "policy/load/loaded.h"
#include "policy/load/site.h"

#define AJ_PYTHON_ENV_FILE "env.json"
enum { AJ_PYTHON_ENV_FORMAT = 1 };

/* The caller's folder of environments; it may not exist. NULL: there is no home. */
const char *aj_python_envs(struct aj_arena *arena);
/* Read env.json of the environment in `folder` (new reference), which must be the caller's or root's, and writable by nobody
 * else. NULL with err. */
json_t *aj_python_env_read(const char *folder, struct aj_error *err);
/* The environment that the policy names, if any: sets python_env_site and python.native, and adds its packages to python.imports,
 * as far as locks and ceilings allow. -1 with a finding. */
int aj_python_env_use(struct aj_loaded *loaded, const struct aj_site *site, struct aj_diags *diags);
