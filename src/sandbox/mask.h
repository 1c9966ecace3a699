/* Places of the jail that show nothing, or that stay as they are: something read-only lies over what is there, and no folder above
 * it can be moved away. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "sandbox/blanks.h"

/* The empty folder and the empty file that masks are made of, in a tmpfs of their own on the carrier, with room for the layers
 * of overlays for `rows`. Call it before the new root goes there: pivot takes it away. Returns its fd. */
int aj_mask_blanks(size_t rows, struct aj_error *err);

/* Hide `target` (absolute, plain) in the tree below `root`. What does not exist is passed over where the jail cannot make it
 * or with `if_present`, and an error otherwise; a symlink on the way is an error. */
int aj_mask_apply(int root, int blanks, const char *target, bool if_present, struct aj_error *err);

/* Show `target` read-only: itself (`blank` is ""), or a blank in its stead. What has gone meanwhile is an error, and a symlink too. */
int aj_hold_apply(int root, int blanks, const char *target, const char *blank, struct aj_error *err);
/* Keep the folders above `target`, which is a mount already, in their places. */
int aj_hold_above(int root, const char *target, struct aj_error *err);
