/* agentjail's own folders below the caller's state folder: `agentjail`, and `agentjail/changes` or `agentjail/homes` in it.
 * Workspaces and binds may not reach them (workspace/location.h), because later runs and the host trust their contents. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"

/* The path of our folder below aj_home_state(); NULL: there is no home. */
const char *aj_state_path(struct aj_arena *arena);
/* Open the folder around `path`, which is aj_state_path(). `make`: make it where it is missing. -1 with errno. */
int aj_state_open_above(const char *path, bool make);
/* Open the folder `name` in `*dir` in its stead, through no symlink; `make`: where it is missing. -1 with errno, and `*dir`
 * closed; EPERM: the folder belongs to another user, or others may write it. */
int aj_state_go_down(int *dir, const char *name, bool make);
/* Does the folder belong to the caller, who alone may write it? False with errno, EPERM. */
bool aj_state_is_ours(int folder);
/* Open our folder, or with `name` that folder in it. The environment has to name the caller's home or state folder: HOME,
 * XDG_STATE_HOME. -1 with errno; ENOENT: it does not, or the folder is missing and not to be made. */
int aj_state_folder(const char *name, bool make);
