/* Removes settled paths from an overlay's upper layer before a later run continues with the others. */
#pragma once
#include "workspace/staging/unapplied.h"

/* The jail then sees the workspace's files as they are, except for unapplied changes, and a host's change from now on is
 * distinguished from one of before. No overlay is mounted on the layer; the trees of `state` are open and its lock is held. -1
 * with err: some entries may have gone, none that waits. */
int aj_staging_trim(struct aj_change_state *state, const struct aj_unapplied *unapplied, struct aj_error *err);
