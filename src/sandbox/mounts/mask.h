/* Hides paths of the jail, or keeps them unchanged: a read-only mount covers the path, and no folder above it can be renamed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "sandbox/mounts/blanks.h"

/* Any directory will do: it only carries the new root until pivot_root, in the jail's own mount namespace. */
#define AJ_MOUNT_CARRIER "/tmp"

/* The placeholders that masks consist of, in a tmpfs of their own on the carrier, with inodes for the layers of `rows` overlays.
 * Call it before the new root is mounted on the carrier: pivot_root removes this tmpfs. Returns its fd. */
int aj_mask_blanks(size_t rows, struct aj_error *err);

/* Hide `target` (absolute, plain) in the tree below `root`. A missing target is skipped with `if_present` or where the jail
 * cannot create it, and is an error otherwise; a symlink on the way is an error. */
int aj_mask_apply(int root, int blanks, const char *target, bool if_present, struct aj_error *err);

/* Show `target` read-only: the target itself (`blank` is ""), or a placeholder in its stead. A target that has disappeared
 * meanwhile is an error, and so is a symlink. */
int aj_hold_apply(int root, int blanks, const char *target, const char *blank, struct aj_error *err);
/* Pin the folders above `target`, which is a mount already. */
int aj_hold_above(int root, const char *target, struct aj_error *err);
